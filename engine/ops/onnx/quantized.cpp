// Quantised numbers.
#include "ops/formulas.h"
#include "ops/onnx/rules.h"

namespace berth::ops::onnx {
namespace {

constexpr double kExp = kTranscendentalFlops;

void quantize(OpContext& op) {
  op.set_like(0, 0);
  const auto stated = static_cast<int>(op.attributes.integer("output_dtype", 0));
  op.out(0).type = stated != 0 ? stated : op.type_of(2) != 0 ? op.type_of(2) : kUint8;
}

void dequantize(OpContext& op) {
  op.set_like(0, 0);
  const auto stated = static_cast<int>(op.attributes.integer("output_dtype", 0));
  op.out(0).type = stated != 0 ? stated : op.type_of(1) != 0 ? op.type_of(1) : kFloat;
}

void dynamic_quantize(OpContext& op) {
  op.set_like(0, 0);
  op.out(0).type = kUint8;
  op.set(1, kFloat, {});
  op.set(2, kUint8, {});
}

void quantized_binary(OpContext& op) {
  broadcast_inputs(op, {0, 3}, 0);
}
/// a, its zero point, b, its zero point.
void multiply_integers(OpContext& op) {
  broadcast_inputs(op, {0, 2}, 0);
  op.out(0).type = kInt32;
}
void quantized_where(OpContext& op) {
  broadcast_inputs(op, {0, 1, 4}, 1);
}
// Inputs: scale and zero point of the output, then (tensor, scale, zero point) each.
void quantized_concat(OpContext& op) {
  op.set_like(0, 2);
  if (!op.out(0).ranked) return;
  Dims& dims = op.out(0).dims;
  const auto axis = normal_axis(op.attributes.integer("axis", 0), dims.size());
  if (!axis) return;
  for (std::size_t i = 5; i < op.input_count(); i += 3) {
    dims[*axis] = add_dims(dims[*axis], dim_of(op.shape(i), *axis, dims.size()));
  }
}

/// data, indices, scales: rows that are dequantised as they are picked. Eight bits may hold two
/// numbers of four.
void gather_blocks(OpContext& op) {
  const Dims* const data = op.shape(0);
  const Dims* const indices = op.shape(1);
  op.give(0, tensor_type(op.type_of(2)));
  if (data == nullptr || indices == nullptr || data->empty()) return;
  Dims from = *data;
  const std::int64_t bits = op.attributes.integer("bits", 4);
  if (op.type_of(0) == kUint8 && bits > 0 && bits < 8) {
    from.back() = multiply_dims(from.back(), 8 / bits);
  }
  give(op, op.type_of(2), gathered(from, *indices, op.attributes.integer("gather_axis", 0), 0));
}

/// data, indices, scales, zero points: of a row that is read, its scales and zero points are too.
Estimate gathered_blocks(const OpView& op, const WorkRule& rule) {
  const TensorView data = op.input(0);
  const auto bits = static_cast<double>(op.integer("bits", 4));
  const double packed = data.dtype() == DType::u8 && bits > 0 && bits < 8 ? 8 / bits : 1;
  const double results = op.output(0).elements();
  const double share = known_or(results / (data.elements() * packed), 0);
  const double read = data.bytes() + op.input(2).bytes() + op.input(3).bytes();
  return work::make_estimate(op, rule, rule.flops * known_or(results, 0),
                             share * read + op.input(1).bytes() + op.bytes_written());
}

// Scale, round, shift, clamp.
constexpr WorkRule kQuantize = elementwise(4);
constexpr WorkRule kDequantize = elementwise(2);

constexpr Row kOps[] = {
    {"DequantizeLinear", dequantize, kDequantize},
    {"DynamicQuantizeLinear", dynamic_quantize, reduction(6)},
    {"QuantizeLinear", quantize, kQuantize},
    {"com.microsoft.DequantizeLinear", dequantize, kDequantize},
    {"com.microsoft.GatherBlockQuantized",
     gather_blocks,
     {gathered_blocks, OpClass::data_movement, 2}},
    {"com.microsoft.MulInteger", multiply_integers, elementwise(2)},
    {"com.microsoft.QLinearAdd", quantized_binary, elementwise(6)},
    {"com.microsoft.QLinearConcat", quantized_concat, copies()},
    {"com.microsoft.QLinearLeakyRelu", rule::like_first, elementwise(2)},
    {"com.microsoft.QLinearMul", quantized_binary, elementwise(6)},
    {"com.microsoft.QLinearReduceMean", rule::reduce, reduction(1)},
    {"com.microsoft.QLinearSigmoid", rule::like_first, elementwise(kExp + 2)},
    {"com.microsoft.QLinearWhere", quantized_where, elementwise(2)},
    {"com.microsoft.QuantizeLinear", quantize, kQuantize},
};

}  // namespace

std::span<const Row> quantized_ops() {
  return kOps;
}

}  // namespace berth::ops::onnx
