#include "perceptrons.h"

#include <utility>

namespace berth::placeto {

void Perceptrons::forward(const Perceptron& perceptron, ConstRows in, Activations out,
                          bool last_relu) const {
  for (std::size_t l = 0; l < perceptron.size(); ++l) {
    const bool relu = last_relu || l + 1 < perceptron.size();
    layers_.forward(perceptron[l], in.data, in.width, in.count, relu, out.layer(l).data);
    in = {out.layer(l).data, in.count, padded(perceptron[l].out)};
  }
}

void Perceptrons::backward(const Perceptron& perceptron, ConstRows in, Activations activations,
                           float* d, float* d_in, bool last_relu) const {
  float* other = spare_.data;
  for (std::size_t l = perceptron.size(); l-- > 0;) {
    const DenseLayer& layer = perceptron[l];
    const std::size_t width = padded(layer.out);
    if (last_relu || l + 1 < perceptron.size()) {
      kernels_.mask(activations.layer(l).data, in.count * width, d);
    }
    const ConstRows below = l > 0 ? ConstRows(activations.layer(l - 1)) : in;
    float* const to = l > 0 ? other : d_in;
    layers_.backward(layer, below.data, l > 0 ? width : in.width, in.count, d, gradient_, to);
    if (to == nullptr) return;
    other = std::exchange(d, to);
  }
}

}  // namespace berth::placeto
