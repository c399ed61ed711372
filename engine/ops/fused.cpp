#include "ops/fused.h"

#include <algorithm>

namespace berth::ops {

bool is_fused(const Graph& graph, OpId op) {
  if (graph.dialect() != "onnx" || graph.op_type(op) != "Transpose") return false;
  const auto inputs = graph.inputs(op), outputs = graph.outputs(op);
  if (inputs.size() != 1 || outputs.size() != 1 || inputs[0] == kNoTensor) return false;
  const OpId maker = graph.maker(inputs[0]);
  if (maker == kNoOp || graph.op_type(maker) != "DequantizeLinear") return false;
  if (graph.shape(inputs[0]).size() != 2 || graph.is_result(outputs[0])) return false;
  const auto readers = graph.out_edges(op);
  return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](const Edge& edge) {
    return edge.tensor != kNoTensor && graph.op_type(edge.dst) == "MatMul";
  });
}

}  // namespace berth::ops
