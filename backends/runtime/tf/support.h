// Shared by the kernels of TensorFlow beside runtime/support.h: constants, windows, and making
// simple kernels from functions on tensors.
//
// Integer constants, shapes and values computed from them stay in host memory, as in TensorFlow.
// Kernels that read them there wait for no device; kernels that compute with them move them
// (on_device).
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/sdk/program.h"
#include "runtime/kernel.h"
#include "runtime/support.h"

namespace berth::runtime::tf {

// The tables, one per file of kernels.
[[nodiscard]] std::span<const KernelRow> color_kernels();
[[nodiscard]] std::span<const KernelRow> control_flow_kernels();
[[nodiscard]] std::span<const KernelRow> convolution_kernels();
[[nodiscard]] std::span<const KernelRow> decomposition_kernels();
[[nodiscard]] std::span<const KernelRow> elementwise_kernels();
[[nodiscard]] std::span<const KernelRow> format_kernels();
[[nodiscard]] std::span<const KernelRow> gradient_kernels();
[[nodiscard]] std::span<const KernelRow> image_kernels();
[[nodiscard]] std::span<const KernelRow> indexing_kernels();
[[nodiscard]] std::span<const KernelRow> layout_kernels();
[[nodiscard]] std::span<const KernelRow> list_kernels();
[[nodiscard]] std::span<const KernelRow> matrix_kernels();
[[nodiscard]] std::span<const KernelRow> normalization_kernels();
[[nodiscard]] std::span<const KernelRow> optimizer_kernels();
[[nodiscard]] std::span<const KernelRow> pooling_kernels();
[[nodiscard]] std::span<const KernelRow> product_kernels();
[[nodiscard]] std::span<const KernelRow> quantized_kernels();
[[nodiscard]] std::span<const KernelRow> ragged_kernels();
[[nodiscard]] std::span<const KernelRow> random_kernels();
[[nodiscard]] std::span<const KernelRow> recurrent_kernels();
[[nodiscard]] std::span<const KernelRow> reduction_kernels();
[[nodiscard]] std::span<const KernelRow> resampling_kernels();
[[nodiscard]] std::span<const KernelRow> scatter_kernels();
[[nodiscard]] std::span<const KernelRow> search_kernels();
[[nodiscard]] std::span<const KernelRow> segment_kernels();
[[nodiscard]] std::span<const KernelRow> shape_kernels();
[[nodiscard]] std::span<const KernelRow> signal_kernels();
[[nodiscard]] std::span<const KernelRow> source_kernels();
[[nodiscard]] std::span<const KernelRow> special_function_kernels();
[[nodiscard]] std::span<const KernelRow> stateless_random_kernels();
[[nodiscard]] std::span<const KernelRow> suppression_kernels();
[[nodiscard]] std::span<const KernelRow> variable_kernels();
[[nodiscard]] std::span<const KernelRow> volume_kernels();

// --- attributes and inputs -----------------------------------------------------------------------

[[nodiscard]] at::ScalarType type(const Instruction& op, std::string_view name,
                                  at::ScalarType fallback);
/// The content of an input that is a constant or a weight of the file; empty for any other.
[[nodiscard]] std::optional<Tensor> constant_at(const KernelRequest& request, std::size_t i);
/// `tensor` on the device the op runs on.
[[nodiscard]] Tensor on_device(const KernelContext& context, const Tensor& tensor);

/// An input of integers: read when loading if the file has it, otherwise when running.
class IntsInput {
 public:
  IntsInput(const KernelRequest& request, std::size_t i);
  [[nodiscard]] Ints get(Inputs inputs) const;
  /// The first element. Throws Error(invalid_argument) if there is none.
  [[nodiscard]] std::int64_t one(Inputs inputs) const;

 private:
  std::optional<Ints> known_;
  std::size_t input_;
};

/// Distinct and ascending.
[[nodiscard]] Ints normal_axes(const Ints& axes, std::int64_t rank);

// --- making kernels ------------------------------------------------------------------------------

template <auto function>
[[nodiscard]] Kernel make_unary(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) { out[0].tensor = function(tensor_at(in, 0)); };
}

/// Both operands, ready to be computed with; scalars may stay on the host.
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

// The same for functions that ATen has overloads of.
template <Tensor (*function)(const Tensor&)>
constexpr KernelMaker unary = make_unary<function>;
template <Tensor (*function)(const Tensor&, const Tensor&)>
constexpr KernelMaker binary = make_binary<function>;

// --- images --------------------------------------------------------------------------------------

/// How a window slides over images. Kernels see images as [batch, channels, height, width]; for
/// NHWC that is a view of TensorFlow's layout.
struct Sliding {
  bool channels_last = true;
  std::int64_t stride[2] = {1, 1};
  std::int64_t dilation[2] = {1, 1};
  enum class Padding : std::uint8_t { same, valid, given } padding = Padding::valid;
  std::int64_t given[2][2] = {};  ///< before and after height, before and after width

  /// From the attributes strides, dilations, padding, explicit_paddings and data_format. Throws
  /// Error(unsupported) for windows that slide over batches or channels.
  explicit Sliding(const Instruction& op);

  /// Height and width among four numbers in the order of the data format. Throws Error(unsupported)
  /// if the other two are not 1.
  void read_spatial(const Ints& four, std::string_view what, std::int64_t (&out)[2]) const;

  [[nodiscard]] Tensor to_planes(const Tensor& images) const;    ///< to [N, C, H, W]
  [[nodiscard]] Tensor from_planes(const Tensor& planes) const;  ///< back
  /// A shape in the data format as [N, C, H, W].
  [[nodiscard]] Ints plane_shape(const Ints& shape) const;
};

/// Elements added before and after height and width, and the part of them that ATen can add itself.
struct Margins {
  /// For images of this height and width under a window of that size.
  Margins(const Sliding& sliding, std::int64_t height, std::int64_t width,
          std::int64_t window_height, std::int64_t window_width);

  [[nodiscard]] bool symmetric() const noexcept;
  /// Margins that ATen adds on both sides: everything if it is symmetric, otherwise nothing.
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
