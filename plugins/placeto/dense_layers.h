// Dense layers on the kernels: where their weights lie packed, and their gradients.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernels.h"

namespace berth::placeto {

/// One dense layer of a DenseLayers.
struct DenseLayer {
  std::string name;
  std::size_t in;
  std::size_t out;
  std::size_t flat;        ///< weight [out, in] row-major and bias, were all layers in one vector
  std::size_t packed;      ///< of [in][padded(out)], then bias [padded(out)]
  std::size_t transposed;  ///< of [out][padded(in)]
};

/// Dense layers with ReLU between them.
using Perceptron = std::vector<DenseLayer>;

/// The weights of several layers. [thread-compatible: all but add and set are const]
class DenseLayers {
 public:
  DenseLayers() : kernels_(kernels()) {}

  DenseLayer add(std::string name, std::size_t in, std::size_t out);
  [[nodiscard]] const std::vector<DenseLayer>& all() const { return layers_; }
  /// Number of weights and biases of all layers.
  [[nodiscard]] std::size_t flat_size() const { return flat_size_; }
  /// Floats of a gradient of all layers, packed as the weights are.
  [[nodiscard]] std::size_t packed_size() const { return packed_.size(); }

  /// `weight` is [out, in] row-major; `bias` [out], or null for none.
  void set(const DenseLayer& layer, const float* weight, const float* bias);

  /// y [rows, padded(out)] = x * weight + bias, negative values made 0 with `relu`. x has rows of
  /// `stride` floats. `bias`, where given, is taken instead of the layer's: padded(out) floats.
  void forward(const DenseLayer& layer, const float* x, std::size_t stride, std::size_t rows,
               bool relu, float* y, const float* bias = nullptr) const;
  /// Adds to `gradient` (of packed_size()) that of the layer's weights, given dy [rows,
  /// padded(out)]; writes that of x to d_x [rows, padded(in)] unless null.
  void backward(const DenseLayer& layer, const float* x, std::size_t stride, std::size_t rows,
                const float* dy, float* gradient, float* d_x) const;
  /// Adds a packed gradient's part of this layer to `weight` and, unless null, `bias`.
  static void add_gradient(const DenseLayer& layer, const float* gradient, float* weight,
                           float* bias);

 private:
  const Kernels& kernels_;
  std::vector<DenseLayer> layers_;
  std::size_t flat_size_ = 0;
  std::vector<float> packed_;
  std::vector<float> transposed_;
};

}  // namespace berth::placeto
