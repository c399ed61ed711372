// Steps of small models of images on a processor's devices, given numbers and compared with what they should be.
#pragma once

#include <ATen/Functions.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>

#include "cpu/backend.h"

namespace berth::test {

/// Integers, which are exact in any order of summation.
inline at::Tensor counted(at::IntArrayRef shape) {
  const std::int64_t count =
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  return at::sub(at::remainder(at::mul(at::arange(count, at::kDouble), 5), 7), 3).reshape(shape);
}

inline std::string text_of(const at::Tensor& numbers) {
  std::string text;
  for (std::int64_t i = 0; i < numbers.numel(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(numbers.reshape({-1})[i].item<double>());
  }
  return text;
}

inline TensorContent content_of(const at::Tensor& tensor) {
  TensorContent content;
  content.dtype = DType::f32;
  content.shape = tensor.sizes().vec();
  const auto owner = std::make_shared<at::Tensor>(tensor.to(at::kFloat).contiguous());
  content.bytes = {static_cast<const std::byte*>(owner->data_ptr()), owner->nbytes()};
  content.owner = owner;
  return content;
}

inline at::Tensor floats_of(const TensorContent& content) {
  return at::from_blob(const_cast<std::byte*>(content.bytes.data()), content.shape,
                       at::TensorOptions(at::kFloat));
}

/// A step with its outputs.
inline StepResult run_whole(Session& session, const Placement& placement) {
  StepOptions options;
  options.outputs = true;
  return session.run(placement, options);
}

inline Options two_devices() {
  Options options(cpu::kOptions);
  options.set("backend 'cpu'", "devices", std::int64_t{2});
  return options;
}

}  // namespace berth::test
