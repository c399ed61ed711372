// What the kernels of TensorFlow have in common: reading attributes and inputs, windows, and making
// the plain kinds of kernels from functions on tensors.
//
// Integer constants, shapes and what follows from them stay in the host's memory, as in TensorFlow:
// what reads them there waits for no device, and what computes with them moves them (on_device).
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/program.h"
#include "runtime/kernel.h"

namespace berth::runtime::tf {

using at::Tensor;
using Inputs = std::span<const Value>;
using Outputs = std::span<Value>;
using Ints = std::vector<std::int64_t>;

/// A row of a file's table.
struct KernelRow {
  const char* type;
  KernelMaker make;
};

// The tables, one per file of kernels.
[[nodiscard]] std::span<const KernelRow> convolution_kernels();
[[nodiscard]] std::span<const KernelRow> elementwise_kernels();
[[nodiscard]] std::span<const KernelRow> gradient_kernels();
[[nodiscard]] std::span<const KernelRow> indexing_kernels();
[[nodiscard]] std::span<const KernelRow> layout_kernels();
[[nodiscard]] std::span<const KernelRow> normalization_kernels();
[[nodiscard]] std::span<const KernelRow> optimizer_kernels();
[[nodiscard]] std::span<const KernelRow> pooling_kernels();
[[nodiscard]] std::span<const KernelRow> product_kernels();
[[nodiscard]] std::span<const KernelRow> random_kernels();
[[nodiscard]] std::span<const KernelRow> reduction_kernels();
[[nodiscard]] std::span<const KernelRow> shape_kernels();
[[nodiscard]] std::span<const KernelRow> variable_kernels();

// --- attributes: files leave out defaults --------------------------------------------------------

[[nodiscard]] std::int64_t integer(const Instruction& op, std::string_view name,
                                   std::int64_t fallback);
[[nodiscard]] double real(const Instruction& op, std::string_view name, double fallback);
[[nodiscard]] std::string text(const Instruction& op, std::string_view name,
                               std::string_view fallback);
[[nodiscard]] Ints integers(const Instruction& op, std::string_view name);
[[nodiscard]] at::ScalarType type(const Instruction& op, std::string_view name,
                                  at::ScalarType fallback);
/// Throws Error(unsupported) naming the attribute and its value.
[[noreturn]] void refuse_attribute(std::string_view name, const std::string& value);

// --- inputs --------------------------------------------------------------------------------------

/// The tensor at `i`. Throws Error(invalid_argument) where there is none.
[[nodiscard]] const Tensor& tensor_at(Inputs inputs, std::size_t i);
/// The content of an input that is a constant or a weight of the file; empty for any other.
[[nodiscard]] std::optional<Tensor> constant_at(const KernelRequest& request, std::size_t i);
/// Its elements on the host; waits for the device where they lie on one.
[[nodiscard]] Ints ints_of(const Tensor& tensor);
/// `tensor` on the device the op runs on.
[[nodiscard]] Tensor on_device(const KernelContext& context, const Tensor& tensor);

/// An input of integers: read while loading where the file has it, while running otherwise.
class IntsInput {
 public:
  IntsInput(const KernelRequest& request, std::size_t i);
  [[nodiscard]] Ints get(Inputs inputs) const;
  /// The first element. Throws Error(invalid_argument) where there is none.
  [[nodiscard]] std::int64_t one(Inputs inputs) const;

 private:
  std::optional<Ints> known_;
  std::size_t input_;
};

/// `axis` counted from the front. Throws Error(invalid_argument) where it is out of range.
[[nodiscard]] std::int64_t normal_axis(std::int64_t axis, std::int64_t rank);
/// Distinct and ascending.
[[nodiscard]] Ints normal_axes(const Ints& axes, std::int64_t rank);

// --- making kernels ------------------------------------------------------------------------------

template <auto function>
[[nodiscard]] Kernel make_unary(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) { out[0].tensor = function(tensor_at(in, 0)); };
}

/// Both operands where they can be computed with: scalars may stay on the host.
struct Operands {
  Operands(const KernelContext& context, const Tensor& a, const Tensor& b);
  Tensor left;
  Tensor right;
};

template <auto function>
[[nodiscard]] Kernel make_binary(const KernelRequest& /*request*/) {
  return [](KernelContext& context, Inputs in, Outputs out) {
    const Operands operands(context, tensor_at(in, 0), tensor_at(in, 1));
    out[0].tensor = function(operands.left, operands.right);
  };
}

// --- images --------------------------------------------------------------------------------------

/// How a window slides over images. Kernels see them as [batch, channels, height, width], which for
/// NHWC is a view of what TensorFlow has.
struct Sliding {
  bool channels_last = true;
  std::int64_t stride[2] = {1, 1};
  std::int64_t dilation[2] = {1, 1};
  enum class Padding : std::uint8_t { same, valid, given } padding = Padding::valid;
  std::int64_t given[2][2] = {};  ///< before and after height, before and after width

  /// From the attributes strides, dilations, padding, explicit_paddings and data_format. Throws
  /// Error(unsupported) for windows that slide over batches or channels.
  explicit Sliding(const Instruction& op);

  /// Height and width among four numbers that follow the data format. Throws Error(unsupported)
  /// where the others are not 1.
  void read_spatial(const Ints& four, std::string_view what, std::int64_t (&out)[2]) const;

  [[nodiscard]] Tensor to_planes(const Tensor& images) const;    ///< to [N, C, H, W]
  [[nodiscard]] Tensor from_planes(const Tensor& planes) const;  ///< back
  /// A shape in the data format as [N, C, H, W].
  [[nodiscard]] Ints plane_shape(const Ints& shape) const;
};

/// Elements added before and after height and width, and what of it ATen can add itself.
struct Margins {
  /// For images of this height and width under a window of that size.
  Margins(const Sliding& sliding, std::int64_t height, std::int64_t width,
          std::int64_t window_height, std::int64_t window_width);

  [[nodiscard]] bool symmetric() const noexcept;
  /// What ATen adds on both sides: all where it is symmetric, nothing otherwise.
  [[nodiscard]] Ints both_sides() const;
  /// The rest added by copying. [N, C, H, W]
  [[nodiscard]] Tensor pad(const Tensor& planes, double value) const;
  [[nodiscard]] Ints padded(const Ints& shape) const;  ///< of what `pad` gives
  /// Undoes `pad`, for gradients.
  [[nodiscard]] Tensor crop(const Tensor& planes) const;

  std::int64_t before[2];
  std::int64_t after[2];
};

}  // namespace berth::runtime::tf
