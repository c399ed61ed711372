// Convolutions whose weights oneDNN has turned, once, into the blocks that it reads.
#pragma once

#include <optional>

#include "runtime/onnx/support.h"
#include "runtime/pointwise.h"

namespace berth::runtime::onnx {

/// Whether the BatchNormalization takes mean and variance from its batch.
[[nodiscard]] bool normalizes_by_batch(const Instruction& normalization);

/// The constants of a convolution over planes or volumes: y = weight * x + bias.
struct ConvolutionConstants {
  Tensor weight;  ///< [out, in / groups, depth?, height, width], f32, on the host
  Tensor bias;    ///< [out], or undefined
};

/// Those of a convolution that computes what the BatchNormalization behind it would make of its result. The
/// inputs are the normalization's, without its first. Computed in f64.
[[nodiscard]] ConvolutionConstants normalized(const ConvolutionConstants& constants, double epsilon,
                                              const Tensor& scale, const Tensor& shift,
                                              const Tensor& mean, const Tensor& variance);

/// Those of a convolution whose result is multiplied by a factor for each channel, or added to a summand. Computed in f64.
[[nodiscard]] ConvolutionConstants scaled(const ConvolutionConstants& constants,
                                          const Tensor& factor);
[[nodiscard]] ConvolutionConstants shifted(const ConvolutionConstants& constants,
                                           const Tensor& summand);

/// The convolution's kernel with constants of its own: it ignores its other inputs. `images` is the shape that
/// the blocks are chosen for; other ones are computed as well. `tail`: the function of its results that it gives. Null
/// where LibTorch has no oneDNN. Throws what ATen throws.
[[nodiscard]] Kernel packed_convolution(const Instruction& convolution,
                                        const ConvolutionConstants& constants,
                                        at::IntArrayRef images,
                                        const std::optional<Pointwise>& tail);

}  // namespace berth::runtime::onnx
