#include "ops/onnx/rules.h"

#include <numeric>

namespace berth::ops::onnx {
namespace rule {

void like_first(OpContext& op) {
  op.set_like(0, 0);
}

void like_second(OpContext& op) {
  op.set_like(0, 1);
}

void like_each(OpContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) op.set_like(i, i);
}

void to_bool(OpContext& op) {
  op.set_like(0, 0);
  op.out(0).type = kBool;
}

void broadcast_all(OpContext& op) {
  // Before opset 7 the second operand was broadcast onto the first.
  if (op.attributes.has("broadcast")) return op.set_like(0, 0);
  std::vector<std::size_t> inputs(op.input_count());
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = i;
  broadcast_inputs(op, inputs, 0);
}

void reduce(OpContext& op) {
  op.give(0, tensor_type(op.type_of(0)));
  const Dims* const from = op.shape(0);
  if (from == nullptr) return;
  const bool keep = op.attributes.integer("keepdims", 1) != 0;
  if (const auto marked = reduced_axes(op)) {
    op.set(0, reduced(*from, *marked, keep));
  } else if (keep) {
    op.set(0, Dims(from->size(), kUnknownDim));
  }
}

void concatenate(OpContext& op) {
  // Folded shapes of some exporters hold scalars among their lists of one.
  static const Dims kOne = {1};
  std::vector<const Dims*> parts;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    const Dims* const dims = op.shape(i);
    parts.push_back(dims != nullptr && dims->empty() ? &kOne : dims);
  }
  give(op, op.type_of(0), concatenated(parts, op.attributes.integer("axis", 1), op.largest_step));
}

void dropout(OpContext& op) {
  op.set_like(0, 0);
  op.set_like(1, 0);
  op.out(1).type = kBool;
}

}  // namespace rule

std::vector<std::int64_t> first_axes(std::size_t count) {
  std::vector<std::int64_t> axes(count);
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  return axes;
}

std::optional<AlongAxis> along_axis_or_flat(const OpContext& op) {
  const Dims* const from = op.shape(0);
  if (from == nullptr) return std::nullopt;
  const bool flat = !op.attributes.has("axis");
  Dims dims = flat ? Dims{product(*from)} : *from;
  const auto axis = normal_axis(flat ? 0 : op.attributes.integer("axis", 0), dims.size());
  if (!axis) return std::nullopt;
  return AlongAxis{std::move(dims), *axis};
}

std::optional<std::vector<bool>> reduced_axes(const OpContext& op) {
  const std::size_t rank = op.in(0).dims.size();
  const Ints axes = attribute_or_input(op, "axes", 1);
  if (op.has(1) && !axes) return std::nullopt;
  if (axes && !axes->empty()) return marked_axes(*axes, rank);
  return std::vector<bool>(rank, op.attributes.integer("noop_with_empty_axes", 0) == 0);
}

Ints attribute_or_input(const OpContext& op, std::string_view name, std::size_t i) {
  return op.has(i) ? op.integers(i) : op.listed(name);
}

void broadcast_inputs(OpContext& op, const std::vector<std::size_t>& inputs, std::size_t from) {
  op.give(0, tensor_type(op.type_of(from)));
  Dims result;
  for (const std::size_t i : inputs) {
    const Dims* const dims = op.shape(i);
    if (dims == nullptr || !broadcast(result, *dims, result)) return;
  }
  op.set(0, std::move(result));
}

void give(OpContext& op, int type, std::optional<Dims> dims) {
  op.give(0, tensor_type(type));
  if (dims) op.set(0, *std::move(dims));
}

void product_of(OpContext& op, std::size_t a, std::size_t b, int type) {
  const Dims* const left = op.shape(a);
  const Dims* const right = op.shape(b);
  give(op, type,
       left != nullptr && right != nullptr ? matrix_product(*left, *right, false, false)
                                           : std::nullopt);
}

void shaped_by(OpContext& op, std::size_t from, int type) {
  op.give(0, tensor_type(type));
  if (op.in(from).has_content()) op.copy_shape(0, shape_of_content(op.in(from)));
}

std::int64_t dim_of(const Dims* dims, std::size_t i, std::size_t rank) {
  return dims != nullptr && dims->size() == rank ? (*dims)[i] : kUnknownDim;
}

std::int64_t number(const OpContext& op, std::size_t input) {
  const Value& value = op.in(input);
  return value.content_size() == 1 ? dim_of_element(value, 0) : kUnknownDim;
}

}  // namespace berth::ops::onnx
