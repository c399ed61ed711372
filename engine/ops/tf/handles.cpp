#include "ops/tf/handles.h"

#include <algorithm>

namespace berth::ops::tf {
namespace {

/// Lists in lists nest as deep as loops whose gradients keep them.
constexpr int kDeepestLists = 8;

DataPtr common_content(const DataPtr& a, const DataPtr& b) {
  if (a == nullptr || b == nullptr || a->size() != b->size()) return nullptr;
  std::vector<Number> common = *a;
  for (std::size_t i = 0; i < common.size(); ++i) {
    if (common[i] != (*b)[i]) common[i] = Data::kUnknown;
  }
  return std::make_shared<const std::vector<Number>>(std::move(common));
}

const Value* common_of(const Value& list) {
  const auto* const pushes = static_cast<const Pushes*>(list.other.get());
  return pushes == nullptr ? nullptr : pushes->common.get();
}

/// A list as it is now: one that holds itself as it was before is no cycle. Null where lists nest too deep.
std::shared_ptr<const void> snapshot(const Value& list) {
  const Value* common = common_of(list);
  if (common == nullptr) return nullptr;
  for (int depth = 0; common != nullptr; ++depth) {
    if (depth == kDeepestLists) return nullptr;
    common = common_of(*common);
  }
  return std::make_shared<const Pushes>(*static_cast<const Pushes*>(list.other.get()));
}

/// The part of an element that is kept.
Value kept_part(const Value& element) {
  Value kept;
  kept.data = element.data;
  if (element.type != kVariant) return kept;
  kept.handle = element.handle;
  kept.length = element.length;
  kept.other = snapshot(element);
  return kept;
}

Value common_part(const Value& a, const Value& b) {
  Value common;
  common.data = common_content(a.data, b.data);
  if (a.handle == nullptr || b.handle == nullptr || a.handle->dims != b.handle->dims) return common;
  common.handle = a.handle;
  if (a.length == b.length) common.length = a.length;
  const Value* const in_a = common_of(a);
  const Value* const in_b = common_of(b);
  if (in_a == nullptr || in_b == nullptr) return common;
  common.other = std::make_shared<const Pushes>(
      Pushes{std::make_shared<const Value>(common_part(*in_a, *in_b))});
  return common;
}

}  // namespace

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

Handle& new_list(OpContext& op, int type, Dims dims) {
  Handle& handle = new_handle(op, type, std::move(dims));
  op.out(0).other = std::make_shared<const Pushes>();
  return handle;
}

void same_list(OpContext& op) {
  op.set(0, {});
  op.out(0).handle = op.in(0).handle;
  op.out(0).other = op.in(0).other;
}

void learn_push(const Value& handle, const Value& element) {
  learn(handle, element);
  if (handle.other == nullptr) return;
  const Value kept = kept_part(element);
  const Value* const before = common_of(handle);
  static_cast<const Pushes*>(handle.other.get())->common =
      std::make_shared<const Value>(before == nullptr ? kept : common_part(*before, kept));
}

Value pushed_element(const Value& handle) {
  Value element = element_of(handle);
  const Value* const common = common_of(handle);
  if (common == nullptr) return element;
  element.data = common->data;
  element.handle = common->handle;
  element.length = common->length;
  element.other = snapshot(*common);
  return element;
}

void give_element(OpContext& op, std::size_t output, const Value& element) {
  op.copy_shape(output, element);
  Value& out = op.out(output);
  if (out.type == kUnknownType) out.type = element.type;
  const bool fits = element.data != nullptr && out.fully_known() &&
                    product(out.dims) == static_cast<Number>(element.data->size());
  if (fits) out.data = element.data;
  out.handle = element.handle;
  out.length = element.length;
  out.other = element.other;
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
