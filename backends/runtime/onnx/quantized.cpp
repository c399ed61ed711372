// Quantization: real = (quantized - zero point) * scale.
#include "runtime/onnx/quantized.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>

#include "berth/error.h"
#include "runtime/extremes.h"
#include "runtime/onnx/byte_loops.h"
#include "runtime/onnx/tables.h"
#include "runtime/onnx/whole_products.h"
#include "runtime/onnx/windows.h"
#include "runtime/tensors.h"

namespace berth::runtime::onnx {

Tensor along(const Tensor& values, const Tensor& x, std::int64_t axis, std::int64_t block) {
  if (values.dim() == 0 || values.numel() == 1) return values.reshape({});
  if (values.dim() == x.dim() && block > 0) {
    return at::repeat_interleave(values, block, axis).narrow(axis, 0, x.size(axis));
  }
  Ints shape(static_cast<std::size_t>(x.dim()), 1);
  shape[static_cast<std::size_t>(normal_axis(axis, x.dim()))] = values.numel();
  return values.reshape(shape);
}

namespace {

struct Range {
  double low, high;
};

Range range_of(DType dtype) {
  switch (dtype) {
    case DType::i8:
      return {-128, 127};
    case DType::i16:
      return {-32768, 32767};
    case DType::u16:
      return {0, 65535};
    case DType::i4:
      return {-8, 7};
    case DType::u4:
      return {0, 15};
    case DType::u8:
      return {0, 255};
    default:
      throw Error(ErrorCode::unsupported,
                  "no kernel quantizes to " + std::string(dtype_name(dtype)));
  }
}

bool has_bytes(DType dtype) {
  return dtype == DType::u8 || dtype == DType::i8;
}

}  // namespace

void check_quantized(DType dtype) {
  static_cast<void>(range_of(dtype));
}

Tensor quantize(const Tensor& x, const Tensor& scale, const Tensor& zero, DType dtype) {
  const Range range = range_of(dtype);
  if (has_bytes(dtype)) {
    const Tensor bytes = quantized_bytes(x, scale, zero, scalar_type(dtype));
    if (bytes.defined()) return bytes;
  }
  const Tensor scaled = at::round(at::div(x.to(at::kFloat), scale.to(at::kFloat)));
  const Tensor shifted = zero.defined() ? at::add(scaled, zero.to(at::kFloat)) : scaled;
  return at::clamp(shifted, range.low, range.high).to(scalar_type(dtype));
}

Tensor dequantize(const Tensor& x, const Tensor& scale, const Tensor& zero) {
  const Tensor reals = dequantized_bytes(x, scale, zero);
  if (reals.defined()) return reals;
  // Differences are exact in f32 up to 2^24; i32 is quantized to without a zero point.
  const Tensor real = x.to(scale.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  const Tensor shifted = zero.defined() ? at::sub(real, zero.to(real.scalar_type())) : real;
  return at::mul(shifted, scale.to(real.scalar_type())).to(scale.scalar_type());
}

DType quantized_type(const KernelRequest& request, std::size_t zero_point) {
  const Instruction& op = request.instruction;
  if (const auto stated = int_attribute(op, "output_dtype", 0)) return dtype_of_number(stated);
  const Graph& graph = *request.program.graph;
  for (const ValueId id : {zero_point < op.inputs.size() ? op.inputs[zero_point] : kNoValue,
                           op.outputs.empty() ? kNoValue : op.outputs[0]}) {
    if (id == kNoValue || id >= graph.tensor_count()) continue;
    const DType dtype = graph.dtype(id);
    if (dtype != DType::unknown) return dtype;
  }
  return DType::u8;
}

namespace {

/// dynamically_quantized on a processor, where an op for each number takes longer than all of a small tensor.
Dynamic quantized_here(const Tensor& x) {
  const auto [least, most] = at::aminmax(x.reshape({-1}));
  const float low = std::min(least.item<float>(), 0.0F), high = std::max(most.item<float>(), 0.0F);
  const float step = (high - low) / 255;
  const Tensor scale = at::full({}, step == 0 ? 1 : step, x.options());
  const Tensor zero = at::full(
      {}, std::clamp(std::nearbyint(-low / scale.item<float>()), 0.0F, 255.0F), x.options());
  return {quantize(x, scale, zero, DType::u8), scale, zero.to(at::kByte)};
}

}  // namespace

Dynamic dynamically_quantized(const Tensor& x) {
  if (x.is_cpu() && x.scalar_type() == at::kFloat && x.numel() > 0) return quantized_here(x);
  const Tensor flat = x.reshape({-1});
  const auto [least, most] = x.numel() > 0 ? at::aminmax(flat)
                                           : std::tuple(smallest(flat, {0}, /*keep=*/false),
                                                        largest(flat, {0}, /*keep=*/false));
  const Tensor low = at::clamp_max(least, 0), high = at::clamp_min(most, 0);
  Tensor scale = at::div(at::sub(high, low), 255);
  scale = at::where(at::eq(scale, 0), at::ones_like(scale), scale);
  const Tensor zero = at::clamp(at::round(at::div(at::neg(low), scale)), 0, 255);
  return {quantize(x, scale, zero, DType::u8), scale, zero.to(at::kByte)};
}

Tensor computed(const Kernel& kernel, KernelContext& context, const std::vector<Value>& inputs) {
  Value output;
  kernel(context, inputs, std::span(&output, 1));
  return output.tensor;
}

namespace {

Kernel make_quantize(const KernelRequest& request) {
  const std::int64_t axis = int_attribute(request.instruction, "axis", 1);
  const std::int64_t block = int_attribute(request.instruction, "block_size", 0);
  const DType dtype = quantized_type(request, 2);
  check_quantized(dtype);
  return [axis, block, dtype](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const Tensor zero = optional_at(in, 2);
    out[0].tensor = quantize(x, along(tensor_at(in, 1), x, axis, block),
                             zero.defined() ? along(zero, x, axis, block) : zero, dtype);
  };
}

Kernel make_dequantize(const KernelRequest& request) {
  const std::int64_t axis = int_attribute(request.instruction, "axis", 1);
  const std::int64_t block = int_attribute(request.instruction, "block_size", 0);
  const std::int64_t stated = int_attribute(request.instruction, "output_dtype", 0);
  std::optional<at::ScalarType> type;
  if (stated != 0) type = scalar_type(dtype_of_number(stated));
  return [axis, block, type](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const Tensor zero = optional_at(in, 2);
    Tensor scale = along(tensor_at(in, 1), x, axis, block);
    // Rounded once, to the type asked for.
    if (type) scale = scale.to(at::promote_types(scale.scalar_type(), *type));
    const Tensor y = dequantize(x, scale, zero.defined() ? along(zero, x, axis, block) : zero);
    out[0].tensor = type ? y.to(*type) : y;
  };
}

Kernel make_dynamic_quantize(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    const Dynamic made = dynamically_quantized(tensor_at(in, 0));
    out[0].tensor = made.values;
    out[1].tensor = made.scale;
    out[2].tensor = made.zero;
  };
}

Tensor requantize(const Tensor& sums, const Rescaling& real, const Tensor& scale,
                  const Tensor& zero, DType dtype) {
  if (has_bytes(dtype)) {
    const Tensor bytes = requantized_bytes(sums, real, scale, zero, scalar_type(dtype));
    if (bytes.defined()) return bytes;
  }
  const Tensor wide = sums.to(at::kDouble);
  const Tensor shifted = real.summand.defined() ? at::add(wide, real.summand) : wide;
  return quantize(at::mul(shifted, real.factor), scale, zero, dtype);
}

// A zero point per row of the first matrix.
Tensor per_row(const Tensor& zero) {
  return zero.defined() && zero.dim() == 1 && zero.numel() > 1 ? zero.unsqueeze(-1) : zero;
}

Kernel make_matmul_integer(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    out[0].tensor = whole_product({tensor_at(in, 0), per_row(optional_at(in, 2))},
                                  {tensor_at(in, 1), optional_at(in, 3)});
  };
}

Kernel make_qlinear_matmul(const KernelRequest& request) {
  const DType dtype = quantized_type(request, 7);
  check_quantized(dtype);
  return [dtype](KernelContext&, Inputs in, Outputs out) {
    const Tensor product = whole_product({tensor_at(in, 0), per_row(tensor_at(in, 2))},
                                         {tensor_at(in, 3), tensor_at(in, 5)});
    const Tensor scale =
        at::mul(per_row(tensor_at(in, 1)).to(at::kDouble), tensor_at(in, 4).to(at::kDouble));
    out[0].tensor = requantize(product, {scale, {}, product.dim() - 1}, tensor_at(in, 6),
                               tensor_at(in, 7), dtype);
  };
}

Tensor weight_zero(const Tensor& zero, const Tensor& weight) {
  return zero.defined() ? along(zero, weight, 0, 0) : zero;
}

WholeConvolution whole_convolution(const KernelRequest& request) {
  return {request.registry.find("Conv")(request), window_attributes(request.instruction),
          groups_of(request.instruction)};
}

Kernel make_conv_integer(const KernelRequest& request) {
  return [conv = whole_convolution(request)](KernelContext& context, Inputs in, Outputs out) {
    const Tensor& weight = tensor_at(in, 1);
    out[0].tensor = conv.of(context, {tensor_at(in, 0), optional_at(in, 2)},
                            {weight, weight_zero(optional_at(in, 3), weight)});
  };
}

Kernel make_qlinear_conv(const KernelRequest& request) {
  const DType dtype = quantized_type(request, 7);
  check_quantized(dtype);
  return [conv = whole_convolution(request), dtype](KernelContext& context, Inputs in,
                                                    Outputs out) {
    const Tensor& weight = tensor_at(in, 3);
    const Tensor sums = conv.of(context, {tensor_at(in, 0), tensor_at(in, 2)},
                                {weight, weight_zero(tensor_at(in, 5), weight)});
    const Tensor bias = has(in, 8) ? along(tensor_at(in, 8), sums, 1, 0).to(at::kDouble) : Tensor();
    const Tensor scale = at::mul(tensor_at(in, 1).to(at::kDouble),
                                 along(tensor_at(in, 4), sums, 1, 0).to(at::kDouble));
    out[0].tensor = requantize(sums, {scale, bias, 1}, tensor_at(in, 6), tensor_at(in, 7), dtype);
  };
}

constexpr KernelRow kRows[] = {
    {"ConvInteger", make_conv_integer},
    {"DequantizeLinear", make_dequantize},
    {"DynamicQuantizeLinear", make_dynamic_quantize},
    {"MatMulInteger", make_matmul_integer},
    {"QLinearConv", make_qlinear_conv},
    {"QLinearMatMul", make_qlinear_matmul},
    {"QuantizeLinear", make_quantize},
    {"com.microsoft.DequantizeLinear", make_dequantize},
    {"com.microsoft.QuantizeLinear", make_quantize},
};

}  // namespace

std::span<const KernelRow> quantized_kernels() {
  return kRows;
}

}  // namespace berth::runtime::onnx
