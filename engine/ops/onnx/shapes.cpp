// Shapes asked for and computed with; tensors made from sizes.
#include "ops/onnx/rules.h"

namespace berth::ops::onnx {
namespace {

void shape_of(OpContext& op) {
  std::int64_t count = kUnknownDim;
  if (const Dims* const x = op.shape(0)) {
    const auto rank = static_cast<std::int64_t>(x->size());
    const auto span =
        span_of(rank, op.attributes.integer("start", 0), op.attributes.integer("end", rank), 1);
    if (span) count = span->count;
  }
  op.set(0, kInt64, {count});
}
void fold_shape_of(OpContext& op) {
  const Dims* const dims = op.shape(0);
  if (dims == nullptr) return;
  const auto span = span_of(static_cast<std::int64_t>(dims->size()),
                            op.attributes.integer("start", 0), std::nullopt, 1);
  const std::int64_t count = op.out(0).dim(0);
  Elements elements(/*real=*/false);
  for (std::int64_t i = span->first; i < span->first + count; ++i) {
    const std::int64_t dim = (*dims)[static_cast<std::size_t>(i)];
    elements.append(dim == kUnknownDim ? std::nullopt : std::optional(dim));
  }
  std::move(elements).give(op.out(0));
}

void size_of(OpContext& op) {
  op.set(0, kInt64, {});
}

void range(OpContext& op) {
  std::int64_t count = kUnknownDim;
  const auto start = op.in(0).number(0), limit = op.in(1).number(0), step = op.in(2).number(0);
  if (start && limit && step && *step != 0) count = range_count(*start, *limit, *step);
  op.set(0, op.type_of(0), {count});
}
void fold_range(OpContext& op) {
  fold::range(op, op.in(0), op.in(2));
}

void constant_of_shape(OpContext& op) {
  const bool stated = op.attributes.has("value");
  shaped_by(op, 0, stated ? op.attributes.tensor("value").type : kFloat);
}
void fold_constant_of_shape(OpContext& op) {
  Value value = op.attributes.tensor("value");
  if (!op.attributes.has("value")) {
    value.reals = std::make_shared<const std::vector<double>>(1, 0.0);
  }
  fold::fill(op, value);
}

void non_zero(OpContext& op) {
  const Dims* const from = op.shape(0);
  const std::int64_t axes = from != nullptr ? static_cast<std::int64_t>(from->size()) : kUnknownDim;
  op.set(0, kInt64, {axes, op.chosen(from != nullptr ? product(*from) : kUnknownDim)});
}
void fold_non_zero(OpContext& op) {
  fold::non_zero(op, /*by_rows=*/false);
}

void broadcast_gradient_axes(OpContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) op.set(i, kInt64, {kUnknownDim});
  const auto a = op.integers(0), b = op.integers(1);
  if (!a || !b || a->size() > kMaxRank || b->size() > kMaxRank) return;
  SpreadAxes axes = spread_axes(*a, *b, /*common=*/false);
  op.set(0, {static_cast<std::int64_t>(axes.of_a.size())});
  op.set(1, {static_cast<std::int64_t>(axes.of_b.size())});
  op.set_data(0, std::move(axes.of_a));
  op.set_data(1, std::move(axes.of_b));
}

constexpr Row kOps[] = {
    {"Constant", nullptr, kSource},
    {"ConstantFill", nullptr, writes()},
    {"ConstantOfShape", constant_of_shape, writes(), fold_constant_of_shape},
    {"EyeLike", nullptr, writes()},
    {"Input", nullptr, kSource},
    {"NonZero", non_zero, copies(), fold_non_zero},
    {"Range", range, writes(), fold_range},
    {"Shape", shape_of, kShapes, fold_shape_of},
    {"Size", size_of, kShapes, fold::size_of},
    {"com.microsoft.BroadcastGradientArgs", broadcast_gradient_axes, kShapes},
};

}  // namespace

std::span<const Row> shape_ops() {
  return kOps;
}

}  // namespace berth::ops::onnx
