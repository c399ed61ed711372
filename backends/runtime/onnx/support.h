// Shared by the kernels of ONNX beside runtime/support.h: operands that were attributes once, and
// the plain kinds of kernels, made from functions on tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/sdk/program.h"
#include "runtime/kernel.h"
#include "runtime/support.h"

namespace berth::runtime::onnx {

/// The attribute `to` or `dtype`: TensorProto's number of an element type. Throws
/// Error(unsupported) for one ATen does not have.
[[nodiscard]] DType dtype_of_number(std::int64_t number);

// --- inputs --------------------------------------------------------------------------------------

/// Undefined if it is omitted.
[[nodiscard]] Tensor optional_at(Inputs inputs, std::size_t i);

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

// --- making kernels ------------------------------------------------------------------------------

/// An output that has 32 bits whatever the inputs have: statistics.
inline constexpr std::int64_t kInF32 = -1;
/// runtime::widened. Each output has the type of the input that `like` names, or kInF32; those beyond `like` have that
/// of the first input of real numbers.
[[nodiscard]] Kernel widened(Kernel kernel, std::vector<std::int64_t> like = {});

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
