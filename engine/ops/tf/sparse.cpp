// Sparse tensors: indices [n, rank], values [n], shape [rank].
#include "ops/formulas.h"
#include "ops/tf/rules.h"

namespace berth::ops::tf {
namespace {

void give_sparse(OpContext& op, std::size_t first, Number count, Number rank) {
  op.set(first, {count, rank});
  op.set(first + 1, {count});
  op.set(first + 2, {rank});
}
/// indices, shape, new shape.
void sparse_reshape(OpContext& op) {
  op.set(0, {op.in(0).dim(0), op.in(2).dim(0)});
  op.copy_shape(1, op.in(2));
}
/// indices, values, shape, default: at least one row each.
void sparse_fill_empty_rows(OpContext& op) {
  op.set(0, {kUnknownDim, op.in(0).dim(1)});
  op.set(1, {kUnknownDim});
  op.set(2, {shape_of_content(op.in(2)).dim(0)});
  op.copy_shape(3, op.in(1));
}
void sparse_fill_empty_rows_gradient(OpContext& op) {
  op.copy_shape(0, op.in(0));
  op.set(1, {});
}
/// Two sparse tensors of one rank.
void sparse_pair(OpContext& op) {
  give_sparse(op, 0, kUnknownDim, op.in(0).dim(1));
}
void sparse_reorder(OpContext& op) {
  op.copy_shape(0, op.in(0));
  op.copy_shape(1, op.in(1));
}
void sparse_concat(OpContext& op) {
  give_sparse(op, 0, kUnknownDim, op.in(0).dim(1));
}
/// axis, indices, values, shape.
void sparse_split(OpContext& op) {
  const std::size_t parts = op.output_count() / 3;
  for (std::size_t i = 0; i < parts; ++i) {
    op.set(i, {kUnknownDim, op.in(1).dim(1)});
    op.set(parts + i, {kUnknownDim});
    op.copy_shape(2 * parts + i, op.in(3));
  }
}

void sparse_reduce(OpContext& op) {
  const Value& shape = op.in(2);
  if (const auto dims = shape_of_content(shape); dims.ranked) {
    const std::vector<Number>* axes = op.in(3).integers();
    const auto marked = axes != nullptr ? marked_axes(*axes, dims.dims.size()) : std::nullopt;
    if (marked) op.set(0, reduced(dims.dims, *marked, op.attributes.boolean("keep_dims", false)));
  }
}
/// As many operations as there are values, which is input 1.
Estimate per_value(const OpView& op, const WorkRule& rule) {
  return work::make_estimate(op, rule, rule.flops * op.input(1).elements(), work::all_bytes(op));
}
constexpr WorkRule per_value_of(OpClass op_class, double flops) {
  return {per_value, op_class, flops};
}

constexpr WorkRule kSparseSoftmax = per_value_of(OpClass::reduction, kTranscendentalFlops + 4);

constexpr Row kOps[] = {
    {"DenseToDenseSetOperation", "result_indices:=int64 result_values:T result_shape:=int64",
     nullptr},
    {"DenseToSparseSetOperation", "result_indices:=int64 result_values:T result_shape:=int64",
     nullptr},
    {"RaggedGather", "output_nested_splits:Tsplits*OUTPUT_RAGGED_RANK output_dense_values:Tvalues",
     nullptr},
    {"RaggedRange", "rt_nested_splits:Tsplits rt_dense_values:T", nullptr},
    {"RaggedTensorToSparse", "sparse_indices:=int64 sparse_values:T sparse_dense_shape:=int64",
     nullptr},
    {"RaggedTensorToTensor", "result:T", nullptr},
    {"SparseAdd", "sum_indices:=int64 sum_values:T sum_shape:=int64", sparse_pair, copies()},
    {"SparseConcat", "output_indices:=int64 output_values:T output_shape:=int64", sparse_concat,
     copies()},
    {"SparseCross", "output_indices:=int64 output_values:out_type output_shape:=int64", nullptr},
    {"SparseFillEmptyRows",
     "output_indices:=int64 output_values:T empty_row_indicator:=bool reverse_index_map:=int64",
     sparse_fill_empty_rows, copies()},
    {"SparseFillEmptyRowsGrad", "d_values:T d_default_value:T", sparse_fill_empty_rows_gradient,
     copies()},
    {"SparseReduceSum", "output:T", sparse_reduce, per_value_of(OpClass::reduction, 1)},
    {"SparseReorder", "output_indices:=int64 output_values:T", sparse_reorder, copies()},
    {"SparseReshape", "output_indices:=int64 output_shape:=int64", sparse_reshape, copies()},
    {"SparseSlice", "output_indices:=int64 output_values:T output_shape:=int64", nullptr},
    {"SparseSoftmax", "output:T", rule::like_first, kSparseSoftmax},
    {"SparseSplit",
     "output_indices:=int64*num_split output_values:T*num_split output_shape:=int64*num_split",
     sparse_split, copies()},
    {"SparseTensorToCSRSparseMatrix", "sparse_matrix:=variant", nullptr, copies()},
    {"SparseToDense", "dense:T", rule::shape_from_second, copies()},
};

}  // namespace

std::span<const Row> sparse_ops() {
  return kOps;
}

}  // namespace berth::ops::tf
