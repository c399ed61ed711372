#include "problem_view.h"

#include <algorithm>

#include "berth/support/index.h"

namespace berth::doppler {
namespace {

/// The longest path that ends with each group, at least costs, and by group the one before it on that
/// path (kNoGroup = none): with `back`, that begins with it, and the one after.
struct Paths {
  Paths(const Problem& problem, const std::vector<double>& cost_us, bool back)
      : length(cost_us.size()), next(cost_us.size(), kNoGroup) {
    const Groups& groups = problem.groups();
    const GroupId count = groups.count();
    for (GroupId i = 0; i < count; ++i) {
      const GroupId group = back ? count - 1 - i : i;
      double longest = 0;
      for (const Groups::Edge& edge :
           back ? forward_out_edges(groups, group) : forward_in_edges(groups, group)) {
        const GroupId other = back ? edge.dst : edge.src;
        if (next[at(group)] != kNoGroup && length[at(other)] <= longest) continue;
        longest = length[at(other)];
        next[at(group)] = other;
      }
      length[at(group)] = longest + cost_us[at(group)];
    }
  }

  /// [groups, groups]: rows of means over each group's path.
  [[nodiscard]] torch::Tensor means() const {
    const auto count = static_cast<std::int64_t>(next.size());
    torch::Tensor rows = torch::zeros({count, count});
    float* const values = rows.data_ptr<float>();
    for (std::int64_t group = 0; group < count; ++group) {
      std::int64_t steps = 0;
      for (GroupId at_path = static_cast<GroupId>(group); at_path != kNoGroup;
           at_path = next[at(at_path)]) {
        ++steps;
      }
      for (GroupId at_path = static_cast<GroupId>(group); at_path != kNoGroup;
           at_path = next[at(at_path)]) {
        values[group * count + at_path] = 1.0F / static_cast<float>(steps);
      }
    }
    return rows;
  }

  std::vector<double> length;
  std::vector<GroupId> next;
};

float share(double part, double whole) {
  return whole > 0 ? static_cast<float>(part / whole) : 0.0F;
}

/// [groups, groups]: of the neighbours before (or, `back`, after) each group, weighted by bytes.
torch::Tensor neighbour_means(const Groups& groups, bool back) {
  const std::int64_t count = groups.count();
  torch::Tensor rows = torch::zeros({count, count});
  float* const values = rows.data_ptr<float>();
  for (GroupId group = 0; group < groups.count(); ++group) {
    const auto edges = back ? forward_out_edges(groups, group) : forward_in_edges(groups, group);
    double all = 0;
    for (const Groups::Edge& edge : edges) all += static_cast<double>(edge.bytes) + 1;
    for (const Groups::Edge& edge : edges) {
      values[group * count + (back ? edge.dst : edge.src)] +=
          share(static_cast<double>(edge.bytes) + 1, all);
    }
  }
  return rows;
}

}  // namespace

ProblemView::ProblemView(const Problem& of)
    : problem(of),
      facts(of),
      groups(at(of.groups().count())),
      devices(at(of.cluster().device_count())) {
  const Groups& all = problem.groups();
  double total_us = 0;
  for (const double cost : facts.cost_us) total_us += cost;
  scale_us = std::max(total_us / static_cast<double>(devices), 1e-9);

  const Paths to_sink(problem, facts.cost_us, /*back=*/true);
  const Paths from_source(problem, facts.cost_us, /*back=*/false);
  path_to_sink = to_sink.means();
  path_from_source = from_source.means();
  from_parents = neighbour_means(all, /*back=*/false);
  from_children = neighbour_means(all, /*back=*/true);
  const double longest = *std::max_element(from_source.length.begin(), from_source.length.end());
  const auto count = static_cast<std::int64_t>(groups);
  features = torch::zeros({count, kGroupFeatures});
  tail = torch::zeros({count});
  barred = torch::zeros({count, static_cast<std::int64_t>(devices)}, torch::kBool);
  waiting.resize(groups);
  waits_for.resize(groups);
  double largest_in = 0;
  std::vector<double> in_bytes(groups);
  for (GroupId group = 0; group < all.count(); ++group) {
    for (const Groups::Edge& edge : all.in_edges(group)) {
      in_bytes[at(group)] += static_cast<double>(edge.bytes);
    }
    for (const Groups::Edge& edge : forward_in_edges(all, group)) {
      waiting[at(edge.src)].push_back(group);
      ++waits_for[at(group)];
    }
    largest_in = std::max(largest_in, in_bytes[at(group)]);
    for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
      barred.data_ptr<bool>()[at(group) * devices + at(device)] = !problem.can_run(group, device);
    }
  }
  for (GroupId group = 0; group < all.count(); ++group) {
    float* const row = features.data_ptr<float>() + group * kGroupFeatures;
    const auto parameters = static_cast<double>(problem.group_param_bytes(group));
    row[0] = share(facts.cost_us[at(group)], facts.largest_cost_us);
    row[1] = share(facts.output_bytes[at(group)], facts.largest_output);
    row[2] = share(in_bytes[at(group)], largest_in);
    row[3] = share(parameters, facts.largest_parameters);
    row[4] = static_cast<float>(facts.tail[at(group)]);
    row[5] = share(from_source.length[at(group)], longest);
    row[6] = std::min(static_cast<float>(forward_in_edges(all, group).size()) / 4, 4.0F);
    row[7] = std::min(static_cast<float>(forward_out_edges(all, group).size()) / 4, 4.0F);
    tail.data_ptr<float>()[group] = row[4];
  }
}

}  // namespace berth::doppler
