#include "runtime/compile.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "berth/error.h"
#include "runtime/computing.h"
#include "runtime/onnx/kernels.h"
#include "runtime/overwriting.h"
#include "runtime/tensors.h"
#include "runtime/tf/kernels.h"

namespace berth::runtime {
namespace {

/// Throws for an op with a tensor of numbers that ATen has no type for. What is unknown is a parameter's alone: shapes
/// and types of others need not be known to compute them.
void check_types(const Program& program, OpId op) {
  const Graph& graph = *program.graph;
  for (const TensorId tensor : graph.parameters(op)) {
    const auto& content = program.parameters[static_cast<std::size_t>(tensor)];
    const DType dtype = content ? content->dtype : graph.dtype(tensor);
    if (dtype != DType::string && (content || dtype != DType::unknown))
      static_cast<void>(scalar_type(dtype));
  }
  for (const auto tensors : {graph.inputs(op), graph.outputs(op)}) {
    for (const TensorId tensor : tensors) {
      if (tensor != kNoTensor && graph.dtype(tensor) == DType::f8)
        static_cast<void>(scalar_type(DType::f8));
    }
  }
}

}  // namespace

const KernelRegistry& kernels_of(const Program& program) {
  const std::string& dialect = program.graph->dialect();
  if (dialect == "onnx") return onnx_kernels();
  if (dialect == "tf") return tf_kernels();
  throw Error(ErrorCode::unsupported, "graph '" + program.graph->name() +
                                          "' has ops of the dialect '" + dialect +
                                          "', which has no kernels; there are some for onnx, tf");
}

Compiled compile(const Program& program, const KernelRegistry& registry) {
  Compiled compiled;
  compiled.kernels.resize(program.instructions.size());
  std::vector<OpId> fed = program.inputs;
  std::sort(fed.begin(), fed.end());
  for (OpId op = 0; op < program.graph->op_count(); ++op) {
    const auto i = static_cast<std::size_t>(op);
    try {
      check_types(program, op);
      if (std::binary_search(fed.begin(), fed.end(), op)) continue;
      const Instruction& instruction = program.instructions[i];
      if (!instruction.obstacle.empty()) throw Error(ErrorCode::unsupported, instruction.obstacle);
      const KernelRequest request{program, instruction, registry};
      compiled.kernels[i] = overwriting(request, registry.make(request));
    } catch (const std::exception& error) {
      compiled.obstacles.push_back({op, said_by(error)});
    }
  }
  return compiled;
}

}  // namespace berth::runtime
