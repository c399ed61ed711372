#pragma once

#include <memory>

#include "berth/options.h"
#include "runtime/device_backend.h"

namespace berth::cpu {

inline constexpr OptionSpec kOptions[] = {
    {"devices", OptionType::integer, "2", "logical devices cpu:0, cpu:1, ...",
     OptionRange::at_least(1).up_to(64)},
    {"threads", OptionType::integer, "0",
     "threads of one op, per device; 0 = the machine's cores shared out",
     OptionRange::at_least(0).up_to(1024)},
    {"memory_bytes", OptionType::integer, "0", "what a device may hold; 0 = no limit",
     OptionRange::at_least(0)},
    {"bandwidth_bytes_per_s", OptionType::real, "0",
     "bandwidth that links are slowed down to; 0 = as fast as memory copies",
     OptionRange::at_least(0)},
    {"latency_us", OptionType::real, "0", "the least that a transfer takes beside its bandwidth",
     OptionRange::at_least(0)},
};

class CpuBackend final : public runtime::DeviceBackend {
 public:
  explicit CpuBackend(const Options& options);

 private:
  struct Setup;
  explicit CpuBackend(const Setup& setup);
  CpuBackend(const Setup& setup, const std::shared_ptr<const Cluster>& cluster);
};

}  // namespace berth::cpu
