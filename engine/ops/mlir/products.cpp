// Matrix products of MLIR's dialects, and transforms.
#include <algorithm>
#include <cmath>

#include "ops/formulas.h"
#include "ops/mlir/rules.h"

namespace berth::ops::mlir {
namespace {

/// Matrices on the right. One takes all rows of the left at once.
double batches_of(const TensorView& right) {
  return right.rank() <= 2 ? 1 : right.elements(0, -2);
}

double elements_along(const TensorView& tensor, std::span<const std::int64_t> dims) {
  double count = 1;
  for (const std::int64_t dim : dims) count *= tensor.dim(static_cast<int>(dim));
  return count;
}

/// `real`: the side with the points. A transform of real numbers has half the work.
Estimate transform(const OpView& op, const WorkRule& rule, double points, bool real) {
  const double elements = std::max(op.input(0).elements(), op.output(0).elements());
  return work::make_estimate(op, rule, fourier_flops(elements, points) / (real ? 2 : 1),
                             work::all_bytes(op));
}
bool is_complex(const TensorView& tensor) {
  return tensor.dtype() == DType::c64 || tensor.dtype() == DType::c128;
}

}  // namespace

Estimate product(const OpView& op, const WorkRule& rule, double inner, std::size_t right,
                 double batches) {
  const double results = result_of(op).elements();
  const double columns = op.input(right).elements() / (inner * batches);
  return work::with_products(
      work::make_estimate(op, rule, matmul_flops(results, inner, false), moved_bytes(op)),
      results / (columns * batches), columns, batches);
}

Estimate matmul(const OpView& op, const WorkRule& rule) {
  const double inner = known_or(number(op, "inner"), op.input(0).dim(-1));
  return product(op, rule, inner, 1, batches_of(op.input(1)));
}

Estimate matmul_transposed(const OpView& op, const WorkRule& rule) {
  return product(op, rule, op.input(0).dim(-2), 1, batches_of(op.input(1)));
}

Estimate batched_vectors(const OpView& op, const WorkRule& rule) {
  return product(op, rule, op.input(0).dim(-1), 1, op.input(0).dim(0));
}

Estimate dot_general(const OpView& op, const WorkRule& rule) {
  const auto contracting = op.integers("contracting");
  const TensorView left = op.input(0);
  const double batches = elements_along(left, op.integers("batching"));
  double inner = elements_along(left, contracting);
  if (contracting.empty()) {
    // None, or not readable. Each batch has (m k) (k n) / (m n) elements: k twice.
    const double b = op.input(1).elements();
    inner = std::sqrt(left.elements() * b / (op.output(0).elements() * batches));
  }
  return product(op, rule, inner, 1, batches);
}

Estimate ragged_dot(const OpView& op, const WorkRule& rule) {
  const TensorView left = op.input(0);
  const double groups = op.input(2).dim(-1);
  const double inner = elements_along(left, op.integers("contracting"));
  const double batches = elements_along(left, op.integers("batching"));
  return product(op, rule, number(op, "ragged_inner") == 1 ? inner / groups : inner, 1,
                 groups * batches);
}

Estimate einsum(const OpView& op, const WorkRule& rule) {
  return op.text("equation").empty() ? dot_general(op, rule) : work::einsum(op, rule);
}

Estimate contraction(const OpView& op, const WorkRule& rule) {
  if (std::isnan(number(op, "inner"))) return with_body(op, rule);
  return work::make_estimate(op, rule,
                             matmul_flops(result_of(op).elements(), number(op, "inner"), false),
                             moved_bytes(op));
}

Estimate tiled_matmul(const OpView& op, const WorkRule& rule) {
  const TensorView left = op.input(0), right = op.input(1);
  const double results = result_of(op).elements();
  const double inner = left.dim(-3) * left.dim(-1);
  const double rows = left.dim(-4) * left.dim(-2), columns = right.dim(-4) * right.dim(-2);
  return work::with_products(
      work::make_estimate(op, rule, matmul_flops(results, inner, false), moved_bytes(op)), rows,
      columns, results / (rows * columns));
}

Estimate reduced_matmul(const OpView& op, const WorkRule& rule) {
  const double inner = known_or(number(op, "inner"), op.input(0).dim(0) * op.input(0).dim(-1));
  return product(op, rule, inner, 1, 1);
}

Estimate fourier(const OpView& op, const WorkRule& rule) {
  const bool inverse = is_complex(op.input(0));
  const bool real = inverse != is_complex(op.output(0));
  const TensorView whole = real && inverse ? op.output(0) : op.input(0);
  const auto lengths = static_cast<int>(std::max<std::size_t>(1, op.integers("fft_length").size()));
  return transform(op, rule, whole.elements(-lengths, TensorView::kEnd), real);
}

Estimate image_fourier(const OpView& op, const WorkRule& rule) {
  const bool real = !op.input(1).present();
  return transform(op, rule, op.input(0).elements(-2, TensorView::kEnd), real);
}

}  // namespace berth::ops::mlir
