// The tables of kernels, one for each file.
#pragma once

#include <span>

#include "runtime/onnx/support.h"

namespace berth::runtime::onnx {

[[nodiscard]] std::span<const KernelRow> attention_kernels();
[[nodiscard]] std::span<const KernelRow> blockwise_kernels();
[[nodiscard]] std::span<const KernelRow> control_flow_kernels();
[[nodiscard]] std::span<const KernelRow> convolution_kernels();
[[nodiscard]] std::span<const KernelRow> decoder_kernels();
[[nodiscard]] std::span<const KernelRow> elementwise_kernels();
[[nodiscard]] std::span<const KernelRow> image_kernels();
[[nodiscard]] std::span<const KernelRow> indexing_kernels();
[[nodiscard]] std::span<const KernelRow> layout_kernels();
[[nodiscard]] std::span<const KernelRow> loss_kernels();
[[nodiscard]] std::span<const KernelRow> matmul_kernels();
[[nodiscard]] std::span<const KernelRow> normalization_kernels();
[[nodiscard]] std::span<const KernelRow> pooling_kernels();
[[nodiscard]] std::span<const KernelRow> quantized_kernels();
[[nodiscard]] std::span<const KernelRow> quantized_fused_kernels();
[[nodiscard]] std::span<const KernelRow> random_kernels();
[[nodiscard]] std::span<const KernelRow> recurrent_kernels();
[[nodiscard]] std::span<const KernelRow> reduction_kernels();
[[nodiscard]] std::span<const KernelRow> region_kernels();
[[nodiscard]] std::span<const KernelRow> resize_kernels();
[[nodiscard]] std::span<const KernelRow> sequence_kernels();
[[nodiscard]] std::span<const KernelRow> shape_kernels();
[[nodiscard]] std::span<const KernelRow> signal_kernels();
[[nodiscard]] std::span<const KernelRow> training_kernels();

}  // namespace berth::runtime::onnx
