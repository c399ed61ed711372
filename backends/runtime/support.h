// Shared by the kernels of all dialects: reading attributes and inputs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/sdk/program.h"
#include "runtime/kernel.h"

namespace berth::runtime {

using at::Tensor;
using Inputs = std::span<const Value>;
using Outputs = std::span<Value>;
using Ints = std::vector<std::int64_t>;

/// A row of a file's table.
struct KernelRow {
  const char* type;
  KernelMaker make;
};

// --- attributes: files leave out defaults --------------------------------------------------------

[[nodiscard]] std::int64_t int_attribute(const Instruction& op, std::string_view name,
                                         std::int64_t fallback);
[[nodiscard]] double float_attribute(const Instruction& op, std::string_view name, double fallback);
[[nodiscard]] std::string text_attribute(const Instruction& op, std::string_view name,
                                         std::string_view fallback);
[[nodiscard]] std::optional<Ints> ints_attribute(const Instruction& op, std::string_view name);
/// Throws Error(unsupported) naming the attribute and its value.
[[noreturn]] void refuse_attribute(std::string_view name, const std::string& value);

// --- inputs --------------------------------------------------------------------------------------

[[nodiscard]] bool has(Inputs inputs, std::size_t i) noexcept;
/// Throws Error(invalid_argument) if it is absent or no tensor.
[[nodiscard]] const Tensor& tensor_at(Inputs inputs, std::size_t i);
/// Its elements on the host, truncated. Waits for the device.
[[nodiscard]] Ints ints_of(const Tensor& tensor);
[[nodiscard]] std::vector<double> numbers_of(const Tensor& tensor);

/// The kernel's first output wraps around as its element type does where ATen holds that in a wider
/// one.
[[nodiscard]] Kernel wrapped(const KernelRequest& request, Kernel kernel);

/// Whether its numbers have 16 bits.
[[nodiscard]] bool is_half(const Tensor& tensor) noexcept;
/// A kernel that computes in f32 what it is given in 16 bits on a CPU, where ATen lacks most arithmetic, and
/// gives its outputs of f32 in the type that `type_of` says.
[[nodiscard]] Kernel widened(
    Kernel kernel, std::function<at::ScalarType(Inputs inputs, std::size_t output)> type_of);

/// `axis` counted from the front; a scalar has an axis 0, as in ATen. Throws
/// Error(invalid_argument) if it is out of range.
[[nodiscard]] std::int64_t normal_axis(std::int64_t axis, std::int64_t rank);

}  // namespace berth::runtime
