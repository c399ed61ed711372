#pragma once

#include <string>

#include "berth/options.h"
#include "runtime/device_backend.h"

namespace berth::cpu {

inline constexpr OptionSpec kOptions[] = {
    {"devices", OptionType::integer, "2", "logical devices cpu:0, cpu:1, ..., 1 to 64"},
    {"threads", OptionType::integer, "0",
     "threads of one op, per device; 0 = the machine's cores shared out"},
    {"memory_bytes", OptionType::integer, "0", "what a device may hold; 0 = no limit"},
    {"bandwidth_bytes_per_s", OptionType::real, "0",
     "bandwidth that links are slowed down to; 0 = as fast as memory copies"},
    {"latency_us", OptionType::real, "0", "the least that a transfer takes beside its bandwidth"},
};

class CpuBackend final : public runtime::DeviceBackend {
 public:
  /// Throws Error(invalid_argument) for options out of range.
  explicit CpuBackend(const Options& options);

  std::string description() const override { return description_; }
  std::string fingerprint() const override { return fingerprint_; }

 private:
  struct Setup;
  explicit CpuBackend(const Setup& setup);
  CpuBackend(const Setup& setup, const std::shared_ptr<const Cluster>& cluster);

  std::string description_;
  std::string fingerprint_;
};

}  // namespace berth::cpu
