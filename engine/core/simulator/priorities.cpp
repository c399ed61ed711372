#include <algorithm>
#include <cmath>

#include "berth/simulator.h"
#include "berth/support/index.h"

namespace berth {
namespace {

std::vector<double> longest_paths_us(const Problem& problem) {
  const Graph& graph = problem.graph();
  const Cluster& cluster = problem.cluster();
  std::vector<double> path_us(at(graph.op_count()), 0.0);
  const auto order = graph.topological_order();
  for (auto op = order.rbegin(); op != order.rend(); ++op) {
    double fastest_us = kCannotRun;
    for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
      const double cost_us = problem.costs().op_us(*op, kind);
      const double overhead_us = cost_us == 0 ? 0 : cluster.kind_device(kind).op_overhead_us;
      fastest_us = std::min(fastest_us, cost_us + overhead_us);
    }
    double rest_us = 0;
    for (const Edge& edge : graph.out_edges(*op)) {
      rest_us = std::max(rest_us, path_us[at(edge.dst)]);
    }
    path_us[at(*op)] = fastest_us + rest_us;
  }
  return path_us;
}

// Tensors by the op that frees them, and chains of ops that free what the one before made. A chain is run
// from its highest memory to the lowest behind it without a pause, as Liu's orders of trees do ("An
// application of generalized tree pebbling to sparse matrix factorization", 1987).
class Chains {
 public:
  explicit Chains(const Graph& graph)
      : only_reader_(at(graph.tensor_count()), kNoOp),
        freed_bytes_(at(graph.op_count())),
        least_bytes_(at(graph.op_count())) {
    find_only_readers(graph);
    find_levels(graph);
  }

  /// Whether the op is the tensor's only reader, and the tensor need not last.
  [[nodiscard]] bool frees(OpId op, TensorId tensor) const {
    return tensor != kNoTensor && only_reader_[at(tensor)] == op;
  }
  /// Whether there is no more memory in use after the op, or further on in its chain, than before.
  [[nodiscard]] bool shrinks(OpId op) const {
    return freed_bytes_[at(op)] > 0 && least_bytes_[at(op)] <= freed_bytes_[at(op)];
  }

 private:
  void find_only_readers(const Graph& graph) {
    constexpr OpId kSeveral = kNoOp - 1;
    for (OpId op = 0; op < graph.op_count(); ++op) {
      for (const Edge& edge : graph.in_edges(op)) {
        if (edge.tensor == kNoTensor || graph.is_input(edge.src)) continue;
        OpId& reader = only_reader_[at(edge.tensor)];
        const bool first = reader == kNoOp && !graph.is_result(edge.tensor);
        reader = first || reader == op ? op : kSeveral;
      }
    }
  }

  void find_levels(const Graph& graph) {
    std::vector<OpId> next(at(graph.op_count()), kNoOp);
    const auto order = graph.topological_order();
    for (const OpId op : order) {
      for (const TensorId tensor : graph.outputs(op)) {
        const OpId reader = only_reader_[at(tensor)];
        if (reader == kNoOp) continue;  // returned, or gone with the op
        least_bytes_[at(op)] += graph.bytes(tensor);
        if (reader < 0) continue;
        freed_bytes_[at(reader)] += graph.bytes(tensor);
        next[at(op)] = reader;
      }
    }
    for (auto op = order.rbegin(); op != order.rend(); ++op) {
      const OpId reader = next[at(*op)];
      std::int64_t& bytes = least_bytes_[at(*op)];
      if (reader == kNoOp || freed_bytes_[at(reader)] != bytes) continue;
      bytes = std::min(bytes, least_bytes_[at(reader)]);
    }
  }

  std::vector<OpId> only_reader_;          ///< by tensor; negative = none, or several
  std::vector<std::int64_t> freed_bytes_;  ///< by op
  std::vector<std::int64_t>
      least_bytes_;  ///< by op: of outputs that are read, or of its chain's further on
};

}  // namespace

std::vector<double> priorities_us(const Problem& problem) {
  const Graph& graph = problem.graph();
  std::vector<double> priority_us = longest_paths_us(problem);
  // Branches that are alike would all be held at once by their longest paths alone: the 26 lookups of a
  // recommender before the first of them is summed. Tried: chains that end strictly smaller (gradients that are
  // summed in place are then all held), and the order of the file (up to a tenth longer on several devices).
  const Chains chains(graph);
  for (const OpId op : graph.topological_order()) {
    if (!chains.shrinks(op)) continue;
    for (const Edge& edge : graph.in_edges(op)) {
      if (!chains.frees(op, edge.tensor)) continue;
      const double next_us = std::nextafter(priority_us[at(edge.src)], kCannotRun);
      priority_us[at(op)] = std::max(priority_us[at(op)], next_us);
    }
  }
  return priority_us;
}

}  // namespace berth
