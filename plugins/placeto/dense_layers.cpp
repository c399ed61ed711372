#include "dense_layers.h"

#include <utility>

namespace berth::placeto {

DenseLayer DenseLayers::add(std::string name, std::size_t in, std::size_t out) {
  layers_.push_back({std::move(name), in, out, flat_size_, packed_.size(), transposed_.size()});
  flat_size_ += out * in + out;
  packed_.resize(packed_.size() + (in + 1) * padded(out), 0.0F);
  transposed_.resize(transposed_.size() + out * padded(in), 0.0F);
  return layers_.back();
}

void DenseLayers::set(const DenseLayer& layer, const float* weight, const float* bias) {
  float* const packed = packed_.data() + layer.packed;
  float* const transposed = transposed_.data() + layer.transposed;
  const std::size_t width = padded(layer.out);
  for (std::size_t o = 0; o < layer.out; ++o) {
    for (std::size_t i = 0; i < layer.in; ++i) {
      packed[i * width + o] = weight[o * layer.in + i];
      transposed[o * padded(layer.in) + i] = weight[o * layer.in + i];
    }
    if (bias != nullptr) packed[layer.in * width + o] = bias[o];
  }
}

void DenseLayers::forward(const DenseLayer& layer, const float* x, std::size_t stride,
                          std::size_t rows, bool relu, float* y, const float* bias) const {
  const std::size_t width = padded(layer.out);
  const float* const packed = packed_.data() + layer.packed;
  kernels_.dense(x, stride, rows, layer.in, packed,
                 bias != nullptr ? bias : packed + layer.in * width, width, relu, y);
}

void DenseLayers::backward(const DenseLayer& layer, const float* x, std::size_t stride,
                           std::size_t rows, const float* dy, float* gradient, float* d_x) const {
  const std::size_t width = padded(layer.out);
  float* const own = gradient + layer.packed;
  kernels_.dense_gradient(x, stride, dy, rows, layer.in, width, own, own + layer.in * width);
  if (d_x == nullptr) return;
  kernels_.dense(dy, width, rows, layer.out, transposed_.data() + layer.transposed, nullptr,
                 padded(layer.in), /*relu=*/false, d_x);
}

void DenseLayers::add_gradient(const DenseLayer& layer, const float* gradient, float* weight,
                               float* bias) {
  const float* const packed = gradient + layer.packed;
  const std::size_t width = padded(layer.out);
  for (std::size_t o = 0; o < layer.out; ++o) {
    for (std::size_t i = 0; i < layer.in; ++i) {
      weight[o * layer.in + i] += packed[i * width + o];
    }
    if (bias != nullptr) bias[o] += packed[layer.in * width + o];
  }
}

}  // namespace berth::placeto
