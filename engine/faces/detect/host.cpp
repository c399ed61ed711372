#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <thread>

#include "berth/support/cpuinfo.h"
#include "berth/support/process_limits.h"
#include "detect/machine_facts.h"

namespace berth::detect {
namespace {

/// The number in a file of one; 0 for anything else.
double number_in(const char* path) {
  std::ifstream file(path);
  double number = 0;
  return file >> number ? number : 0;
}

double highest_clock() {
  const double khz = number_in("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
  if (khz > 0) return khz * 1e3;
  return std::strtod(cpuinfo("cpu MHz").c_str(), nullptr) * 1e6;
}

/// Bytes per second of a = b + s * c on all cores, arrays far above caches: the best of a few.
double measured_bandwidth(int cores, std::int64_t memory_bytes) {
  constexpr std::int64_t kMostBytes = 192 << 20;
  constexpr int kRuns = 4;
  const auto length =
      static_cast<std::size_t>(std::min(kMostBytes, memory_bytes / 16) / 3) / sizeof(float);
  std::vector<float> a(length), b(length, 1.0F), c(length, 2.0F);
  double best_s = 0;
  for (int run = 0; run < kRuns; ++run) {
    const auto began = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(cores));
    for (int t = 0; t < cores; ++t) {
      const std::size_t begin =
          length * static_cast<std::size_t>(t) / static_cast<std::size_t>(cores);
      const std::size_t end =
          length * static_cast<std::size_t>(t + 1) / static_cast<std::size_t>(cores);
      const auto part = [&, begin, end] {
        for (std::size_t i = begin; i < end; ++i) a[i] = b[i] + 3.0F * c[i];
      };
      try {
        threads.emplace_back(part);
      } catch (const std::system_error&) {
        part();  // the system starts no more threads
      }
    }
    for (std::thread& thread : threads) thread.join();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    if (run == 0 || took.count() < best_s) best_s = took.count();
  }
  if (best_s <= 0) return 0;
  // No run measures more than two figures of it.
  return std::round(static_cast<double>(3 * length * sizeof(float)) / best_s / 1e8) * 1e8;
}

}  // namespace

HostFacts read_host() {
  HostFacts host;
  host.processor = processor_name(cpuinfo);
  if (host.processor.empty()) host.processor = "a processor of no name";
  host.cores = usable_cores();
  host.hertz = highest_clock();
  const VectorUnits units = vector_units(cpuinfo);
  host.f32_per_cycle = units.f32_per_cycle;
  host.units = units.what;
  host.memory_bytes = usable_memory_bytes();
  host.memory_bandwidth = measured_bandwidth(usable_threads(), host.memory_bytes);
  return host;
}

MachineFacts read_machine() {
  MachineFacts facts;
  facts.host = read_host();
  read_gpus(facts);
  read_topology(facts);
  return facts;
}

}  // namespace berth::detect
