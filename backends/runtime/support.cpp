#include "runtime/support.h"

#include <ATen/Functions.h>

#include <algorithm>

#include "berth/error.h"
#include "berth/support/text.h"

namespace berth::runtime {
namespace {

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
  throw Error(ErrorCode::unsupported,
              cat("its attribute ", name, " is ", value,
                  ", which this kernel cannot do; place it without executing it, or export the "
                  "model otherwise"));
}

bool has(Inputs inputs, std::size_t i) noexcept {
  return i < inputs.size() && inputs[i].present();
}

const Tensor& tensor_at(Inputs inputs, std::size_t i) {
  if (i >= inputs.size() || !inputs[i].tensor.defined()) {
    throw Error(ErrorCode::invalid_argument,
                cat("its input ", i,
                    has(inputs, i) ? " is no tensor of numbers; text, sequences and handles other "
                                     "than variables are not computed with"
                                   : " is omitted and needed"));
  }
  return inputs[i].tensor;
}

Ints ints_of(const Tensor& tensor) {
  return elements_of<std::int64_t>(tensor);
}

std::vector<double> numbers_of(const Tensor& tensor) {
  return elements_of<double>(tensor);
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

bool is_half(const Tensor& tensor) noexcept {
  return tensor.defined() &&
         (tensor.scalar_type() == at::kHalf || tensor.scalar_type() == at::kBFloat16);
}

Kernel widened(Kernel kernel,
               std::function<at::ScalarType(Inputs inputs, std::size_t output)> type_of) {
  return [kernel = std::move(kernel), type_of = std::move(type_of)](KernelContext& context,
                                                                    Inputs in, Outputs out) {
    const bool is_narrow = std::any_of(in.begin(), in.end(), [](const Value& value) {
      return is_half(value.tensor) && value.tensor.is_cpu();
    });
    if (!is_narrow) return kernel(context, in, out);
    std::vector<Value> wide(in.begin(), in.end());
    for (Value& value : wide) {
      if (is_half(value.tensor)) value.tensor = value.tensor.to(at::kFloat);
    }
    kernel(context, wide, out);
    for (std::size_t i = 0; i < out.size(); ++i) {
      Tensor& tensor = out[i].tensor;
      if (tensor.defined() && tensor.scalar_type() == at::kFloat) {
        tensor = tensor.to(type_of(in, i));
      }
    }
  };
}

Kernel KernelRegistry::make(const KernelRequest& request) const {
  const KernelMaker maker = find(request.instruction.type);
  if (maker == nullptr) {
    const std::string& type = request.instruction.type;
    const bool is_blocked = type.starts_with("com.microsoft.nchwc.");
    throw Error(ErrorCode::unsupported,
                "there is no kernel for ops of type " + type +
                    (is_blocked ? ", which ONNX Runtime makes for one kind of processor; save the "
                                  "model at its level ORT_ENABLE_EXTENDED"
                                : ""));
  }
  return finish_(request, maker(request));
}

std::int64_t normal_axis(std::int64_t axis, std::int64_t rank) {
  const std::int64_t normal = axis < 0 ? axis + rank : axis;
  if (normal < 0 || normal >= std::max<std::int64_t>(rank, 1)) {
    throw Error(ErrorCode::invalid_argument,
                cat("axis ", axis, " is out of range for ", rank, " dimensions"));
  }
  return normal;
}

}  // namespace berth::runtime
