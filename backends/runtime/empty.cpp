#include "runtime/empty.h"

#include <ATen/Functions.h>

namespace berth::runtime {

Tensor padded(const Tensor& x, at::IntArrayRef pads, const at::Scalar& value) {
  Ints shape = x.sizes().vec();
  bool is_empty = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::int64_t& size = shape[shape.size() - 1 - i];
    if (2 * i + 1 < pads.size()) size += pads[2 * i] + pads[2 * i + 1];
    is_empty = is_empty || size == 0;
  }
  return is_empty ? at::empty(shape, x.options()) : at::constant_pad_nd(x, pads, value);
}

Tensor weight_for(const Tensor& images, const Tensor& weight) {
  return images.numel() == 0 ? weight.contiguous() : weight;
}

}  // namespace berth::runtime
