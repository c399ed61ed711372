// Types, shapes and small contents of all values of a program.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "berth/frontend.h"
#include "berth/sdk/op_rules.h"
#include "tf/bindings.h"
#include "tf/loops.h"
#include "tf/program.h"

namespace berth::tf_frontend {

/// Findings of inference besides the values in the nodes.
struct Inferred {
  Loops loops;
  /// Work of nodes with bodies: functional loops and branches.
  std::unordered_map<NodeId, Work> works;
  /// Bytes of the weights that their bodies hold.
  std::unordered_map<NodeId, std::int64_t> residents;
  /// Types of the ops in their bodies, of one with bodies those in them.
  std::unordered_map<NodeId, std::set<std::string>> body_types;
  /// Tensors without a size in their bodies, where there are any.
  std::map<NodeId, std::int64_t> unsized;
  std::int64_t all_unsized = 0;  ///< tensors without a size, those of the bodies too
  /// Tensors whose size is that of the largest step.
  std::int64_t at_their_largest = 0;
  /// No size was given or guessed: those that are known follow from the file.
  bool fixes_sizes = false;
};

/// Context shared by a program and the bodies in it.
struct InferenceContext {
  Library& library;
  Bindings& bindings;
  const OpRules* rules = nullptr;            ///< the user's own; null: there are none
  LoadOptions::Experts experts = {};         ///< as the user says
  LoadOptions::Experts routed_experts = {};  ///< of the first op that chooses an expert's tokens
  std::int64_t routings = 0;                 ///< how many such ops there are
  std::set<std::string> unknown_ops = {};    ///< op types without a rule
  std::set<std::string> choosers = {};       ///< op types that choose when a step runs
  bool largest_step = false;              ///< sizes are those of the step in which they choose all
  bool empty_shapes_say_nothing = false;  ///< of placeholders, in files of the first years
  bool other_batch = false;               ///< the shapes that the file states are of another batch
  int depth = 0;                          ///< of nested bodies
  /// How often functional loops run, by the names of their bodies and nodes, and the loop whose body is inferred next.
  std::map<std::string, std::int64_t> rounds_of = {};
  std::int64_t rounds = 1;
  std::map<std::string_view, Value> assigned = {};  ///< shapes of variables that leave theirs open
  /// Nodes that may yet be visited to follow loops whose state grows, round by round.
  std::int64_t visits_of_rounds = 1 << 16;
  bool fold = true;  ///< LoadOptions::fold
};

/// Whether a tensor has no size; handles and lists need none.
[[nodiscard]] bool lacks_size(const Value& value);

/// Fills the outputs of every node. Throws Error(invalid_graph) for a node that reads an output
/// which its producer does not have, for cycles, and for missing functions.
[[nodiscard]] Inferred infer(InferenceContext& context, Program& program,
                             const std::vector<Value>& arguments = {});

}  // namespace berth::tf_frontend
