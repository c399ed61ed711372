#include "runtime/onnx/support.h"

#include <ATen/Functions.h>

#include <algorithm>

#include "berth/error.h"
#include "runtime/tensors.h"

namespace berth::runtime::onnx {
namespace {

template <class T>
std::vector<T> elements_of(const Tensor& tensor) {
  if constexpr (std::is_same_v<T, double>) {
    return numbers_of(tensor);
  } else {
    return ints_of(tensor);
  }
}

}  // namespace

DType dtype_of_number(std::int64_t number) {
  static constexpr DType kTypes[] = {
      DType::unknown, DType::f32, DType::u8,     DType::i8,      DType::u16, DType::i16,
      DType::i32,     DType::i64, DType::string, DType::boolean, DType::f16, DType::f64,
      DType::u32,     DType::u64, DType::c64,    DType::c128,    DType::bf16};
  if (number < 1 || number >= static_cast<std::int64_t>(std::size(kTypes))) {
    refuse_attribute("element type", std::to_string(number));
  }
  return kTypes[number];
}

Tensor optional_at(Inputs inputs, std::size_t i) {
  return has(inputs, i) ? tensor_at(inputs, i) : Tensor();
}

template <class T>
Operand<T>::Operand(const KernelRequest& request, std::string_view attribute, std::size_t input)
    : input_(input) {
  if (const auto* const stated = request.instruction.attribute<std::vector<T>>(attribute)) {
    known_ = *stated;
    return;
  }
  const auto& inputs = request.instruction.inputs;
  if (input >= inputs.size() || inputs[input] == kNoValue) return;
  const auto id = static_cast<std::size_t>(inputs[input]);
  if (id >= request.program.parameters.size() || !request.program.parameters[id]) return;
  known_ = elements_of<T>(make_tensor(*request.program.parameters[id]));
}

template <class T>
std::optional<std::vector<T>> Operand<T>::get(Inputs inputs) const {
  if (known_ || !has(inputs, input_)) return known_;
  return elements_of<T>(tensor_at(inputs, input_));
}

template <class T>
std::vector<T> Operand<T>::need(Inputs inputs) const {
  return known_ ? *known_ : elements_of<T>(tensor_at(inputs, input_));
}

template <class T>
T Operand<T>::need_one(Inputs inputs) const {
  const std::vector<T> values = need(inputs);
  if (values.empty()) {
    throw Error(ErrorCode::invalid_argument, "input " + std::to_string(input_) + " is empty");
  }
  return values.front();
}

template class Operand<std::int64_t>;
template class Operand<double>;

Kernel widened(Kernel kernel, std::vector<std::int64_t> like) {
  return runtime::widened(std::move(kernel), [like = std::move(like)](Inputs in, std::size_t i) {
    auto leader = std::find_if(in.begin(), in.end(), [](const Value& value) {
      return value.tensor.defined() && at::isFloatingType(value.tensor.scalar_type());
    });
    if (i < like.size()) {
      if (like[i] == kInF32) return at::kFloat;
      leader = in.begin() + like[i];
    }
    return leader != in.end() && is_half(leader->tensor) ? leader->tensor.scalar_type()
                                                         : at::kFloat;
  });
}

}  // namespace berth::runtime::onnx
