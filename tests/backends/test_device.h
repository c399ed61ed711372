// Where the tests of kernels compute: on the host, or on the device that BERTH_TEST_DEVICE names, which is "cuda" on a
// machine with a GPU and a LibTorch for it (tests/gpu/run).
#pragma once

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>

#include <cstdlib>
#include <memory>

#include "runtime/kernel.h"

namespace berth::test {

inline at::Device test_device() {
  const char* const name = std::getenv("BERTH_TEST_DEVICE");
  if (name == nullptr) return at::kCPU;
  at::globalContext().setAllowTF32CuDNN(false);  // as the backend has it
  return at::Device(name);
}

/// The value with each of its tensors there.
inline runtime::Value moved(const runtime::Value& value, at::Device device) {
  runtime::Value result = value;
  if (value.tensor.defined()) result.tensor = value.tensor.to(device);
  if (value.structure != nullptr) {
    auto structure = std::make_shared<runtime::Structure>(*value.structure);
    for (runtime::Value& part : structure->sequence) part = moved(part, device);
    result.structure = std::move(structure);
  }
  return result;
}

}  // namespace berth::test
