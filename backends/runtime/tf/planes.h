// Convolutions of TensorFlow's images in the words in which ONNX has those of planes (onnx/packed.h).
#pragma once

#include "berth/sdk/program.h"
#include "runtime/support.h"

namespace berth::runtime::tf {

/// Whether the images of a Conv2D or a DepthwiseConv2dNative have their channels innermost, as planes of the packed
/// kernels do.
[[nodiscard]] bool slides_over_images(const Instruction& convolution);

/// ONNX's Conv that computes the same of planes. `images` and `filter` are shapes in TensorFlow's order.
[[nodiscard]] Instruction conv_of_planes(const Instruction& convolution, const Ints& images,
                                         const Ints& filter);
/// The filter as that Conv's weight.
[[nodiscard]] Tensor weight_of_planes(const Instruction& convolution, const Tensor& filter);
/// The shape of images as that of planes.
[[nodiscard]] Ints shape_of_planes(const Instruction& convolution, const Ints& images);

/// A kernel that takes and gives images by one that takes and gives planes: views of them.
[[nodiscard]] Kernel on_images(const Instruction& convolution, Kernel of_planes);

}  // namespace berth::runtime::tf
