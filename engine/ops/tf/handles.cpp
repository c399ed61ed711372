#include "ops/tf/handles.h"

#include <algorithm>

namespace berth::ops::tf {

Handle& new_handle(OpContext& op, int type, Dims dims) {
  op.set(0, std::move(dims));
  op.out(0).handle = std::make_shared<Handle>();
  op.out(0).handle->type = type;
  return *op.out(0).handle;
}

void state_shape(Handle& handle, const Value& shape) {
  handle.ranked = shape.ranked;
  handle.dims = shape.dims;
}

void learn(const Value& handle, const Value& element) {
  if (handle.handle == nullptr || !element.ranked) return;
  Value known;
  known.ranked = handle.handle->ranked;
  known.dims = handle.handle->dims;
  merge_shape(known, element);
  state_shape(*handle.handle, known);
  if (handle.handle->type == kUnknownType) handle.handle->type = element.type;
}

Value element_of(const Value& handle) {
  Value element;
  if (handle.handle == nullptr) return element;
  element.type = handle.handle->type;
  element.ranked = handle.handle->ranked;
  element.dims = handle.handle->dims;
  return element;
}

void give_element(OpContext& op, std::size_t output, const Value& element) {
  op.copy_shape(output, element);
  if (op.out(output).type == kUnknownType) op.out(output).type = element.type;
}

void read_handle(OpContext& op) {
  give_element(op, 0, element_of(op.in(0)));
}

void element_shape(OpContext& op) {
  const Value element = element_of(op.in(0));
  op.set(0, {element.ranked ? element.rank() : kUnknownDim});
  if (!element.ranked) return;
  std::vector<Number> numbers = element.dims;
  std::replace(numbers.begin(), numbers.end(), kUnknownDim, Data::kUnknown);
  op.set_data(0, std::move(numbers));
}

}  // namespace berth::ops::tf
