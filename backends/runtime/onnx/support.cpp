#include "runtime/onnx/support.h"

#include <ATen/Functions.h>

#include "berth/error.h"
#include "runtime/tensors.h"

namespace berth::runtime::onnx {
namespace {

bool is_half(const Tensor& tensor) {
  return tensor.defined() &&
         (tensor.scalar_type() == at::kHalf || tensor.scalar_type() == at::kBFloat16);
}

template <class T>
std::vector<T> elements_of(const Tensor& tensor) {
  const Tensor host = tensor.to(at::kCPU, at::CppTypeToScalarType<T>::value).contiguous();
  const auto* const data = host.data_ptr<T>();
  return {data, data + host.numel()};
}

}  // namespace

std::int64_t int_attribute(const Instruction& op, std::string_view name, std::int64_t fallback) {
  const auto* const value = op.attribute<std::int64_t>(name);
  return value == nullptr ? fallback : *value;
}

double float_attribute(const Instruction& op, std::string_view name, double fallback) {
  const auto* const value = op.attribute<double>(name);
  return value == nullptr ? fallback : *value;
}

std::string text_attribute(const Instruction& op, std::string_view name,
                           std::string_view fallback) {
  const auto* const value = op.attribute<std::string>(name);
  return value == nullptr ? std::string(fallback) : *value;
}

std::optional<Ints> ints_attribute(const Instruction& op, std::string_view name) {
  const auto* const value = op.attribute<Ints>(name);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

void refuse_attribute(std::string_view name, const std::string& value) {
  throw Error(ErrorCode::unsupported, "no kernel for " + std::string(name) + " = " + value);
}

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

bool has(Inputs inputs, std::size_t i) noexcept {
  return i < inputs.size() && inputs[i].present();
}

const Tensor& tensor_at(Inputs inputs, std::size_t i) {
  if (i >= inputs.size() || !inputs[i].tensor.defined()) {
    throw Error(ErrorCode::invalid_argument,
                "input " + std::to_string(i) +
                    (has(inputs, i) ? " is no tensor of numbers" : " is omitted and needed"));
  }
  return inputs[i].tensor;
}

Tensor optional_at(Inputs inputs, std::size_t i) {
  return has(inputs, i) ? tensor_at(inputs, i) : Tensor();
}

Ints ints_of(const Tensor& tensor) {
  return elements_of<std::int64_t>(tensor);
}

std::vector<double> numbers_of(const Tensor& tensor) {
  return elements_of<double>(tensor);
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

std::int64_t normal_axis(std::int64_t axis, std::int64_t rank) {
  const std::int64_t normal = axis < 0 ? axis + rank : axis;
  if (normal < 0 || normal >= std::max<std::int64_t>(rank, 1)) {
    throw Error(ErrorCode::invalid_argument, "axis " + std::to_string(axis) +
                                                 " is out of range for " + std::to_string(rank) +
                                                 " dimensions");
  }
  return normal;
}

Kernel widened(Kernel kernel) {
  return [kernel = std::move(kernel)](KernelContext& context, Inputs in, Outputs out) {
    const auto narrow = std::find_if(in.begin(), in.end(), [](const Value& value) {
      return is_half(value.tensor) && value.tensor.is_cpu();
    });
    if (narrow == in.end()) return kernel(context, in, out);
    const at::ScalarType type = narrow->tensor.scalar_type();
    std::vector<Value> wide(in.begin(), in.end());
    for (Value& value : wide) {
      if (is_half(value.tensor)) value.tensor = value.tensor.to(at::kFloat);
    }
    kernel(context, wide, out);
    for (Value& value : out) {
      if (value.tensor.defined() && value.tensor.scalar_type() == at::kFloat) {
        value.tensor = value.tensor.to(type);
      }
    }
  };
}

Kernel wrapped(const KernelRequest& request, Kernel kernel) {
  const auto& outputs = request.instruction.outputs;
  const Graph& graph = *request.program.graph;
  if (outputs.empty() || outputs[0] < 0 || outputs[0] >= graph.tensor_count()) return kernel;
  const DType dtype = graph.dtype(outputs[0]);
  if (dtype != DType::u16 && dtype != DType::u32) return kernel;
  const std::int64_t mask = dtype == DType::u16 ? 0xFFFF : 0xFFFFFFFF;
  return [kernel = std::move(kernel), mask](KernelContext& context, Inputs in, Outputs out) {
    kernel(context, in, out);
    out[0].tensor = at::bitwise_and(out[0].tensor, mask);
  };
}

}  // namespace berth::runtime::onnx
