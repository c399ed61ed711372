#include "costs/tf_rules.h"

#include <algorithm>
#include <cmath>

#include "costs/formulas.h"

namespace berth::costs::tf {

// --- convolutions
// ------------------------------------------------------------------------------------

namespace {

/// Each of `points` is multiplied with `taps` weights.
Estimate products(const OpView& op, const WorkRule& rule, double points, double taps) {
  return make_estimate(op, rule, convolution_flops(points, taps, /*bias=*/false), all_bytes(op));
}

/// Weights behind one output of a convolution.
double taps_of(const TensorView& filter) {
  return filter.elements(0, -1);
}
double depthwise_taps_of(const TensorView& filter) {
  return filter.elements(0, -2);
}

}  // namespace

Estimate convolution(const OpView& op, const WorkRule& rule) {
  return products(op, rule, op.output(0).elements(), taps_of(op.input(1)));
}
Estimate depthwise_convolution(const OpView& op, const WorkRule& rule) {
  return products(op, rule, op.output(0).elements(), depthwise_taps_of(op.input(1)));
}
Estimate input_gradient(const OpView& op, const WorkRule& rule) {
  return products(op, rule, op.input(2).elements(), taps_of(op.input(1)));
}
Estimate filter_gradient(const OpView& op, const WorkRule& rule) {
  return products(op, rule, op.input(2).elements(), taps_of(op.output(0)));
}
Estimate depthwise_input_gradient(const OpView& op, const WorkRule& rule) {
  return products(op, rule, op.input(2).elements(), depthwise_taps_of(op.input(1)));
}
Estimate depthwise_filter_gradient(const OpView& op, const WorkRule& rule) {
  return products(op, rule, op.input(2).elements(), depthwise_taps_of(op.output(0)));
}

// --- matrix products
// ---------------------------------------------------------------------------------

Estimate matmul(const OpView& op, const WorkRule& rule) {
  const bool transposed = op.integer("transpose_a", op.integer("adj_x", 0)) != 0;
  const double inner = op.input(0).dim(transposed ? -2 : -1);
  return make_estimate(op, rule, matmul_flops(op.output(0).elements(), inner, /*bias=*/false),
                       all_bytes(op));
}

Estimate sparse_matmul(const OpView& op, const WorkRule& rule) {
  const double columns = op.output(0).dim(1);
  return make_estimate(op, rule, 2 * op.input(1).elements() * columns, all_bytes(op));
}

// --- recurrent
// ---------------------------------------------------------------------------------------

namespace {

/// Every row of a batch, at every step, passes through all weights; the activations are under 1 %.
Estimate through_weights(const OpView& op, const WorkRule& rule, double rows, double weights) {
  return make_estimate(op, rule, rule.flops * 2 * rows * weights, all_bytes(op));
}

}  // namespace

Estimate cell(const OpView& op, const WorkRule& rule) {
  return through_weights(op, rule, op.input(0).dim(0), op.input(3).elements());
}
Estimate gru_cell(const OpView& op, const WorkRule& rule) {
  return through_weights(op, rule, op.input(0).dim(0),
                         op.input(2).elements() + op.input(3).elements());
}
Estimate block(const OpView& op, const WorkRule& rule) {
  return through_weights(op, rule, op.input(1).dim(0) * op.input(1).dim(1), op.input(4).elements());
}
Estimate fused_sequence(const OpView& op, const WorkRule& rule) {
  return through_weights(op, rule, op.input(0).dim(0) * op.input(0).dim(1), op.input(3).elements());
}

// --- variables
// ---------------------------------------------------------------------------------------

namespace {

double element_bytes(DType dtype) {
  const int bits = dtype_bits(dtype);
  return bits > 0 ? bits / 8.0 : 4.0;
}

bool is_index(const TensorView& tensor) {
  return (tensor.dtype() == DType::i32 || tensor.dtype() == DType::i64) && tensor.rank() == 1;
}

/// References to variables and handles have no bytes of their own. The bytes touched are counted
/// from the elements of the gradient.
Estimate update_of(const OpView& op, const WorkRule& rule, const TensorView& gradient, int slots) {
  const double elements = gradient.elements();
  const double touched = 1 + 2.0 * (1 + slots);
  Estimate estimate = make_estimate(op, rule, rule.flops * elements,
                                    touched * elements * element_bytes(gradient.dtype()));
  estimate.work.dtype = gradient.dtype() == DType::unknown ? DType::f32 : gradient.dtype();
  return estimate;
}

/// The input with most elements: the gradient, or a variable of its shape.
TensorView largest_input(const OpView& op) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < op.input_count(); ++i) {
    const bool known = !std::isnan(op.input(i).elements());
    if (known && !(op.input(best).elements() >= op.input(i).elements())) best = i;
  }
  return op.input(best);
}

/// The input before the indices.
TensorView rows_updated(const OpView& op) {
  for (std::size_t i = 1; i < op.input_count(); ++i) {
    if (is_index(op.input(i))) return op.input(i - 1);
  }
  return largest_input(op);
}

}  // namespace

template <int slots>
Estimate optimizer(const OpView& op, const WorkRule& rule) {
  return update_of(op, rule, largest_input(op), slots);
}
template <int slots>
Estimate sparse_optimizer(const OpView& op, const WorkRule& rule) {
  return update_of(op, rule, rows_updated(op), slots);
}
template EstimateFunction optimizer<0>;
template EstimateFunction optimizer<1>;
template EstimateFunction optimizer<2>;
template EstimateFunction optimizer<3>;
template EstimateFunction sparse_optimizer<0>;
template EstimateFunction sparse_optimizer<1>;
template EstimateFunction sparse_optimizer<2>;
template EstimateFunction sparse_optimizer<3>;

Estimate assignment(const OpView& op, const WorkRule& rule) {
  const TensorView value = op.input(1);
  // An update in place reads the variable too.
  const double times = rule.flops > 0 ? 3 : 2;
  return make_estimate(op, rule, rule.flops * value.elements(),
                       times * value.elements() * element_bytes(value.dtype()));
}

Estimate scatter(const OpView& op, const WorkRule& rule) {
  const TensorView updates = op.input(2);
  return make_estimate(op, rule, rule.flops * updates.elements(),
                       3 * updates.bytes() + op.input(1).bytes());
}

// --- others
// ------------------------------------------------------------------------------------------

Estimate pooling(const OpView& op, const WorkRule& rule) {
  double window = 1;
  for (const std::int64_t size : op.integers("ksize")) window *= static_cast<double>(size);
  return make_estimate(op, rule, rule.flops * window * op.output(0).elements(), all_bytes(op));
}

Estimate batch_norm(const OpView& op, const WorkRule& rule) {
  constexpr double kInference = 2;
  const bool training = op.integer("is_training", 1) != 0;
  return make_estimate(op, rule, (training ? rule.flops : kInference) * op.output(0).elements(),
                       all_bytes(op));
}

Estimate selection(const OpView& op, const WorkRule& rule) {
  return make_estimate(op, rule, selection_flops(op.input(0).elements(), op.output(0).dim(-1)),
                       all_bytes(op));
}

}  // namespace berth::costs::tf
