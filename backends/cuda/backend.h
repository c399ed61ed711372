#pragma once

#include <memory>

#include "berth/options.h"
#include "cuda/calls.h"
#include "runtime/device_backend.h"

namespace berth::cuda {

inline constexpr OptionSpec kOptions[] = {
    {"devices", OptionType::integer, "0",
     "logical devices cuda:0, cuda:1, ..., dealt out to the GPUs in turn; 0 = one per GPU",
     OptionRange::at_least(0).up_to(64)},
    {"memory_bytes", OptionType::integer, "0",
     "what a device may hold; 0 = its share of nine tenths of what its GPU has free",
     OptionRange::at_least(0)},
    {"host", OptionType::boolean, "true", "whether the host is a device too, cpu:0"},
};

class CudaBackend final : public runtime::DeviceBackend {
 public:
  /// Throws Error(invalid_argument) for more memory than a GPU has, Error(not_found) without a GPU
  /// or with a LibTorch that has no CUDA.
  explicit CudaBackend(const Options& options);
  /// The same on other calls.
  CudaBackend(const Options& options, std::shared_ptr<Calls> calls);

 private:
  struct Setup;
  explicit CudaBackend(const Setup& setup);
};

}  // namespace berth::cuda
