// ONNX Runtime's ops on quantized tensors (com.microsoft).
#include <ATen/Functions.h>

#include <cmath>
#include <limits>

#include "runtime/onnx/quantized.h"
#include "runtime/onnx/tables.h"
#include "runtime/onnx/whole_products.h"

namespace berth::runtime::onnx {
namespace {

/// The real numbers of the quantized tensor that is input `i`, with its scale and zero point behind it.
Tensor real_at(Inputs in, std::size_t i) {
  return dequantize(tensor_at(in, i), tensor_at(in, i + 1), optional_at(in, i + 2));
}

/// Op `plain` of `count` quantized tensors, each with its scale and zero point; the output's follow.
Kernel between(const KernelRequest& request, const char* plain, std::size_t count) {
  Instruction instruction = request.instruction;
  instruction.version = 13;
  const std::size_t scale = 3 * count;
  const DType dtype = quantized_type(request, scale + 1);
  check_quantized(dtype);
  const Kernel kernel =
      request.registry.find(plain)({request.program, instruction, request.registry});
  return [kernel, count, scale, dtype](KernelContext& context, Inputs in, Outputs out) {
    std::vector<Value> inputs;
    for (std::size_t i = 0; i < count; ++i) inputs.push_back({real_at(in, 3 * i), nullptr});
    out[0].tensor = quantize(computed(kernel, context, inputs), tensor_at(in, scale),
                             optional_at(in, scale + 1), dtype);
  };
}

/// Turns images with channels innermost around for `kernel`, and its output back.
Kernel channels_first(Kernel kernel) {
  return [kernel = std::move(kernel)](KernelContext& context, Inputs in, Outputs out) {
    std::vector<Value> inputs(in.begin(), in.end());
    inputs[0].tensor = at::movedim(tensor_at(in, 0), -1, 1);
    kernel(context, inputs, out);
    out[0].tensor = at::movedim(out[0].tensor, 1, -1).contiguous();
  };
}

Kernel as_stated(const KernelRequest& request, Kernel kernel) {
  const bool innermost = int_attribute(request.instruction, "channels_last", 0) != 0;
  return innermost ? channels_first(std::move(kernel)) : kernel;
}

/// Inputs: x with its scale and zero point, the output's scale and zero point. ONNX Runtime, whose op
/// this is, has the output's steps in 1 as a whole number, rounded down: 254 for a scale of 1/255. Its
/// powers are f32 of a certain size, which decides where two steps are equally near.
Kernel make_softmax(const KernelRequest& request) {
  // Before version 13 all dimensions from the axis on are one.
  const bool joins = int_attribute(request.instruction, "opset", 13) < 13;
  const std::int64_t axis = int_attribute(request.instruction, "axis", -1);
  const DType dtype = quantized_type(request, 4);
  check_quantized(dtype);
  return [joins, axis, dtype](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    if (x.numel() == 0) {
      out[0].tensor = at::empty_like(x);
      return;
    }
    const Tensor rows = (joins ? x.flatten(axis) : x.transpose(axis, -1)).to(at::kDouble);
    const Tensor exponents = at::mul(at::sub(rows, rows.amax(-1, true)), tensor_at(in, 1));
    const double size =
        std::log(std::numeric_limits<float>::max() / static_cast<float>(rows.size(-1))) - 5;
    constexpr double kRoom = 0x1p-32;  // for the product with the steps; no mantissa changes
    const Tensor powers = at::mul(at::exp(at::add(exponents, size)), kRoom).to(at::kFloat);
    const Tensor steps = at::floor(at::reciprocal(tensor_at(in, 3)));
    const Tensor y = at::div(at::mul(powers, steps), powers.sum(-1, true));
    const Tensor quantized = quantize(y, at::ones_like(steps), optional_at(in, 4), dtype);
    out[0].tensor =
        (joins ? quantized.view(x.sizes()) : quantized.transpose(axis, -1)).contiguous();
  };
}

// Inputs: the output's scale and zero point, then each tensor with its own.
Kernel make_concat(const KernelRequest& request) {
  const std::int64_t axis = int_attribute(request.instruction, "axis", 0);
  const DType dtype = quantized_type(request, 1);
  check_quantized(dtype);
  return [axis, dtype](KernelContext&, Inputs in, Outputs out) {
    std::vector<Tensor> parts;
    for (std::size_t i = 2; i + 2 < in.size(); i += 3) parts.push_back(real_at(in, i));
    out[0].tensor = quantize(at::cat(parts, axis), tensor_at(in, 0), tensor_at(in, 1), dtype);
  };
}

Kernel make_where(const KernelRequest& request) {
  const DType dtype = quantized_type(request, 8);
  check_quantized(dtype);
  return [dtype](KernelContext&, Inputs in, Outputs out) {
    out[0].tensor = quantize(at::where(tensor_at(in, 0), real_at(in, 1), real_at(in, 4)),
                             tensor_at(in, 7), tensor_at(in, 8), dtype);
  };
}

// --- products ------------------------------------------------------------------------------------

/// The product of integers, exact, then its scale and what is added, in f32 as ONNX Runtime has it.
Tensor scaled_product(const Quantized& a, const Quantized& b, const Tensor& scale,
                      const Tensor& bias) {
  const Tensor product = at::mul(whole_product(a, b).to(at::kFloat), scale.to(at::kFloat));
  return bias.defined() ? at::add(product, bias) : product;
}

// Inputs: a, b (quantized), its scale, its zero point?, bias?.
Kernel make_dynamic_matmul(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    const Dynamic a = dynamically_quantized(tensor_at(in, 0));
    out[0].tensor = scaled_product({a.values, a.zero}, {tensor_at(in, 1), optional_at(in, 3)},
                                   at::mul(a.scale, tensor_at(in, 2)), optional_at(in, 4));
  };
}

// Inputs: a, b, their scales, their zero points?, bias?.
Kernel make_matmul_to_float(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    out[0].tensor = scaled_product({tensor_at(in, 0), optional_at(in, 4)},
                                   {tensor_at(in, 1), optional_at(in, 5)},
                                   at::mul(tensor_at(in, 2), tensor_at(in, 3)), optional_at(in, 6));
  };
}

// Inputs: a, its scale and zero point, b, its scale and zero point, bias? (i32, by both scales), the
// output's scale? and zero point?; real numbers without.
Kernel make_gemm(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const bool trans_a = int_attribute(op, "transA", 0) != 0;
  const bool trans_b = int_attribute(op, "transB", 0) != 0;
  const double alpha = float_attribute(op, "alpha", 1);
  const DType dtype = quantized_type(request, 8);
  return [=](KernelContext&, Inputs in, Outputs out) {
    const Tensor a = trans_a ? tensor_at(in, 0).t() : tensor_at(in, 0);
    const Tensor b = trans_b ? tensor_at(in, 3).t() : tensor_at(in, 3);
    Tensor sums = whole_product({a, tensor_at(in, 2)}, {b, tensor_at(in, 5)}).to(at::kDouble);
    if (has(in, 6)) sums = at::add(sums, tensor_at(in, 6).to(at::kDouble));
    const Tensor scale = at::mul(at::mul(tensor_at(in, 1), tensor_at(in, 4)), alpha);
    const Tensor real = at::mul(sums.to(at::kFloat), scale);
    out[0].tensor = has(in, 7) ? quantize(real, tensor_at(in, 7), tensor_at(in, 8), dtype) : real;
  };
}

// --- layers --------------------------------------------------------------------------------------

// Inputs: x and weights (quantized), bias, their scales, mask?, their zero points?, past?.
Kernel make_attention(const KernelRequest& request) {
  const Kernel attention = request.registry.find("com.microsoft.Attention")(request);
  return [attention](KernelContext& context, Inputs in, Outputs out) {
    const Value inputs[] = {
        {dequantize(tensor_at(in, 0), tensor_at(in, 3), optional_at(in, 6)), nullptr},
        {dequantize(tensor_at(in, 1), tensor_at(in, 4), optional_at(in, 7)), nullptr},
        {tensor_at(in, 2), nullptr},
        {optional_at(in, 5), nullptr},
        {optional_at(in, 8), nullptr}};
    attention(context, inputs, out);
  };
}

// Inputs: words, segments?, then quantized: embeddings of words, of positions, of segments?, scale, shift;
// mask?; scales of those five, then their zero points.
Kernel make_embed_layer_norm(const KernelRequest& request) {
  const Kernel plain = request.registry.find("com.microsoft.EmbedLayerNormalization")(request);
  return [plain](KernelContext& context, Inputs in, Outputs out) {
    constexpr std::size_t kFirst = 2, kTables = 5, kMask = 7, kScales = 8, kZeros = 13;
    std::vector<Value> inputs(kMask + 1);
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}, kMask}) {
      inputs[i].tensor = optional_at(in, i);
    }
    for (std::size_t i = 0; i < kTables; ++i) {
      if (!has(in, kFirst + i)) continue;
      inputs[kFirst + i].tensor = dequantize(tensor_at(in, kFirst + i), tensor_at(in, kScales + i),
                                             optional_at(in, kZeros + i));
    }
    plain(context, inputs, out);
  };
}

constexpr KernelRow kRows[] = {
    {"com.microsoft.DynamicQuantizeMatMul", make_dynamic_matmul},
    {"com.microsoft.MatMulIntegerToFloat", make_matmul_to_float},
    {"com.microsoft.NhwcMaxPool",
     [](const KernelRequest& request) {
       return channels_first(request.registry.find("MaxPool")(request));
     }},
    {"com.microsoft.QAttention", make_attention},
    {"com.microsoft.QEmbedLayerNormalization", make_embed_layer_norm},
    {"com.microsoft.QGemm", make_gemm},
    {"com.microsoft.QLinearAdd",
     [](const KernelRequest& request) { return between(request, "Add", 2); }},
    {"com.microsoft.QLinearAveragePool",
     [](const KernelRequest& request) {
       return as_stated(request, between(request, "AveragePool", 1));
     }},
    {"com.microsoft.QLinearConcat", make_concat},
    {"com.microsoft.QLinearConv",
     [](const KernelRequest& request) {
       return as_stated(request, request.registry.find("QLinearConv")(request));
     }},
    {"com.microsoft.QLinearGlobalAveragePool",
     [](const KernelRequest& request) {
       return as_stated(request, between(request, "GlobalAveragePool", 1));
     }},
    {"com.microsoft.QLinearLeakyRelu",
     [](const KernelRequest& request) { return between(request, "LeakyRelu", 1); }},
    {"com.microsoft.QLinearMul",
     [](const KernelRequest& request) { return between(request, "Mul", 2); }},
    {"com.microsoft.QLinearSigmoid",
     [](const KernelRequest& request) { return between(request, "Sigmoid", 1); }},
    {"com.microsoft.QLinearSoftmax", make_softmax},
    {"com.microsoft.QLinearWhere", make_where},
};

}  // namespace

std::span<const KernelRow> quantized_fused_kernels() {
  return kRows;
}

}  // namespace berth::runtime::onnx
