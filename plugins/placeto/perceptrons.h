// Perceptrons over rows, forward and backward.
#pragma once

#include "buffers.h"
#include "dense_layers.h"

namespace berth::placeto {

/// Runs perceptrons of one DenseLayers. [thread-compatible]
class Perceptrons {
 public:
  /// `gradient`: packed, added to by backward; `spare`: a buffer as large as any that backward is
  /// given. Neither is needed for forward.
  Perceptrons(const DenseLayers& layers, float* gradient, Rows spare)
      : layers_(layers), kernels_(kernels()), gradient_(gradient), spare_(spare) {}

  [[nodiscard]] const Kernels& kernel() const { return kernels_; }

  /// Negative values become 0 after every layer; after the last only with `last_relu`.
  void forward(const Perceptron& perceptron, ConstRows in, Activations out,
               bool last_relu = true) const;

  /// `d` holds the gradient of the last layer's rows and is spent. That of `in` is written to
  /// `d_in` unless null, which overlaps neither `d` nor the spare buffer.
  void backward(const Perceptron& perceptron, ConstRows in, Activations activations, float* d,
                float* d_in, bool last_relu = true) const;

 private:
  const DenseLayers& layers_;
  const Kernels& kernels_;
  float* gradient_;
  Rows spare_;
};

}  // namespace berth::placeto
