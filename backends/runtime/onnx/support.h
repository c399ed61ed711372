// What the kernels of ONNX have in common: reading attributes and inputs, and making the plain
// kinds of kernels from functions on tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/program.h"
#include "runtime/kernel.h"

namespace berth::runtime::onnx {

using at::Tensor;
using Inputs = std::span<const Value>;
using Outputs = std::span<Value>;
using Ints = std::vector<std::int64_t>;

/// A row of a file's table.
struct KernelRow {
  const char* type;
  KernelMaker make;
};

// --- attributes ----------------------------------------------------------------------------------

[[nodiscard]] std::int64_t int_attribute(const Instruction& op, std::string_view name,
                                         std::int64_t fallback);
[[nodiscard]] double float_attribute(const Instruction& op, std::string_view name, double fallback);
[[nodiscard]] std::string text_attribute(const Instruction& op, std::string_view name,
                                         std::string_view fallback);
[[nodiscard]] std::optional<Ints> ints_attribute(const Instruction& op, std::string_view name);
/// Throws Error(unsupported) naming the attribute and its value.
[[noreturn]] void refuse_attribute(std::string_view name, const std::string& value);
/// The attribute `to` or `dtype`: TensorProto's number of an element type. Throws
/// Error(unsupported) for one ATen does not have.
[[nodiscard]] DType dtype_of_number(std::int64_t number);

// --- inputs --------------------------------------------------------------------------------------

[[nodiscard]] bool has(Inputs inputs, std::size_t i) noexcept;
/// Throws Error(invalid_argument) if it is omitted or no tensor.
[[nodiscard]] const Tensor& tensor_at(Inputs inputs, std::size_t i);
/// Undefined if it is omitted.
[[nodiscard]] Tensor optional_at(Inputs inputs, std::size_t i);
/// Its elements on the host, truncated: waits for the device.
[[nodiscard]] Ints ints_of(const Tensor& tensor);
[[nodiscard]] std::vector<double> numbers_of(const Tensor& tensor);

/// Numbers given by an attribute (older op sets) or an input (newer ones), which is read while
/// loading where it is a parameter. T: std::int64_t or double.
template <class T>
class Operand {
 public:
  Operand(const KernelRequest& request, std::string_view attribute, std::size_t input);
  /// Empty if neither is given.
  [[nodiscard]] std::optional<std::vector<T>> get(Inputs inputs) const;
  /// Throws Error(invalid_argument) if neither is given.
  [[nodiscard]] std::vector<T> need(Inputs inputs) const;
  /// The first of them. Throws as `need`, also if there is none.
  [[nodiscard]] T need_one(Inputs inputs) const;

 private:
  std::optional<std::vector<T>> known_;
  std::size_t input_;
};
using IntsOperand = Operand<std::int64_t>;
using NumbersOperand = Operand<double>;

/// `axis` counted from the front. Throws Error(invalid_argument) if it is out of range.
[[nodiscard]] std::int64_t normal_axis(std::int64_t axis, std::int64_t rank);

// --- making kernels ------------------------------------------------------------------------------

/// A kernel that computes in f32 what it is given in 16 bits on a CPU, where ATen lacks most
/// arithmetic, and gives 16 bits back.
[[nodiscard]] Kernel widened(Kernel kernel);
template <KernelMaker make>
[[nodiscard]] Kernel make_widened(const KernelRequest& request) {
  return widened(make(request));
}

/// The kernel's first output wraps around as its element type does where ATen holds that in a wider
/// one.
[[nodiscard]] Kernel wrapped(const KernelRequest& request, Kernel kernel);

template <auto function>
[[nodiscard]] Kernel make_unary(const KernelRequest& /*request*/) {
  return widened(
      [](KernelContext&, Inputs in, Outputs out) { out[0].tensor = function(tensor_at(in, 0)); });
}
template <auto function>
[[nodiscard]] Kernel make_binary(const KernelRequest& request) {
  return wrapped(request, widened([](KernelContext&, Inputs in, Outputs out) {
                   out[0].tensor = function(tensor_at(in, 0), tensor_at(in, 1));
                 }));
}

}  // namespace berth::runtime::onnx
