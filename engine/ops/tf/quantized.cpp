// Quantised numbers and the imitation of them in training.
#include "ops/tf/rules.h"

namespace berth::ops::tf {
namespace {

void quantized_like(OpContext& op) {
  op.copy_shape(0, op.in(0));
  for (std::size_t i = 1; i < op.output_count(); ++i) op.set(i, {});
}
/// gradient, input, minimum, maximum: their gradients.
void fake_quant_gradient(OpContext& op) {
  op.copy_shape(0, op.in(1));
  op.copy_shape(1, op.in(2));
  op.copy_shape(2, op.in(3));
}

constexpr WorkRule kRounding = elementwise(4);  // scale, round, shift, clamp

constexpr Row kOps[] = {
    {"Dequantize", "output:dtype=float", rule::like_first, kRounding},
    {"FakeQuantWithMinMaxArgs", "outputs:=float", rule::like_first, kRounding},
    {"FakeQuantWithMinMaxArgsGradient", "backprops:=float", rule::like_first, kRounding},
    {"FakeQuantWithMinMaxVars", "outputs:=float", rule::like_first, kRounding},
    {"FakeQuantWithMinMaxVarsGradient",
     "backprops_wrt_input:=float backprop_wrt_min:=float backprop_wrt_max:=float",
     fake_quant_gradient, kRounding},
    {"FakeQuantWithMinMaxVarsPerChannel", "outputs:=float", rule::like_first, kRounding},
    {"FakeQuantWithMinMaxVarsPerChannelGradient",
     "backprops_wrt_input:=float backprop_wrt_min:=float backprop_wrt_max:=float",
     fake_quant_gradient, kRounding},
    {"QuantizeAndDequantize", "output:T", rule::like_first, kRounding},
    {"QuantizeAndDequantizeV2", "output:T", rule::like_first, kRounding},
    {"QuantizeAndDequantizeV3", "output:T", rule::like_first, kRounding},
    {"QuantizeAndDequantizeV4", "output:T", rule::like_first, kRounding},
    {"QuantizeAndDequantizeV4Grad", "input_backprop:T input_min_backprop:T input_max_backprop:T",
     fake_quant_gradient, kRounding},
    {"QuantizeV2", "output:T output_min:=float output_max:=float", quantized_like, kRounding},
    {"QuantizedRelu", "activations:out_type=quint8 min_activations:=float max_activations:=float",
     quantized_like, elementwise(1)},
    {"Requantize", "output:out_type output_min:=float output_max:=float", quantized_like,
     kRounding},
    {"UniformDequantize", "output:Tout", rule::like_first, kRounding},
    {"UniformQuantize", "output:Tout", rule::like_first, kRounding},
    {"UniformQuantizedClipByValue", "output:T", rule::like_first, elementwise(2)},
    {"UniformRequantize", "output:Tout", rule::like_first, kRounding},
};

}  // namespace

std::span<const Row> quantized_ops() {
  return kOps;
}

}  // namespace berth::ops::tf
