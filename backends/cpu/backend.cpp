#include "cpu/backend.h"

#include <torch/version.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "berth/error.h"
#include "berth/version.h"
#include "cpu/cpu_runtime.h"
#include "cpu/machine.h"

namespace berth::cpu {
namespace {

// Nominal figures, until a profile measures better ones: a core's share of memory bandwidth, a copy
// between threads, and how long a thread takes to notice one and to begin.
constexpr double kCoreBandwidth = 10e9;
constexpr double kCopyBandwidth = 5e9;
constexpr double kCopyLatency_us = 20;
constexpr double kNotice_us = 1;
constexpr double kReceive_us = 1;

}  // namespace

struct CpuBackend::Setup {
  Machine machine = this_machine();
  int devices;
  int threads;
  std::int64_t memory_bytes;
  EmulatedLink link;

  explicit Setup(const Options& options) {
    const std::int64_t count = options.integer("devices");
    const std::int64_t wanted = options.integer("threads");
    memory_bytes = options.integer("memory_bytes");
    link = {options.real("bandwidth_bytes_per_s"), options.real("latency_us")};
    devices = static_cast<int>(count);
    const auto cores = static_cast<int>(machine.cores.size());
    threads = wanted == 0 ? std::max(1, cores / devices) : static_cast<int>(wanted);
  }

  std::shared_ptr<const Cluster> cluster() const {
    std::vector<Device> list;
    for (int d = 0; d < devices; ++d) {
      Device device;
      device.name = "cpu:" + std::to_string(d);
      device.kind = "cpu";
      device.memory_bytes = memory_bytes == 0 ? kNoLimit : memory_bytes;
      device.flops = machine.core_flops * threads;
      device.memory_bandwidth = kCoreBandwidth * threads;
      device.host = true;
      list.push_back(std::move(device));
    }
    const double bandwidth = link.bandwidth_bytes_per_s;
    LinkSpec any;
    any.src = any.dst = "*";
    any.bandwidth_bytes_per_s = bandwidth > 0 ? bandwidth : kCopyBandwidth;
    any.latency_us = link.slower() ? kCopyLatency_us + link.latency_us : kNotice_us;
    if (!link.slower()) any.receiver_us = kReceive_us;
    return std::make_shared<const Cluster>("cpu", std::move(list), std::vector{any});
  }

  std::string description() const {
    std::ostringstream text;
    text << machine.processor << ", " << machine.cores.size() << " cores, "
         << (machine.memory_bytes >> 30) << " GiB, LibTorch " << TORCH_VERSION << ": " << devices
         << " devices of " << threads << (threads == 1 ? " thread" : " threads");
    return text.str();
  }

  /// Threads that have a core of their own measure an op as it is; so do those that copy for slower links.
  std::vector<std::string> notes() const {
    if (devices == 1) return {};
    const auto cores = static_cast<int>(machine.cores.size());
    const int used = devices * threads;
    if (used < cores || (used == cores && !link.slower())) return {};
    std::ostringstream text;
    text << devices << " devices of " << threads << (threads == 1 ? " thread" : " threads");
    if (used > cores) {
      text << " share " << cores << (cores == 1 ? " core" : " cores")
           << ", so that ops slow one another down, which no simulation knows; give devices and "
              "threads whose product is below the number of cores";
    } else {
      text << " take all " << cores
           << " cores, so that copies over slower links slow ops down, which no simulation knows; "
              "leave a core free, with fewer devices or threads";
    }
    return {text.str()};
  }

  std::string fingerprint() const {
    std::ostringstream text;
    text.precision(17);
    text << "cpu;" << BERTH_VERSION_STRING << ";abi=" << BERTH_ABI_VERSION
         << ";torch=" << TORCH_VERSION << ";" << machine.processor
         << ";cores=" << machine.cores.size() << ";devices=" << devices << ";threads=" << threads
         << ";memory_bytes=" << memory_bytes << ";bandwidth=" << link.bandwidth_bytes_per_s
         << ";latency=" << link.latency_us;
    return text.str();
  }
};

CpuBackend::CpuBackend(const Options& options) : CpuBackend(Setup(options)) {}

CpuBackend::CpuBackend(const Setup& setup) : CpuBackend(setup, setup.cluster()) {}

CpuBackend::CpuBackend(const Setup& setup, const std::shared_ptr<const Cluster>& cluster)
    : DeviceBackend(
          cluster,
          std::make_unique<CpuRuntime>(*cluster, setup.machine.cores, setup.threads, setup.link),
          {setup.description(), setup.fingerprint(), setup.notes()}) {}

}  // namespace berth::cpu
