// Where the tests of kernels compute: on the host, or on the device that BERTH_TEST_DEVICE names, which is "cuda" on a
// machine with a GPU and a LibTorch for it (tests/gpu/run).
#pragma once

#include <ATen/Context.h>

#include <cstdlib>

#include "runtime/values.h"

namespace berth::test {

inline at::Device test_device() {
  const char* const name = std::getenv("BERTH_TEST_DEVICE");
  if (name == nullptr) return at::kCPU;
  at::globalContext().setAllowTF32CuDNN(false);  // as the backend has it
  return at::Device(name);
}

inline runtime::Value moved(const runtime::Value& value, at::Device device) {
  return runtime::transformed(value, [&](const at::Tensor& tensor) { return tensor.to(device); });
}

}  // namespace berth::test
