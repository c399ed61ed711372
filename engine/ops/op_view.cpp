#include "ops/op_view.h"

#include <algorithm>
#include <variant>

namespace berth::ops {

int TensorView::rank() const {
  if (!present() || !graph_->has_shape(id_)) return -1;
  return static_cast<int>(graph_->shape(id_).size());
}

double TensorView::dim(int axis) const {
  const int n = rank();
  if (axis < 0) axis += n;
  if (axis < 0 || axis >= n) return kUnknown;
  const std::int64_t value = graph_->shape(id_)[static_cast<std::size_t>(axis)];
  return value < 0 ? kUnknown : static_cast<double>(value);
}

double TensorView::elements() const {
  return elements(0, kEnd);
}

double TensorView::elements(int first, int last) const {
  const int n = rank();
  if (n < 0) return kUnknown;
  if (first < 0) first += n;
  if (last < 0) last += n;
  if (last == kEnd) last = n;
  if (first < 0 || last > n || first > last) return kUnknown;
  double product = 1;
  for (int axis = first; axis < last; ++axis) product *= dim(axis);
  return product;
}

double TensorView::bytes() const {
  return present() ? static_cast<double>(graph_->read_bytes(id_)) : 0.0;
}

DType TensorView::dtype() const {
  return present() ? graph_->dtype(id_) : DType::unknown;
}

TensorView OpView::input(std::size_t i) const {
  const auto tensors = graph_->inputs(op_);
  return {*graph_, i < tensors.size() ? tensors[i] : kNoTensor};
}

TensorView OpView::output(std::size_t i) const {
  const auto tensors = graph_->outputs(op_);
  std::size_t before = 0;
  for (const std::int64_t omitted : integers(kOmittedOutputs)) {
    if (omitted == static_cast<std::int64_t>(i)) return {*graph_, kNoTensor};
    if (omitted < static_cast<std::int64_t>(i)) ++before;
  }
  return {*graph_, i - before < tensors.size() ? tensors[i - before] : kNoTensor};
}

double OpView::inputs_read() const {
  const auto tensors = graph_->inputs(op_);
  double sum = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    // Repeats are rare and lists are short. The exception is Concat and the like, where a set would
    // cost more than the count is worth: repeats there count again, as they are read again.
    constexpr std::size_t kLong = 16;
    const auto seen = tensors.begin() + static_cast<std::ptrdiff_t>(i);
    if (tensors.size() <= kLong && std::find(tensors.begin(), seen, tensors[i]) != seen) continue;
    sum += TensorView(*graph_, tensors[i]).bytes();
  }
  return sum;
}

double OpView::bytes_read() const {
  return inputs_read() + static_cast<double>(graph_->stated_param_bytes(op_));
}

double OpView::bytes_written() const {
  return static_cast<double>(graph_->output_bytes(op_));
}

bool OpView::goes_on(std::size_t input, std::size_t output) const {
  const auto inputs = graph_->inputs(op_), outputs = graph_->outputs(op_);
  if (input >= inputs.size() || output >= outputs.size() || graph_->reused_bytes(op_) == 0) {
    return false;
  }
  const auto states = graph_->states();
  return std::any_of(states.begin(), states.end(), [&](const Graph::State& state) {
    return state.result == outputs[output] && inputs[input] != kNoTensor &&
           graph_->producer(inputs[input]) == state.input;
  });
}

DType OpView::dtype() const {
  for (const TensorId tensor : graph_->inputs(op_)) {
    if (const DType type = TensorView(*graph_, tensor).dtype(); type != DType::unknown) return type;
  }
  const DType type = output(0).dtype();
  return type == DType::unknown ? DType::f32 : type;
}

std::int64_t OpView::integer(std::string_view name, std::int64_t fallback) const {
  const AttributeValue* value = graph_->attribute(op_, name);
  if (value == nullptr) return fallback;
  if (const auto* held = std::get_if<std::int64_t>(value)) return *held;
  // Builders in C know lists alone.
  const auto* list = std::get_if<std::vector<std::int64_t>>(value);
  return list != nullptr && list->size() == 1 ? list->front() : fallback;
}

std::span<const std::int64_t> OpView::integers(std::string_view name) const {
  const AttributeValue* value = graph_->attribute(op_, name);
  const auto* held = value ? std::get_if<std::vector<std::int64_t>>(value) : nullptr;
  return held ? std::span<const std::int64_t>(*held) : std::span<const std::int64_t>();
}

std::string_view OpView::text(std::string_view name) const {
  const AttributeValue* value = graph_->attribute(op_, name);
  const auto* held = value ? std::get_if<std::string>(value) : nullptr;
  return held ? std::string_view(*held) : std::string_view();
}

}  // namespace berth::ops
