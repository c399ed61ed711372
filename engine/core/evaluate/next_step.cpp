#include "evaluate/next_step.h"

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include "berth/support/index.h"
#include "berth/support/text.h"
#include "ops/updates.h"
#include "problem/op_time.h"
#include "support/units.h"

namespace berth {
namespace {

/// The ops that read a state, and the one that makes its next value.
struct Way {
  std::string name;
  bool variable = false;
  std::vector<OpId> readers = {};
  OpId maker = kNoOp;
  double most_us =
      0;  ///< no longer than the longest way behind a reader, nor than that to the maker
};

/// Variables by tensor, and the ops that change them.
std::vector<std::pair<TensorId, OpId>> updates_of(const Graph& graph) {
  std::vector<std::pair<TensorId, OpId>> updates;
  const bool tf = graph.dialect() == "tf";
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const std::string& type = graph.op_type(op);
    const auto inputs = graph.inputs(op);
    if (graph.is_constant(op) || inputs.empty()) continue;
    if (tf && ops::changes_variable(type) && inputs[0] != kNoTensor) {
      updates.emplace_back(inputs[0], op);
    }
    if (tf || !ops::is_onnx_update(type)) continue;
    for (const TensorId input : inputs) {
      if (input != kNoTensor && graph.maker(input) == kNoOp) updates.emplace_back(input, op);
    }
  }
  return updates;
}

std::vector<Way> ways_of(const Graph& graph) {
  std::vector<Way> ways;
  for (const Graph::State& state : graph.states()) {
    ways.push_back(
        {graph.op_name(state.input), false, {state.input}, graph.producer(state.result)});
  }
  const auto updates = updates_of(graph);
  std::map<TensorId, std::vector<OpId>> readers;
  for (const auto& update : updates) readers[update.first];
  for (OpId op = 0; op < graph.op_count() && !readers.empty(); ++op) {
    if (graph.is_constant(op)) continue;
    for (const TensorId input : graph.inputs(op)) {
      const auto read = readers.find(input);
      if (read != readers.end()) read->second.push_back(op);
    }
  }
  for (const auto& [tensor, op] : updates) {
    const OpId maker = graph.maker(tensor);
    const std::string& name = maker == kNoOp ? graph.tensor_name(tensor) : graph.op_name(maker);
    ways.push_back({name, true, readers[tensor], op});
  }
  return ways;
}

class Longest {
 public:
  Longest(const Graph& graph, std::vector<double> op_us, std::function<double(const Edge&)> edge_us)
      : graph_(graph), op_us_(std::move(op_us)), edge_us_(std::move(edge_us)) {}

  /// Ways that may be the longest come first, so that few are followed.
  NextStep of(std::vector<Way> ways) const {
    const std::vector<double> behind = longest_behind(), to = longest_from({});
    for (Way& way : ways) {
      for (const OpId op : way.readers) way.most_us = std::max(way.most_us, behind[at(op)]);
      way.most_us = std::min(way.most_us, to[at(way.maker)]);
    }
    std::stable_sort(ways.begin(), ways.end(),
                     [](const Way& a, const Way& b) { return a.most_us > b.most_us; });
    NextStep longest;
    for (const Way& way : ways) {
      if (way.most_us <= longest.us) break;
      const double us = longest_from(way.readers)[at(way.maker)];
      if (us > longest.us) longest = {way.name, us, way.variable};
    }
    return longest;
  }

 private:
  static constexpr double kNoWay = -1;

  /// Indexed by op: the longest way that ends with it, from any of these or from anywhere; kNoWay = none.
  std::vector<double> longest_from(const std::vector<OpId>& first) const {
    std::vector<double> us(op_us_.size(), first.empty() ? 0 : kNoWay);
    for (const OpId op : first) us[at(op)] = 0;
    for (const OpId op : graph_.topological_order()) {
      double& own = us[at(op)];
      for (const Edge& edge : graph_.in_edges(op)) {
        if (us[at(edge.src)] >= 0) own = std::max(own, us[at(edge.src)] + edge_us_(edge));
      }
      if (own >= 0) own += op_us_[at(op)];
    }
    return us;
  }
  std::vector<double> longest_behind() const {
    std::vector<double> us(op_us_.size(), 0);
    const auto order = graph_.topological_order();
    for (auto op = order.rbegin(); op != order.rend(); ++op) {
      for (const Edge& edge : graph_.out_edges(*op)) {
        us[at(*op)] = std::max(us[at(*op)], us[at(edge.dst)] + edge_us_(edge));
      }
      us[at(*op)] += op_us_[at(*op)];
    }
    return us;
  }

  const Graph& graph_;
  std::vector<double> op_us_;
  std::function<double(const Edge&)> edge_us_;
};

}  // namespace

std::string NextStep::text() const {
  return cat("the next step reads '", name, "', which this one makes anew ", format_us(us),
             " or more after it read it");
}

std::string NextStep::exception() const {
  return variable ? "steps may read older values" : "steps in flight are of different sequences";
}

NextStep longest_next_step(const Problem& problem) {
  const Graph& graph = problem.graph();
  std::vector<Way> ways = ways_of(graph);
  if (ways.empty()) return {};
  std::vector<double> us;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    double least_us = kCannotRun;
    for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
      if (!problem.allowed(op, device)) continue;
      least_us = std::min(least_us, busy_us(problem, op, problem.cluster().kind_of(device)));
    }
    us.push_back(least_us);
  }
  return Longest(graph, std::move(us), [](const Edge&) { return 0.0; }).of(std::move(ways));
}

NextStep longest_next_step(const Problem& problem, const Placement& placement) {
  const Graph& graph = problem.graph();
  std::vector<Way> ways = ways_of(graph);
  if (ways.empty()) return {};
  std::vector<double> us;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    us.push_back(busy_us(problem, op, problem.cluster().kind_of(placement[at(op)])));
  }
  const auto sent_us = [&](const Edge& edge) {
    const DeviceId src = placement[at(edge.src)], dst = placement[at(edge.dst)];
    const std::int64_t bytes = edge.tensor == kNoTensor ? 0 : graph.bytes(edge.tensor);
    return src == dst ? 0 : problem.cluster().route(src, dst).transfer_us(bytes);
  };
  return Longest(graph, std::move(us), sent_us).of(std::move(ways));
}

}  // namespace berth
