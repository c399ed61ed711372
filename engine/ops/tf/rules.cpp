#include "ops/tf/rules.h"

#include <algorithm>

namespace berth::ops::tf {
namespace rule {

void none(OpContext& /*op*/) {}

void scalars(OpContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) op.set(i, {});
}

void like_first(OpContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) op.copy_shape(i, op.in(0));
}

void like_second(OpContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) op.copy_shape(i, op.in(1));
}

void identity(OpContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) op.pass(i, op.in(i));
}

void broadcast_all(OpContext& op) {
  Dims dims;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    if (!op.in(i).ranked || !broadcast(dims, op.in(i).dims, dims)) return;
  }
  op.set(0, std::move(dims));
}

void vectors(OpContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) op.set(i, {kUnknownDim});
}

void shape_from_first(OpContext& op) {
  op.copy_shape(0, shape_of_content(op.in(0)));
}

void shape_from_second(OpContext& op) {
  op.copy_shape(0, shape_of_content(op.in(1)));
}

void shape_attribute(OpContext& op) {
  Value shape;
  if (op.attributes.shape("shape", shape)) op.copy_shape(0, shape);
}

void listed_shapes(OpContext& op) {
  const std::vector<Value> shapes = op.attributes.shapes("output_shapes");
  for (std::size_t i = 0; i < op.output_count() && i < shapes.size(); ++i) {
    op.copy_shape(i, shapes[i]);
  }
}

}  // namespace rule

int axis_of(std::int64_t axis, int rank) noexcept {
  const auto at = rank < 0 ? std::nullopt : normal_axis(axis, static_cast<std::size_t>(rank));
  return at ? static_cast<int>(*at) : -1;
}

Number size_or_unknown(const Value& scalar) noexcept {
  return dim_of_element(scalar, 0);
}

std::vector<Number> small_integers(const Attributes& attributes, std::string_view key) {
  constexpr Number kMost = Number{1} << 31;
  std::vector<Number> numbers = attributes.integers(key);
  for (Number& n : numbers) n = std::clamp(n, -kMost, kMost);
  return numbers;
}

}  // namespace berth::ops::tf
