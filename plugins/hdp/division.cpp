#include "division.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

#include "berth/support/index.h"
#include "berth/support/sums.h"

namespace berth::hdp {
namespace {

/// Units that read a weight, from which on its layer counts as unrolled. A convolution's weights
/// are read by two or three: itself, its gradient, a penalty on the weights.
constexpr std::size_t kSteps = 4;
/// Share of the largest such weight: a smaller one is a part of another weight's layer (its bias).
constexpr double kLeastShare = 0.01;
/// Rounds in which units move to the layer with which they have most traffic. They come to rest in
/// a few on every graph at hand; this bounds the time on any other.
constexpr int kRounds = 10;

constexpr std::int32_t kNoLayer = -1;

template <typename Visit>
void for_each_neighbour(const Groups& units, GroupId unit, Visit visit) {
  for (const Groups::Edge& edge : units.in_edges(unit)) visit(edge.src, edge.bytes);
  for (const Groups::Edge& edge : units.out_edges(unit)) visit(edge.dst, edge.bytes);
}

/// The weight of an unrolled layer.
struct Weight {
  std::int64_t bytes = 0;
  GroupId holder = kNoGroup;  ///< of the op that is the variable; kNoGroup for a parameter
  std::vector<GroupId> readers;
};

std::vector<Weight> variables(const Problem& problem) {
  const Groups& units = problem.groups();
  std::vector<std::int64_t> bytes(at(units.count()), 0);
  for (OpId op = 0; op < problem.graph().op_count(); ++op) {
    std::int64_t& sum = bytes[at(units.of(op))];
    sum = saturating_sum(sum, problem.graph().own_param_bytes(op));
    sum = saturating_sum(sum, problem.lasting_bytes(op));
  }
  std::vector<Weight> weights;
  for (GroupId unit = 0; unit < units.count(); ++unit) {
    if (bytes[at(unit)] == 0) continue;
    Weight weight{bytes[at(unit)], unit, {}};
    for (const Groups::Edge& edge : units.out_edges(unit)) {
      if (edge.bytes > 0 && bytes[at(edge.dst)] == 0) weight.readers.push_back(edge.dst);
    }
    weights.push_back(std::move(weight));
  }
  return weights;
}

std::vector<Weight> parameters(const Problem& problem) {
  std::vector<Weight> weights;
  for (const Graph::SharedParameter& parameter : problem.graph().shared_parameters()) {
    Weight weight{parameter.bytes, kNoGroup, {}};
    for (const OpId op : parameter.consumers) weight.readers.push_back(problem.groups().of(op));
    std::sort(weight.readers.begin(), weight.readers.end());
    weight.readers.erase(std::unique(weight.readers.begin(), weight.readers.end()),
                         weight.readers.end());
    weights.push_back(std::move(weight));
  }
  return weights;
}

/// The largest first.
std::vector<Weight> shared_weights(const Problem& problem) {
  std::vector<Weight> weights = variables(problem);
  for (Weight& weight : parameters(problem)) weights.push_back(std::move(weight));
  std::erase_if(weights, [](const Weight& each) { return each.readers.size() < kSteps; });
  std::stable_sort(weights.begin(), weights.end(),
                   [](const Weight& a, const Weight& b) { return a.bytes > b.bytes; });
  std::erase_if(weights, [most = weights.empty() ? 0 : weights.front().bytes](const Weight& each) {
    return static_cast<double>(each.bytes) < kLeastShare * static_cast<double>(most);
  });
  return weights;
}

/// The number of ops on the longest path to the first op of each unit.
std::vector<std::int32_t> depths(const Problem& problem) {
  const Graph& graph = problem.graph();
  const Groups& units = problem.groups();
  std::vector<std::int32_t> of_op(at(graph.op_count()), 0);
  std::vector<std::int32_t> result(at(units.count()), graph.op_count());
  for (const OpId op : graph.topological_order()) {
    for (const Edge& edge : graph.in_edges(op)) {
      of_op[at(op)] = std::max(of_op[at(op)], of_op[at(edge.src)] + 1);
    }
    std::int32_t& first = result[at(units.of(op))];
    first = std::min(first, of_op[at(op)]);
  }
  return result;
}

/// The layer of each unit (the index of its weight); kNoLayer if no path leads to one.
class Layering {
 public:
  Layering(const Problem& problem, const std::vector<Weight>& weights,
           const std::vector<std::int32_t>& depth)
      : units_(problem.groups()),
        depth_(depth),
        layer_(at(units_.count()), kNoLayer),
        fixed_(at(units_.count()), false) {
    for (std::size_t layer = 0; layer < weights.size(); ++layer) {
      if (weights[layer].holder != kNoGroup) fix(weights[layer].holder, layer);
    }
    for (std::size_t layer = 0; layer < weights.size(); ++layer) {
      for (const GroupId unit : weights[layer].readers) {
        if (fixed_[at(unit)]) continue;
        fix(unit, layer);
        readers_.push_back(unit);
      }
    }
    grow();
    for (int round = 0; round < kRounds && settle(); ++round) {
    }
  }

  std::vector<std::int32_t> take() { return std::move(layer_); }

 private:
  void fix(GroupId unit, std::size_t layer) {
    layer_[at(unit)] = static_cast<std::int32_t>(layer);
    fixed_[at(unit)] = true;
  }

  /// From the readers outwards, along the heaviest edge first (a watershed); of edges that are
  /// alike, to what is computed later, which is of the layer that it is computed from. The weights'
  /// own edges lead to other layers' updates, not to what is near.
  void grow() {
    struct Step {
      std::int64_t bytes;
      bool later;
      std::int32_t distance;
      GroupId unit;
      std::int32_t layer;
      bool operator<(const Step& other) const {
        return std::tie(bytes, later, other.distance, other.unit, other.layer) <
               std::tie(other.bytes, other.later, distance, unit, layer);
      }
    };
    std::priority_queue<Step> next;
    const auto spread = [&](GroupId unit, std::int32_t distance) {
      for_each_neighbour(units_, unit, [&](GroupId other, std::int64_t bytes) {
        if (layer_[at(other)] == kNoLayer) {
          const bool later = depth_[at(other)] > depth_[at(unit)];
          next.push({bytes, later, distance + 1, other, layer_[at(unit)]});
        }
      });
    };
    for (const GroupId unit : readers_) spread(unit, 0);
    while (!next.empty()) {
      const Step step = next.top();
      next.pop();
      if (layer_[at(step.unit)] != kNoLayer) continue;
      layer_[at(step.unit)] = step.layer;
      spread(step.unit, step.distance);
    }
  }

  /// Every unit to the layer with which it has most traffic; whether any moved.
  bool settle() {
    bool moved = false;
    std::map<std::int32_t, std::int64_t> bytes_with;
    for (GroupId unit = 0; unit < units_.count(); ++unit) {
      if (fixed_[at(unit)] || layer_[at(unit)] == kNoLayer) continue;
      bytes_with.clear();
      for_each_neighbour(units_, unit, [&](GroupId other, std::int64_t bytes) {
        bytes_with[layer_[at(other)]] += bytes;
      });
      std::int32_t best = layer_[at(unit)];
      for (const auto& [layer, bytes] : bytes_with) {
        if (layer != kNoLayer && bytes > bytes_with[best]) best = layer;
      }
      moved = moved || best != layer_[at(unit)];
      layer_[at(unit)] = best;
    }
    return moved;
  }

  const Groups& units_;
  const std::vector<std::int32_t>& depth_;
  std::vector<std::int32_t> layer_;
  std::vector<bool> fixed_;  ///< weights and their readers
  std::vector<GroupId> readers_;
};

/// Units that become groups together: of one layer, with the same able devices.
struct Part {
  std::vector<GroupId> units;
  double us = 0;
  std::size_t groups = 1;
  std::int32_t begins = 0;  ///< depth of what it computes first
};

double least_us(const Problem& problem, GroupId unit) {
  double least = kCannotRun;
  for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
    least = std::min(least, problem.group_cost_us(unit, device));
  }
  return least == kCannotRun ? 0 : least;
}

std::vector<Part> parts_of(const Problem& problem, const std::vector<std::int32_t>& layer,
                           const std::vector<std::int32_t>& depth) {
  std::map<std::pair<std::int32_t, std::vector<bool>>, Part> parts;
  for (GroupId unit = 0; unit < problem.groups().count(); ++unit) {
    std::vector<bool> able;
    for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
      able.push_back(problem.can_run(unit, device));
    }
    Part& part = parts[{layer[at(unit)], std::move(able)}];
    part.units.push_back(unit);
    part.us += least_us(problem, unit);
  }
  std::vector<Part> result;
  for (auto& [key, part] : parts) {
    std::stable_sort(part.units.begin(), part.units.end(),
                     [&](GroupId a, GroupId b) { return depth[at(a)] < depth[at(b)]; });
    part.begins = depth[at(part.units[part.units.size() / 2])];
    result.push_back(std::move(part));
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const Part& a, const Part& b) { return a.begins < b.begins; });
  return result;
}

/// Groups for every part, by compute time (the highest averages of D'Hondt).
void allot(std::vector<Part>& parts, std::size_t count) {
  const auto share = [](const Part& part) {
    return part.groups < part.units.size() ? part.us / static_cast<double>(part.groups) : -1;
  };
  for (std::size_t used = parts.size(); used < count; ++used) {
    const auto most =
        std::max_element(parts.begin(), parts.end(),
                         [&](const Part& a, const Part& b) { return share(a) < share(b); });
    if (share(*most) < 0) return;
    ++most->groups;
  }
}

/// `first` and the next labels for runs of the part's units of about equal time.
void cut(const Problem& problem, const Part& part, std::int32_t first,
         std::vector<std::int32_t>& label) {
  double left_us = part.us, run_us = 0;
  std::size_t group = 0;
  for (std::size_t i = 0; i < part.units.size(); ++i) {
    const double us = least_us(problem, part.units[i]);
    const double goal_us = left_us / static_cast<double>(part.groups - group);
    if (run_us > 0 && group + 1 < part.groups && run_us + us / 2 > goal_us) {
      left_us -= run_us;
      run_us = 0;
      ++group;
    }
    run_us += us;
    label[at(part.units[i])] = first + static_cast<std::int32_t>(group);
  }
}

std::vector<std::int32_t> balanced(const Problem& problem, std::int32_t count) {
  const auto division =
      coarsen(problem.graph(), problem.costs(), count, problem.constraints().get());
  std::vector<std::int32_t> label;
  for (GroupId unit = 0; unit < problem.groups().count(); ++unit) {
    // Units may cut across the division, and devices' kinds may forbid one into so few groups.
    label.push_back(division->of(problem.groups().members(unit).front()) % count);
  }
  return label;
}

}  // namespace

std::vector<std::int32_t> divide(const Problem& problem, std::int32_t count) {
  const std::vector<Weight> weights = shared_weights(problem);
  if (weights.size() < 2) return balanced(problem, count);
  const std::vector<std::int32_t> depth = depths(problem);
  std::vector<Part> parts = parts_of(problem, Layering(problem, weights, depth).take(), depth);
  if (parts.size() > at(count)) return balanced(problem, count);
  allot(parts, at(count));
  std::vector<std::int32_t> label(at(problem.groups().count()), 0);
  std::int32_t first = 0;
  for (const Part& part : parts) {
    cut(problem, part, first, label);
    first += static_cast<std::int32_t>(part.groups);
  }
  return label;
}

}  // namespace berth::hdp
