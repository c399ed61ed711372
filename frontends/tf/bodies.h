// Bodies of control flow, as they are executed: of If, Case and While by functions, and of loops
// written with Enter, Merge, Switch, NextIteration and Exit.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "berth/sdk/program.h"
#include "tf/loops.h"
#include "tf/model_file.h"
#include "tf/program.h"

namespace berth::tf_frontend {

/// Attributes of an instruction of a node, but for TensorFlow's own bookkeeping. Throws
/// Error(unsupported) for contents that are not computed with.
void add_attributes(Instruction& instruction, const Node& node, const WireSource& source,
                    const std::shared_ptr<const ModelFile>& file);

/// The tensors that cross a loop's border, in the order in which its op has them.
struct LoopBorder {
  std::vector<Source> inputs;   ///< read by the loop's nodes, once for each reader
  std::vector<Source> outputs;  ///< given by them
};

/// Gives instructions of control flow their bodies:
/// - If: "then_branch", "else_branch"; Case: "branch0", "branch1", ..; inputs from 1 on are theirs;
/// - While: "cond" and "body", whose inputs are the loop's variables, "initial", the positions in
///   Instruction::inputs of what the variables begin with, and "given", the variable that each output
///   is.
/// In a body with branches by Switch, "_alive" has the values that an instruction does not read and that have to be
/// alive where it runs. Bodies have value ids of their own. Each function throws Error(unsupported) with the reason where a
/// part cannot be executed.
class BodyMaker {
 public:
  /// Ids from `first` on are free. `library` counts the nodes that bodies have.
  BodyMaker(Library& library, std::shared_ptr<const ModelFile> file, ValueId first)
      : library_(library), file_(std::move(file)), next_(first) {}

  /// A node of `program` that runs functions.
  void add_functions(Instruction& instruction, const Program& program, const Node& node);
  /// The outermost loop `frame` of `program`; its instruction has the border's tensors.
  void add_loop(Instruction& instruction, const Program& program, const Loops& loops, FrameId frame,
                const LoopBorder& border);

 private:
  struct Scope;
  class Emitter;

  std::shared_ptr<const Body> function(const Program& program, const Node& node,
                                       const Attributes::Function& name, std::size_t arguments);

  Program program_of(const Program& caller, const Node& node, const FunctionDef& function,
                     const std::vector<AttrEntry>& attributes);

  Library& library_;
  std::shared_ptr<const ModelFile> file_;
  ValueId next_;
  int depth_ = 0;
};

/// The border of the loop whose nodes are `inside`, as the nodes see it that `counts` names.
[[nodiscard]] LoopBorder border_of(const Program& program,
                                   const std::function<bool(NodeId)>& inside,
                                   const std::function<bool(NodeId)>& counts);

}  // namespace berth::tf_frontend
