#include "runtime/branches.h"

#include <algorithm>
#include <utility>

#include "berth/error.h"
#include "berth/support/index.h"

namespace berth::runtime {
Branches::Branches(const Program& program)
    : program_(program),
      dead_ops_(at(program.graph->op_count())),
      dead_tensors_(at(program.graph->tensor_count())) {
  const Graph& graph = *program.graph;
  if (graph.dialect() != "tf") return;
  std::vector<bool> is_behind(dead_ops_.size());
  for (const OpId op : graph.topological_order()) {
    const auto edges = graph.in_edges(op);
    is_behind[at(op)] =
        is_switch(graph.op_type(op)) ||
        std::ranges::any_of(edges, [&](const Edge& edge) { return is_behind[at(edge.src)]; });
    if (is_behind[at(op)]) behind_.push_back(op);
  }
}

void Branches::guard(std::span<Kernel> kernels) {
  for (const OpId op : behind_) kernels[at(op)] = guarded(op, std::move(kernels[at(op)]));
}

Kernel Branches::guarded(OpId op, Kernel kernel) {
  const Graph& graph = *program_.graph;
  const Instruction& instruction = program_.instructions[at(op)];
  std::vector<std::size_t> tensors, ops;
  for (const Edge& edge : graph.in_edges(op)) {
    if (edge.tensor == kNoTensor) {
      ops.push_back(at(edge.src));
    } else {
      tensors.push_back(at(edge.tensor));
    }
  }
  const bool merges = instruction.type == "Merge", chooses = is_switch(instruction.type);
  return [this, op, tensors, ops, merges, chooses, &instruction, kernel = std::move(kernel)](
             KernelContext& context, std::span<const Value> inputs, std::span<Value> outputs) {
    const auto dead = [](const std::vector<std::uint8_t>& flags) {
      return [&flags](std::size_t i) { return flags[i] != 0; };
    };
    const bool is_dead = merges ? std::ranges::all_of(tensors, dead(dead_tensors_))
                                : std::ranges::any_of(tensors, dead(dead_tensors_)) ||
                                      std::ranges::any_of(ops, dead(dead_ops_));
    if (!is_dead) kernel(context, inputs, outputs);
    dead_ops_[at(op)] = is_dead ? 1 : 0;
    for (std::size_t i = 0; i < instruction.outputs.size(); ++i) {
      if (instruction.outputs[i] == kNoValue) continue;
      const bool is_other_side = chooses && !outputs[i].present();
      dead_tensors_[at(instruction.outputs[i])] = is_dead || is_other_side ? 1 : 0;
    }
  };
}

}  // namespace berth::runtime
