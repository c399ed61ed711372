// Shapes asked for and computed with; ranges.
#include <algorithm>

#include "ops/tf/rules.h"

namespace berth::ops::tf {
namespace {

void shapes_of(OpContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    op.set(i, {op.in(i).ranked ? op.in(i).rank() : kUnknownDim});
  }
}

void invert_permutation(OpContext& op) {
  rule::like_first(op);
  const std::vector<Number>* order = op.in(0).integers();
  if (order == nullptr) return;
  std::vector<Number> inverse(order->size(), 0);
  for (std::size_t i = 0; i < order->size(); ++i) {
    const Number to = (*order)[i];
    if (to < 0 || to >= static_cast<Number>(order->size())) return;
    inverse[static_cast<std::size_t>(to)] = static_cast<Number>(i);
  }
  op.set_data(0, std::move(inverse));
}

/// axis, then the shapes of the joined: where each begins.
void concat_offset(OpContext& op) {
  const auto axis = op.in(0).element(0);
  Number offset = 0;
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    op.copy_shape(i, op.in(i + 1));
    const Value shape = shape_of_content(op.in(i + 1));
    if (!axis || !shape.ranked) continue;
    const int at = axis_of(*axis, shape.rank());
    if (at < 0) return;
    std::vector<Number> numbers(shape.dims.size(), 0);
    numbers[static_cast<std::size_t>(at)] = offset == kUnknownDim ? Data::kUnknown : offset;
    op.set_data(i, std::move(numbers));
    offset = add_dims(offset, shape.dims[static_cast<std::size_t>(at)]);
  }
}

/// The dimensions over which each of two broadcast shapes was spread. Those of 1 in both are listed
/// too, as summing over them changes nothing, unless the shapes are equal.
void broadcast_gradient_args(OpContext& op) {
  rule::vectors(op);
  const Value a = shape_of_content(op.in(0));
  const Value b = shape_of_content(op.in(1));
  if (!a.fully_known() || !b.fully_known()) return;
  SpreadAxes axes;
  if (a.dims != b.dims) axes = spread_axes(a.dims, b.dims, /*common=*/true);
  op.set(0, {static_cast<Number>(axes.of_a.size())});
  op.set(1, {static_cast<Number>(axes.of_b.size())});
  op.set_data(0, std::move(axes.of_a));
  op.set_data(1, std::move(axes.of_b));
}

void broadcast_args(OpContext& op) {
  op.set(0, {kUnknownDim});
  const Value a = shape_of_content(op.in(0));
  const Value b = shape_of_content(op.in(1));
  Dims dims;
  if (!a.ranked || !b.ranked || !broadcast(a.dims, b.dims, dims)) return;
  op.set(0, {static_cast<Number>(dims.size())});
  std::replace(dims.begin(), dims.end(), kUnknownDim, Data::kUnknown);
  op.set_data(0, std::move(dims));
}

void range(OpContext& op) {
  const auto start = op.in(0).number(0), limit = op.in(1).number(0), delta = op.in(2).number(0);
  op.set(0, {kUnknownDim});
  if (!start || !limit || !delta || *delta == 0) return;
  // TensorFlow's quotient is one of the numbers' own type.
  const bool is_single = op.in(0).type == kFloat;
  const auto single = static_cast<float>(*limit - *start) / static_cast<float>(*delta);
  op.set(0, {is_single ? range_count(0, static_cast<double>(single), 1)
                       : range_count(*start, *limit, *delta)});
}
void fold_range(OpContext& op) {
  fold::range(op, op.in(0), op.in(2));
}

void linspace(OpContext& op) {
  op.set(0, {size_or_unknown(op.in(2))});
}

constexpr Row kOps[] = {
    {"BroadcastArgs", "r0:T=int32", broadcast_args, kShapes},
    {"BroadcastGradientArgs", "r0:T=int32 r1:T=int32", broadcast_gradient_args, kShapes},
    {"ConcatOffset", "offset:shape_type=int32*N", concat_offset, kShapes},
    {"DataFormatDimMap", "y:T=int32", rule::like_first, kShapes},
    {"DataFormatVecPermute", "y:T=int32", rule::like_first, kShapes},
    {"InvertPermutation", "y:T=int32", invert_permutation, kShapes},
    {"LinSpace", "output:T", linspace, writes()},
    {"Range", "output:Tidx=int32", range, writes(), fold_range},
    {"Rank", "output:=int32", rule::scalars, kShapes, fold::rank_of},
    {"Shape", "output:out_type=int32", shapes_of, kShapes, fold::shape_of},
    {"ShapeN", "output:out_type=int32*N", shapes_of, kShapes, fold::shape_of},
    {"Size", "output:out_type=int32", rule::scalars, kShapes, fold::size_of},
};

}  // namespace

std::span<const Row> shape_ops() {
  return kOps;
}

}  // namespace berth::ops::tf
