// Sparse tensors: indices [n, rank], values [n], shape [rank].
#include <algorithm>
#include <set>
#include <string_view>

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
/// The indices and values of both.
void sparse_union(OpContext& op) {
  op.set(0, {kUnknownDim, op.in(0).dim(1)});
  op.set(1, {kUnknownDim});
}
/// gradient, indices of both operands.
void sparse_add_gradient(OpContext& op) {
  op.set(0, {op.in(1).dim(0)});
  op.set(1, {op.in(2).dim(0)});
}
/// gradient, indices.
void sparse_slice_gradient(OpContext& op) {
  op.set(0, {op.in(1).dim(0)});
}
void like_last(OpContext& op) {
  op.copy_shape(0, op.in(op.input_count() - 1));
}

// --- Sets: the rows of the last dimension ---------------------------------------------------------

/// Elements of one set made of two.
Number combined(const std::string_view operation, const std::set<Number>& a,
                const std::set<Number>& b) {
  Number common = 0;
  for (const Number each : a) common += static_cast<Number>(b.count(each));
  const auto in_a = static_cast<Number>(a.size()), in_b = static_cast<Number>(b.size());
  if (operation == "a-b") return in_a - common;
  if (operation == "b-a") return in_b - common;
  return operation == "intersection" ? common : in_a + in_b - common;
}

/// At most so many elements in all, where contents decide.
Number most_combined(const OpContext& op, const std::string_view operation) {
  const auto count = [&](std::size_t i) {
    return op.in(i).ranked ? product(op.in(i).dims) : kUnknownDim;
  };
  const Number a = count(0), b = count(1);
  if (operation == "a-b") return a;
  if (operation == "b-a") return b;
  if (operation == "union") return add_dims(a, b);
  return a == kUnknownDim || b == kUnknownDim ? std::max(a, b) : std::min(a, b);
}

void set_operation(OpContext& op) {
  const std::string_view operation = op.attributes.text("set_operation", "");
  const Value& shaped = op.in(op.in(0).ranked ? 0 : 1);
  const Number rank = shaped.ranked ? shaped.rank() : kUnknownDim;
  const std::vector<Number>* const a = op.in(0).integers();
  const std::vector<Number>* const b = op.in(1).integers();
  const bool one_row = rank > 0 && product(shaped.dims, 0, shaped.dims.size() - 1) == 1;
  const bool known = one_row && a != nullptr && b != nullptr;
  const Number count = known ? combined(operation, {a->begin(), a->end()}, {b->begin(), b->end()})
                             : op.chosen(most_combined(op, operation));
  give_sparse(op, 0, count, rank);
}

// --- Ragged tensors: splits of rows, level by level, then values --------------------------------

/// splits.., values, indices: the first level of splits is known.
void ragged_gather(OpContext& op) {
  if (op.input_count() < 2 || op.output_count() < 1) return;
  const Value& values = op.in(op.input_count() - 2);
  for (std::size_t i = 0; i + 1 < op.output_count(); ++i) op.set(i, {kUnknownDim});
  const Number picked = product(op.in(op.input_count() - 1).dims);
  if (op.in(op.input_count() - 1).ranked) op.set(0, {add_dims(picked, 1)});
  if (!values.ranked || values.dims.empty()) return;
  Dims dims = values.dims;
  dims[0] = kUnknownDim;
  op.set(op.output_count() - 1, std::move(dims));
}
/// starts, limits, deltas: scalars or a vector each.
void ragged_range(OpContext& op) {
  Number rows = 1;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    if (op.in(i).rank() == 1) rows = op.in(i).dim(0);
  }
  op.set(0, {add_dims(rows, 1)});
  op.set(1, {kUnknownDim});
}
/// splits.., values.
void ragged_to_sparse(OpContext& op) {
  const Value& values = op.in(op.input_count() - 1);
  const Number rank =
      values.ranked ? values.rank() + static_cast<Number>(op.input_count()) - 1 : kUnknownDim;
  const Number count = values.ranked ? product(values.dims) : kUnknownDim;
  give_sparse(op, 0, count, rank);
}
/// A dimension for each partition, then those of a value. The number of rows is a partition of its own
/// (a scalar) where the first level has ids of rows and no splits.
int rank_of_ragged(OpContext& op) {
  const Value& first = op.in(3);
  if (!first.ranked || !op.in(1).ranked) return -1;
  const int partitions = static_cast<int>(op.input_count()) - 3;
  return partitions - (first.rank() == 0 ? 1 : 0) + op.in(1).rank();
}
/// shape, values, default, partitions..: where the shape says nothing, the longest row decides.
void ragged_to_tensor(OpContext& op) {
  Value shape = shape_of_content(op.in(0));
  const int rank = rank_of_ragged(op);
  if (!shape.ranked && rank >= 0 && rank <= static_cast<int>(kMaxRank)) {
    shape.set_shape(Dims(static_cast<std::size_t>(rank), kUnknownDim));
  }
  if (!shape.ranked) return;
  Dims dims = shape.dims;
  // The first partition is the number of rows, or their splits.
  if (!dims.empty() && dims[0] == kUnknownDim) {
    const Value& rows = op.in(3);
    if (rows.rank() == 0) dims[0] = size_or_unknown(rows);
    if (rows.rank() == 1 && rows.dim(0) > 0) dims[0] = rows.dim(0) - 1;
  }
  const Dims* const values = op.shape(1);
  for (std::size_t i = 1; values != nullptr && i < std::min(values->size(), dims.size()); ++i) {
    Number& dim = dims[dims.size() - i];
    if (dim == kUnknownDim) dim = (*values)[values->size() - i];
  }
  op.set(0, std::move(dims));
}

/// As many operations as there are values, which is input 1.
Estimate per_value(const OpView& op, const WorkRule& rule) {
  return work::make_estimate(op, rule, rule.flops * op.input(1).elements(), work::all_bytes(op));
}
constexpr WorkRule per_value_of(OpClass op_class, double flops) {
  return {per_value, op_class, flops};
}

/// indices, values, shape, dense: only the entries' elements of the dense tensor are read.
Estimate on_entries(const OpView& op, const WorkRule& rule) {
  const double bytes = op.bytes_read() - op.input(3).bytes() + 2 * op.bytes_written();
  return work::make_estimate(op, rule, rule.flops * known_or(op.output(0).elements(), 0), bytes);
}
constexpr WorkRule kOnEntries{on_entries, OpClass::elementwise, 1};

constexpr WorkRule kSparseSoftmax = per_value_of(OpClass::reduction, kTranscendentalFlops + 4);

constexpr Row kOps[] = {
    {"DenseToDenseSetOperation", "result_indices:=int64 result_values:T result_shape:=int64",
     set_operation, copies(1)},
    {"DenseToSparseSetOperation", "result_indices:=int64 result_values:T result_shape:=int64",
     nullptr},
    {"RaggedFillEmptyRows",
     "output_value_rowids:=int64 output_values:T empty_row_indicator:=bool "
     "reverse_index_map:=int64",
     rule::vectors, copies()},
    {"RaggedGather",
     "output_nested_splits:Tsplits=int64*OUTPUT_RAGGED_RANK output_dense_values:Tvalues",
     ragged_gather, copies()},
    {"RaggedRange", "rt_nested_splits:Tsplits=int64 rt_dense_values:T=int32", ragged_range,
     writes()},
    {"RaggedTensorFromVariant",
     "output_nested_splits:Tsplits=int64*output_ragged_rank output_dense_values:Tvalues", nullptr,
     copies()},
    {"RaggedTensorToSparse", "sparse_indices:=int64 sparse_values:T sparse_dense_shape:=int64",
     ragged_to_sparse, copies()},
    {"RaggedTensorToTensor", "result:T", ragged_to_tensor, copies()},
    {"RaggedTensorToVariant", "encoded_ragged:=variant", nullptr, copies()},
    {"SparseAdd", "sum_indices:=int64 sum_values:T sum_shape:=int64", sparse_pair, copies()},
    {"SparseAddGrad", "a_val_grad:T b_val_grad:T", sparse_add_gradient, copies()},
    {"SparseConcat", "output_indices:=int64 output_values:T output_shape:=int64", sparse_concat,
     copies()},
    {"SparseCross", "output_indices:=int64 output_values:out_type output_shape:=int64", nullptr},
    {"SparseDenseCwiseAdd", "output:T", rule::like_second, kOnEntries},
    {"SparseDenseCwiseDiv", "output:T", rule::like_second, kOnEntries},
    {"SparseDenseCwiseMul", "output:T", rule::like_second, kOnEntries},
    {"SparseFillEmptyRows",
     "output_indices:=int64 output_values:T empty_row_indicator:=bool reverse_index_map:=int64",
     sparse_fill_empty_rows, copies()},
    {"SparseFillEmptyRowsGrad", "d_values:T d_default_value:T", sparse_fill_empty_rows_gradient,
     copies()},
    {"SparseReduceMax", "output:T", sparse_reduce, per_value_of(OpClass::reduction, 1)},
    {"SparseReduceSum", "output:T", sparse_reduce, per_value_of(OpClass::reduction, 1)},
    {"SparseReorder", "output_indices:=int64 output_values:T", sparse_reorder, copies()},
    {"SparseReshape", "output_indices:=int64 output_shape:=int64", sparse_reshape, copies()},
    {"SparseSlice", "output_indices:=int64 output_values:T output_shape:=int64", nullptr},
    {"SparseSliceGrad", "val_grad:T", sparse_slice_gradient, copies()},
    {"SparseSoftmax", "output:T", rule::like_second, kSparseSoftmax},
    {"SparseSparseMaximum", "output_indices:=int64 output_values:T", sparse_union, copies(1)},
    {"SparseSparseMinimum", "output_indices:=int64 output_values:T", sparse_union, copies(1)},
    {"SparseSplit",
     "output_indices:=int64*num_split output_values:T*num_split output_shape:=int64*num_split",
     sparse_split, copies()},
    {"SparseTensorDenseAdd", "output:T", like_last, copies(1)},
    {"SparseTensorToCSRSparseMatrix", "sparse_matrix:=variant", nullptr, copies()},
    {"SparseToDense", "dense:T", rule::shape_from_second, copies()},
};

}  // namespace

std::span<const Row> sparse_ops() {
  return kOps;
}

}  // namespace berth::ops::tf
