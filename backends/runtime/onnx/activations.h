// The functions that layers may apply to their sums.
#pragma once

#include <string>

#include "runtime/onnx/support.h"

namespace berth::runtime::onnx {

struct Activation {
  std::string name;
  int parameters = 0;  ///< 1: alpha; 2: beta as well
  double alpha = 0;
  double beta = 0;

  [[nodiscard]] Tensor operator()(const Tensor& x) const;
};

/// With ONNX's default parameters. Throws Error(unsupported) for a name that ONNX does not have.
[[nodiscard]] Activation activation_named(const std::string& name);

}  // namespace berth::runtime::onnx
