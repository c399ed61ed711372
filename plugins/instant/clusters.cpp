#include "instant/clusters.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "berth/support/index.h"
#include "berth/support/sums.h"

namespace berth::policies::instant {
namespace {

/// The part of a device's memory that the parameters of one cluster may take.
constexpr std::int64_t kMemoryParts = 4;

double group_us(const Problem& problem, const MeanTimes& means, GroupId group) {
  double us = 0;
  for (const OpId op : problem.groups().members(group)) us += means.op_us(op);
  return us;
}

/// The forest of what is joined so far; roots stand for their trees.
class Forest {
 public:
  Forest(const Problem& problem, const MeanTimes& means) {
    for (GroupId group = 0; group < problem.groups().count(); ++group) {
      parent_.push_back(group);
      us_.push_back(group_us(problem, means, group));
      bytes_.push_back(problem.group_param_bytes(group));
    }
  }

  [[nodiscard]] GroupId root(GroupId group) {
    while (parent_[at(group)] != group) {
      group = parent_[at(group)] = parent_[at(parent_[at(group)])];
    }
    return group;
  }
  void join(GroupId root, GroupId other) {
    parent_[at(other)] = root;
    us_[at(root)] += us_[at(other)];
    bytes_[at(root)] = saturating_sum(bytes_[at(root)], bytes_[at(other)]);
  }
  [[nodiscard]] double us(GroupId root) const { return us_[at(root)]; }
  [[nodiscard]] std::int64_t bytes(GroupId root) const { return bytes_[at(root)]; }
  [[nodiscard]] double all_us() const { return std::accumulate(us_.begin(), us_.end(), 0.0); }

 private:
  std::vector<GroupId> parent_;
  std::vector<double> us_;  // by root
  std::vector<std::int64_t> bytes_;
};

/// The device classes that can run each group, as a number that differs where they do.
std::vector<std::int32_t> able_sets(const Problem& problem) {
  std::vector<std::int32_t> sets(at(problem.groups().count()), 0);
  std::vector<bool> seen(at(problem.device_class_count()), false);
  std::int32_t count = 1;
  for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
    const auto of = at(problem.device_class(device));
    if (seen[of]) continue;
    seen[of] = true;
    std::vector<std::int32_t> split(at(count), -1);  // of a set: the part that this class can run
    for (GroupId group = 0; group < problem.groups().count(); ++group) {
      if (!problem.can_run(group, device)) continue;
      std::int32_t& part = split[at(sets[at(group)])];
      if (part < 0) part = count++;
      sets[at(group)] = part;
    }
  }
  return sets;
}

struct Bond {
  double us;
  GroupId src;
  GroupId dst;
};

/// Between groups that the same devices can run, the longest first.
std::vector<Bond> bonds_of(const Problem& problem, const MeanTimes& means) {
  const std::vector<std::int32_t> sets = able_sets(problem);
  std::vector<Bond> bonds;
  for (OpId op = 0; op < problem.graph().op_count(); ++op) {
    const GroupId dst = problem.groups().of(op);
    for (const Edge& edge : problem.graph().in_edges(op)) {
      const GroupId src = problem.groups().of(edge.src);
      if (edge.tensor == kNoTensor || src == dst || sets[at(src)] != sets[at(dst)]) continue;
      bonds.push_back({means.transfer_us(problem.graph().bytes(edge.tensor)), src, dst});
    }
  }
  std::stable_sort(bonds.begin(), bonds.end(),
                   [](const Bond& a, const Bond& b) { return a.us > b.us; });
  return bonds;
}

std::int64_t most_bytes(const Problem& problem) {
  std::int64_t least = kNoLimit;
  for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
    const std::int64_t bytes = problem.memory_bytes(device);
    if (bytes != kNoLimit && (least == kNoLimit || bytes < least)) least = bytes;
  }
  return least == kNoLimit ? kNoLimit : least / kMemoryParts;
}

}  // namespace

std::unique_ptr<const Clustered> clustered(const Problem& problem, const MeanTimes& means,
                                           std::size_t count, double share, double bind) {
  if (share <= 0 || !problem.separations().empty()) return nullptr;
  const Groups& groups = problem.groups();
  Forest forest(problem, means);
  const double most_us = share * forest.all_us() / static_cast<double>(count);
  const std::int64_t most = most_bytes(problem);
  GroupId left = groups.count();
  for (const Bond& bond : bonds_of(problem, means)) {
    const GroupId a = forest.root(bond.src);
    const GroupId b = forest.root(bond.dst);
    if (a == b || forest.us(a) + forest.us(b) > most_us) continue;
    if (bond.us < bind * std::min(forest.us(a), forest.us(b))) continue;
    if (most != kNoLimit && saturating_sum(forest.bytes(a), forest.bytes(b)) > most) continue;
    forest.join(a, b);
    --left;
  }
  if (left == groups.count()) return nullptr;
  std::vector<GroupId> cluster_of(at(problem.graph().op_count()));
  for (OpId op = 0; op < problem.graph().op_count(); ++op) {
    cluster_of[at(op)] = forest.root(groups.of(op));
  }
  auto clusters = std::make_unique<Clustered>();
  clusters->problem = std::make_shared<const Problem>(
      problem.shared_graph(), problem.shared_cluster(), problem.shared_costs(),
      std::make_shared<const Groups>(problem.graph(), std::move(cluster_of)), problem.options(),
      problem.constraints());
  std::vector<double> longest_us(at(clusters->problem->groups().count()), -1);
  clusters->longest.resize(longest_us.size());
  for (GroupId group = 0; group < groups.count(); ++group) {
    const GroupId cluster = clusters->problem->groups().of(groups.members(group).front());
    clusters->of.push_back(cluster);
    const double us = group_us(problem, means, group);
    if (us <= longest_us[at(cluster)]) continue;
    longest_us[at(cluster)] = us;
    clusters->longest[at(cluster)] = group;
  }
  return clusters;
}

GroupPlacement Clustered::gather(const GroupPlacement& placement) const {
  GroupPlacement gathered;
  for (const GroupId group : longest) gathered.push_back(placement[group]);
  return gathered;
}

GroupPlacement Clustered::spread(const GroupPlacement& placement) const {
  GroupPlacement spread;
  for (const GroupId cluster : of) spread.push_back(placement[cluster]);
  return spread;
}

}  // namespace berth::policies::instant
