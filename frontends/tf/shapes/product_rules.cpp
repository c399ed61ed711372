// Matrix products and decompositions, segments, ranges.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>

#include "tf/shapes/op_info.h"

namespace berth::tf_frontend {
namespace {

using Number = std::int64_t;

// --- Matrix products ----------------------------------------------------------------------------

/// The shapes without their last two dimensions broadcast together, then rows and columns.
void matrix_product(ShapeContext& op, bool transpose_a, bool transpose_b) {
  const Value& a = op.in(0);
  const Value& b = op.in(1);
  if (!a.ranked || !b.ranked || a.dims.size() < 2 || b.dims.size() < 2) return;
  Dims dims;
  if (!broadcast(Dims(a.dims.begin(), a.dims.end() - 2), Dims(b.dims.begin(), b.dims.end() - 2),
                 dims)) {
    return;
  }
  dims.push_back(a.dims[a.dims.size() - (transpose_a ? 1 : 2)]);
  dims.push_back(b.dims[b.dims.size() - (transpose_b ? 2 : 1)]);
  op.set(0, std::move(dims));
}
void matmul(ShapeContext& op) {
  const Value& a = op.in(0);
  const Value& b = op.in(1);
  const bool ta = op.attributes.boolean("transpose_a", false);
  const bool tb = op.attributes.boolean("transpose_b", false);
  // Both are matrices, also where the file does not say so.
  op.set(0, {a.dim(ta ? 1 : 0), b.dim(tb ? 0 : 1)});
}
void batch_matmul(ShapeContext& op) {
  matrix_product(op, op.attributes.boolean("adj_x", false), op.attributes.boolean("adj_y", false));
}
/// indices, values, shape of the sparse one; then the dense one.
void sparse_matmul(ShapeContext& op) {
  const Value shape = shape_of_content(op.in(2));
  op.set(0, {shape.dim(op.attributes.boolean("adjoint_a", false) ? 1 : 0),
             op.in(3).dim(op.attributes.boolean("adjoint_b", false) ? 0 : 1)});
}

void einsum(ShapeContext& op) {
  const std::string_view equation = op.attributes.text("equation");
  const std::size_t arrow = equation.find("->");
  if (arrow == std::string_view::npos || equation.find('.') != std::string_view::npos) return;
  Dims size(256, kUnknownDim);
  std::size_t input = 0, axis = 0;
  for (std::size_t i = 0; i < arrow; ++i) {
    if (equation[i] == ',') {
      ++input;
      axis = 0;
    } else if (equation[i] != ' ') {
      const std::int64_t dim = op.in(input).dim(axis++);
      std::int64_t& known = size[static_cast<unsigned char>(equation[i])];
      if (known == kUnknownDim || known == 1) known = dim;
    }
  }
  Dims dims;
  for (const char label : equation.substr(arrow + 2)) {
    if (label != ' ') dims.push_back(size[static_cast<unsigned char>(label)]);
  }
  op.set(0, std::move(dims));
}

// --- Segments and ranges ------------------------------------------------------------------------

/// data, segment ids, number of segments.
void unsorted_segment(ShapeContext& op) {
  const Value& data = op.in(0);
  const Value& ids = op.in(1);
  if (!data.ranked || !ids.ranked || ids.dims.size() > data.dims.size()) return;
  Dims dims{op.in(2).element(0).value_or(kUnknownDim)};
  if (dims[0] < 0) dims[0] = kUnknownDim;
  dims.insert(dims.end(), data.dims.begin() + ids.rank(), data.dims.end());
  op.set(0, std::move(dims));
}
/// The first dimension becomes the number of segments, of which input `count` may tell.
void segments(ShapeContext& op, std::size_t count) {
  if (!op.in(0).ranked || op.in(0).dims.empty()) return;
  Dims dims = op.in(0).dims;
  dims[0] = op.in(count).element(0).value_or(kUnknownDim);
  if (dims[0] < 0) dims[0] = kUnknownDim;
  op.set(0, std::move(dims));
}
constexpr std::size_t kNoInput = std::numeric_limits<std::size_t>::max();
void segment(ShapeContext& op) {
  segments(op, kNoInput);
}
/// data, indices, ids, number of rows.
void segment_counted(ShapeContext& op) {
  segments(op, 3);
}

void range(ShapeContext& op) {
  const auto start = op.in(0).element(0);
  const auto limit = op.in(1).element(0);
  const auto delta = op.in(2).element(0);
  op.set(0, {kUnknownDim});
  if (!start || !limit || !delta || *delta == 0) return;
  // Small enough for differences: a range of more elements is none.
  for (const Number n : {*start, *limit, *delta}) {
    if (n < -kMaxDim || n > kMaxDim) return;
  }
  const Number distance = *limit - *start;
  Number count = 0;
  if ((distance > 0) == (*delta > 0)) count = (distance + *delta - (*delta > 0 ? 1 : -1)) / *delta;
  op.set(0, {count});
  if (count > static_cast<Number>(Data::kMaxElements)) return;
  std::vector<Number> numbers;
  for (Number i = 0; i < count; ++i) numbers.push_back(*start + i * *delta);
  op.set_data(0, std::move(numbers));
}

void linspace(ShapeContext& op) {
  const Number count = op.in(2).element(0).value_or(kUnknownDim);
  op.set(0, {count < 0 ? kUnknownDim : count});
}

/// value, start, limit: the shape with one dimension of bins.
void histogram(ShapeContext& op) {
  const Number count = op.in(2).element(0).value_or(kUnknownDim);
  op.set(0, {count < 0 ? kUnknownDim : count});
}

/// The dimensions over which each of two broadcast shapes was spread.
void broadcast_gradient_args(ShapeContext& op) {
  rule::vectors(op);
  const Value a = shape_of_content(op.in(0));
  const Value b = shape_of_content(op.in(1));
  if (!a.fully_known() || !b.fully_known()) return;
  const std::size_t rank = std::max(a.dims.size(), b.dims.size());
  std::vector<Number> spread_a, spread_b;
  for (std::size_t i = 0; i < rank; ++i) {
    const auto dim = [&](const Value& v) {
      const std::size_t missing = rank - v.dims.size();
      return i < missing ? Number{1} : v.dims[i - missing];
    };
    const Number x = dim(a), y = dim(b);
    if (x == 1) spread_a.push_back(static_cast<Number>(i));
    if (y == 1) spread_b.push_back(static_cast<Number>(i));
  }
  // Where both are 1 nothing is summed, unless one of them lacks the dimension: summing over a
  // dimension of 1 changes nothing, and TensorFlow lists it for both.
  if (a.dims == b.dims) {
    spread_a.clear();
    spread_b.clear();
  }
  op.set(0, {static_cast<Number>(spread_a.size())});
  op.set(1, {static_cast<Number>(spread_b.size())});
  op.set_data(0, std::move(spread_a));
  op.set_data(1, std::move(spread_b));
}

void broadcast_args(ShapeContext& op) {
  op.set(0, {kUnknownDim});
  const Value a = shape_of_content(op.in(0));
  const Value b = shape_of_content(op.in(1));
  Dims dims;
  if (!a.ranked || !b.ranked || !broadcast(a.dims, b.dims, dims)) return;
  op.set(0, {static_cast<Number>(dims.size())});
  for (Number& dim : dims) dim = dim == kUnknownDim ? Data::kUnknown : dim;
  op.set_data(0, std::move(dims));
}

// --- Linear algebra -----------------------------------------------------------------------------

void matrix_determinant(ShapeContext& op) {
  if (!op.in(0).ranked || op.in(0).dims.size() < 2) return;
  const Dims batch(op.in(0).dims.begin(), op.in(0).dims.end() - 2);
  for (std::size_t i = 0; i < op.output_count(); ++i) op.set(i, batch);
}

/// input [.., m, n]: q [.., m, p] and r [.., p, n], p the smaller.
void qr(ShapeContext& op) {
  const Value& input = op.in(0);
  if (!input.ranked || input.dims.size() < 2) return;
  const Number m = input.dims[input.dims.size() - 2];
  const Number n = input.dims.back();
  const Number p = m < 0 || n < 0 ? kUnknownDim : std::min(m, n);
  const bool full = op.attributes.boolean("full_matrices", false);
  Dims q = input.dims, r = input.dims;
  q.back() = full ? m : p;
  r[r.size() - 2] = full ? m : p;
  op.set(0, std::move(q));
  op.set(1, std::move(r));
}

constexpr OpRow kOps[] = {
    {"BatchMatMul", "output:T", batch_matmul},
    {"BatchMatMulV2", "output:T", batch_matmul},
    {"BatchMatMulV3", "output:Tout", batch_matmul},
    {"BroadcastArgs", "r0:T", broadcast_args},
    {"BroadcastGradientArgs", "r0:T r1:T", broadcast_gradient_args},
    {"Einsum", "output:T", einsum},
    {"HistogramFixedWidth", "out:dtype", histogram},
    {"LinSpace", "output:T", linspace},
    {"LogMatrixDeterminant", "sign:T log_abs_determinant:T", matrix_determinant},
    {"MatMul", "product:T", matmul},
    {"MatrixDeterminant", "output:T", matrix_determinant},
    {"Qr", "q:T r:T", qr},
    {"Range", "output:Tidx", range},
    {"SegmentMax", "output:T", segment},
    {"SegmentMean", "output:T", segment},
    {"SegmentMin", "output:T", segment},
    {"SegmentProd", "output:T", segment},
    {"SegmentSum", "output:T", segment},
    {"SparseMatMul", "product:=float", matmul},
    {"SparseSegmentMean", "output:T", segment},
    {"SparseSegmentMeanGrad", "output:T", segment_counted},
    {"SparseSegmentMeanWithNumSegments", "output:T", segment_counted},
    {"SparseSegmentSqrtN", "output:T", segment},
    {"SparseSegmentSqrtNGrad", "output:T", segment_counted},
    {"SparseSegmentSqrtNWithNumSegments", "output:T", segment_counted},
    {"SparseSegmentSum", "output:T", segment},
    {"SparseSegmentSumGrad", "output:T", segment_counted},
    {"SparseSegmentSumWithNumSegments", "output:T", segment_counted},
    {"SparseTensorDenseMatMul", "product:T", sparse_matmul},
    {"UnsortedSegmentMax", "output:T", unsorted_segment},
    {"UnsortedSegmentMin", "output:T", unsorted_segment},
    {"UnsortedSegmentProd", "output:T", unsorted_segment},
    {"UnsortedSegmentSum", "output:T", unsorted_segment},
};

}  // namespace

std::span<const OpRow> product_ops() {
  return kOps;
}

}  // namespace berth::tf_frontend
