#include "runtime/layouts.h"

#include <ATen/Context.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "berth/support/index.h"
#include "runtime/support.h"

namespace berth::runtime {
namespace {

constexpr std::string_view kAnyLayout[] = {
    "Add",
    "AveragePool",
    "BatchNormalization",
    "Clip",
    "Concat",
    "Conv",
    "Div",
    "Dropout",
    "Elu",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "LeakyRelu",
    "Max",
    "MaxPool",
    "Min",
    "Mul",
    "PRelu",
    "Pad",
    "Relu",
    "Reshape",
    "Resize",
    "Sigmoid",
    "Slice",
    "Split",
    "Sub",
    "Sum",
    "Tanh",
    "Transpose",
    "Upsample",
};

}  // namespace

bool has_channels_innermost(const at::Tensor& images) {
  if (images.is_contiguous()) return false;
  if (images.dim() == 4) return images.is_contiguous(at::MemoryFormat::ChannelsLast);
  return images.dim() == 5 && images.stride(4) >= images.size(1) * images.size(2) &&
         images.stride(3) >= images.stride(4);
}

Kernel for_any_layout(const Instruction& instruction, Kernel kernel) {
  if (std::ranges::find(kAnyLayout, instruction.type) != std::end(kAnyLayout)) return kernel;
  return [kernel = std::move(kernel)](KernelContext& context, std::span<const Value> inputs,
                                      std::span<Value> outputs) {
    const auto is_turned = [](const Value& value) {
      return value.tensor.defined() && has_channels_innermost(value.tensor);
    };
    if (std::ranges::none_of(inputs, is_turned)) {
      kernel(context, inputs, outputs);
      return;
    }
    std::vector<Value> in_order(inputs.begin(), inputs.end());
    for (Value& value : in_order) {
      if (is_turned(value)) value.tensor = value.tensor.contiguous();
    }
    kernel(context, in_order, outputs);
  };
}

bool prefers_channels_innermost(const at::Tensor& images) {
  return images.dim() == 4 && images.is_cpu() && images.scalar_type() == at::kFloat &&
         at::hasMKLDNN();
}

std::vector<bool> weights_of_images(const Program& program) {
  const Graph& graph = *program.graph;
  std::vector<bool> weights(at(graph.tensor_count()));
  if (graph.dialect() != "onnx") return weights;
  std::vector<bool> others(weights.size());
  for (const TensorId tensor : program.outputs) others[at(tensor)] = true;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const Instruction& instruction = program.instructions[at(op)];
    const bool convolves =
        instruction.type == "Conv" && int_attribute(instruction, "group", 1) == 1;
    const auto inputs = graph.inputs(op);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == kNoTensor) continue;
      (convolves && i == 1 ? weights : others)[at(inputs[i])] = true;
    }
  }
  for (std::size_t t = 0; t < weights.size(); ++t) weights[t] = weights[t] && !others[t];
  return weights;
}

}  // namespace berth::runtime
