// From an inferred program to the engine's graph.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/graph.h"
#include "tf/inference.h"
#include "tf/program.h"

namespace berth::tf_frontend {

/// Constants from this size are weights: resident parameters of the ops that read them. Smaller
/// ones stay ops, as TensorFlow's own counts have them.
inline constexpr std::int64_t kWeightBytes = 1024;

/// Attribute of an op that stands for a loop: the names of its nodes.
inline constexpr std::string_view kLoopNodes = "nodes";

/// Whether ops of this type stand for bodies that they run: While, If, Case.
[[nodiscard]] bool runs_bodies(std::string_view op_type);

[[nodiscard]] Work add_work(const Work& a, const Work& b);
[[nodiscard]] Work scale_work(Work work, double times);
/// Which of two branches counts: the one with more of what it has most of.
[[nodiscard]] double weight(const Work& work);

struct BodyCosts {
  Work work;                     ///< of one run: that of all its ops
  std::int64_t param_bytes = 0;  ///< of the weights in it, which reside
  std::set<std::string> types;   ///< of its ops, of one with bodies those in them
};
/// `fold`: what depends on constants of the body alone is computed before it runs.
[[nodiscard]] BodyCosts body_costs(const Program& program, const Inferred& inferred, bool fold);

/// Which op of the graph a node became.
struct GraphMap {
  std::vector<OpId> op_of;            ///< by node; kNoOp for weights
  std::vector<std::string> op_names;  ///< by op
};

/// One op per node; one per loop, named by its frame, with the work of its rounds; weights as
/// parameters. Nodes that share a variable, a handle or a co-location constraint share a class.
/// The largest of the branches behind a Switch has work, as of If.
/// The builder needs nothing of the program any more, which can go before the graph is built.
/// Throws Error(invalid_graph).
[[nodiscard]] GraphBuilder describe_graph(const Program& program, const Inferred& inferred,
                                          const std::string& name);

/// Variables of which the file does not tell how large they are.
[[nodiscard]] std::vector<std::string> variables_without_size(const Program& program);

/// The same mapping without a graph, for writing placements back.
[[nodiscard]] GraphMap map_ops(const Program& program, const Loops& loops,
                               const std::vector<bool>& is_weight);

/// By node: whether it is a constant that counts as a weight, or an input that is one.
[[nodiscard]] std::vector<bool> find_weights(const Program& program);

}  // namespace berth::tf_frontend
