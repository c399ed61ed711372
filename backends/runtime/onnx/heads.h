// The heads of attention.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "runtime/integers.h"

namespace berth::runtime::onnx {

/// [batch, length, heads * size] as [batch, heads, length, size]; the latter stays. Throws Error(invalid_argument)
/// where there are no heads, or parts of one.
[[nodiscard]] inline at::Tensor split_heads(const at::Tensor& x, std::int64_t heads) {
  if (x.dim() == 4) return x;
  const std::int64_t size = shared_out(x.size(2), "elements", heads, "heads");
  return x.reshape({x.size(0), x.size(1), heads, size}).transpose(1, 2);
}

/// The other way round.
[[nodiscard]] inline at::Tensor merge_heads(const at::Tensor& x) {
  return x.transpose(1, 2).reshape({x.size(0), x.size(2), x.size(1) * x.size(3)});
}

}  // namespace berth::runtime::onnx
