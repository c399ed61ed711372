#pragma once

#include <memory>

#include "cuda/calls.h"

namespace berth::cuda {

/// The CUDA Runtime and LibTorch's CUDA. Uses neither before the first call.
[[nodiscard]] std::shared_ptr<Calls> make_cuda_calls();

}  // namespace berth::cuda
