// Layouts in memory of the images that ONNX's convolutions and poolings compute on. ATen and oneDNN compute them
// faster where channels are innermost. A tensor's shape says nothing of its layout, and no result depends on it, to the
// last bit.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "berth/sdk/program.h"
#include "runtime/kernel.h"

namespace berth::runtime {

/// Whether ATen computes these faster with channels innermost: planes of f32 on a CPU, with oneDNN.
[[nodiscard]] bool prefers_channels_innermost(const at::Tensor& images);

/// Whether an image's planes lie outside of its channels in memory, those in two dimensions [batch, a, b, height,
/// width] as well.
[[nodiscard]] bool has_channels_innermost(const at::Tensor& images);

/// The instruction's kernel for inputs in any layout. Those that compute each element by itself, move elements or turn
/// images around themselves take them as they are. Others get them in order: a sum's last bit depends on the order.
[[nodiscard]] Kernel for_any_layout(const Instruction& instruction, Kernel kernel);

/// For each tensor, whether it is a weight that convolutions over all channels alone read. Those are kept with
/// channels innermost where images are, since a convolution would turn them around in every step.
[[nodiscard]] std::vector<bool> weights_of_images(const Program& program);

}  // namespace berth::runtime
