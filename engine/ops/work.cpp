#include "ops/work.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "ops/formulas.h"

namespace berth::ops::work {

Estimate make_estimate(const OpView& op, const WorkRule& rule, double flops, double bytes,
                       double workspace_bytes) {
  Estimate estimate;
  estimate.work.flops = flops;
  estimate.work.bytes = bytes;
  estimate.work.op_class = rule.op_class;
  estimate.work.dtype = op.dtype();
  estimate.work.workspace_bytes = workspace_bytes;
  return estimate;
}

Estimate with_products(Estimate estimate, double rows, double columns, double count) {
  const double inner = estimate.work.flops / (2 * rows * columns * count);
  const auto stated = [](double number) { return number >= 1 && std::isfinite(number); };
  if (stated(rows) && stated(columns) && stated(count) && inner > 0 && std::isfinite(inner)) {
    estimate.work.products = {rows, columns, inner, count};
  }
  return estimate;
}

Estimate with_steps(Estimate estimate, double steps, double layers, double recurrent_bytes) {
  estimate.work.bytes += std::max(0.0, steps - 1) * recurrent_bytes;
  estimate.work.launches = std::max(1.0, known_or(steps * layers, 1));
  return estimate;
}

Estimate with_convolution(Estimate estimate, const ConvolutionShape& shape) {
  if (shape.groups > 1) {
    estimate.work.op_class =
        shape.channels == 1 ? OpClass::depthwise_convolution : OpClass::grouped_convolution;
  } else if (shape.window == 1) {
    estimate.work.op_class = OpClass::pointwise_convolution;
  }
  estimate = with_products(std::move(estimate), shape.rows, shape.columns, shape.groups);
  constexpr double kFewer = 2.25;
  if (estimate.work.dtype != DType::f32) return estimate;
  if (shape.minimal) estimate.work.products.inner /= kFewer;
  // Read once; what they are transformed to is written and read.
  constexpr double kMoved = 1 + 2 * 4;
  estimate.transformed_bytes = kMoved * shape.transformed * element_bytes(DType::f32);
  return estimate;
}

double all_bytes(const OpView& op) {
  return op.bytes_read() + op.bytes_written();
}

double bytes_of_rows(const TensorView& tensor, double rows, double all) {
  return tensor.bytes() * std::min(1.0, rows / all);
}

double element_bytes(DType dtype) noexcept {
  const int bits = dtype_bits(dtype);
  return bits > 0 ? bits / 8.0 : 4.0;
}

bool converts(const OpView& op) {
  return op.input(0).dtype() == DType::unknown || op.input(0).dtype() != op.output(0).dtype();
}

bool reduces(const OpView& op) {
  return op.input(0).elements() != op.output(0).elements();
}

bool drops(const OpView& op) {
  constexpr std::size_t kTrainingMode = 2;
  return op.integer("training_mode", op.input(kTrainingMode).present() ? 1 : 0) != 0;
}

Estimate nothing(const OpView& op, const WorkRule& rule) {
  Estimate estimate = make_estimate(op, rule, 0, 0);
  estimate.work.launches = 0;
  return estimate;
}

Estimate per_output(const OpView& op, const WorkRule& rule) {
  return make_estimate(op, rule, rule.flops * op.output(0).elements(), all_bytes(op));
}

Estimate converted(const OpView& op, const WorkRule& rule) {
  return converts(op) ? per_output(op, rule) : nothing(op, rule);
}

Estimate dropped(const OpView& op, const WorkRule& rule) {
  return drops(op) ? per_output(op, rule) : nothing(op, rule);
}

Estimate per_input(const OpView& op, const WorkRule& rule) {
  return make_estimate(op, rule, rule.flops * op.input(0).elements(), all_bytes(op));
}

Estimate reduced(const OpView& op, const WorkRule& rule) {
  return reduces(op) ? per_input(op, rule) : nothing(op, rule);
}

Estimate per_operand(const OpView& op, const WorkRule& rule) {
  const double operations = std::max(1.0, static_cast<double>(op.input_count()) - 1);
  return make_estimate(op, rule, rule.flops * operations * op.output(0).elements(), all_bytes(op));
}

Estimate write_only(const OpView& op, const WorkRule& rule) {
  return make_estimate(op, rule, rule.flops * op.output(0).elements(), op.bytes_written());
}

Estimate scattered(const OpView& op, const WorkRule& rule, std::size_t update) {
  if (!op.goes_on(0, 0)) return per_output(op, rule);
  const double bytes = op.bytes_read() - op.input(0).bytes() + op.input(update).bytes();
  return make_estimate(op, rule, rule.flops * op.input(update).elements(), bytes);
}

Estimate gathered(const OpView& op, const WorkRule& rule) {
  const double indices = op.inputs_read() - op.input(0).bytes();
  // Nothing of the data counts where the result's size is not known: all of it may be a table of which a few
  // rows are read.
  const double elements = known_or(op.output(0).elements(), 0);
  return make_estimate(op, rule, rule.flops * elements, 2 * op.bytes_written() + indices);
}

Estimate einsum(const OpView& op, const WorkRule& rule) {
  return einsum_of(op, rule, 0, op.input_count());
}

Estimate einsum_of(const OpView& op, const WorkRule& rule, std::size_t first, std::size_t count) {
  std::vector<std::vector<double>> dims(count);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const TensorView operand = op.input(first + i);
    if (operand.rank() < 0) return make_estimate(op, rule, kUnknown, 0);
    for (int axis = 0; axis < operand.rank(); ++axis) dims[i].push_back(operand.dim(axis));
  }
  const EinsumWork work = einsum_work(op.text("equation"), dims);
  Estimate estimate = with_products(make_estimate(op, rule, work.flops, all_bytes(op)), work.rows,
                                    work.columns, work.products);
  if (!work.contracts) {
    estimate.work.op_class = dims.size() > 1 ? OpClass::elementwise : OpClass::data_movement;
  }
  return estimate;
}

Estimate drawn(const OpView& op, const WorkRule& rule) {
  constexpr double kSummed = kTranscendentalFlops + 2;  // less the largest, to the power, added up
  const double flops = kSummed * op.input(0).elements() + rule.flops * op.output(0).elements();
  return make_estimate(op, rule, flops, all_bytes(op));
}

Estimate cubic(const OpView& op, const WorkRule& rule) {
  return make_estimate(op, rule, rule.flops * op.input(0).elements() * op.input(0).dim(-1),
                       all_bytes(op));
}

Estimate triangular(const OpView& op, const WorkRule& rule) {
  return make_estimate(op, rule, op.output(0).elements() * op.input(0).dim(-1), all_bytes(op));
}

Estimate suppressed(const OpView& op, const WorkRule& rule) {
  const double scores = op.input(1).elements();
  return make_estimate(op, rule, rule.flops * scores + selection_flops(scores, scores),
                       all_bytes(op));
}

}  // namespace berth::ops::work
