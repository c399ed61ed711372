#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <thread>
#include <vector>

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

struct Arrays {
  explicit Arrays(std::size_t length) : a(length), b(length, 1.0F), c(length, 2.0F) {}

  std::vector<float> a, b, c;
};

/// The time of a = b + s * c by so many threads.
double pass_s(Arrays& arrays, int count) {
  const std::size_t length = arrays.a.size();
  const auto began = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  for (int t = 0; t < count; ++t) {
    const std::size_t begin =
        length * static_cast<std::size_t>(t) / static_cast<std::size_t>(count);
    const std::size_t end =
        length * static_cast<std::size_t>(t + 1) / static_cast<std::size_t>(count);
    const auto part = [&, begin, end] {
      for (std::size_t i = begin; i < end; ++i) arrays.a[i] = arrays.b[i] + 3.0F * arrays.c[i];
    };
    try {
      threads.emplace_back(part);
    } catch (const std::system_error&) {
      part();  // the system starts no more threads
    }
  }
  for (std::thread& thread : threads) thread.join();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

/// Bytes per second of passes over arrays far above caches. Others' load and clocks that still rise hide
/// what the memory can do, so that the best counts once several passes came no nearer to more.
double measured_bandwidth(int count, std::int64_t memory_bytes) {
  constexpr std::int64_t kMostBytes = 192 << 20;
  constexpr int kSettled = 10, kMostPasses = 80;
  constexpr double kNoGrowth = 0.99;
  Arrays arrays(static_cast<std::size_t>(std::min(kMostBytes, memory_bytes / 16) / 3) /
                sizeof(float));
  double best_s = pass_s(arrays, count);
  for (int pass = 1, same = 0; pass < kMostPasses && same < kSettled; ++pass) {
    const double took_s = pass_s(arrays, count);
    same = took_s < kNoGrowth * best_s ? 0 : same + 1;
    best_s = std::min(best_s, took_s);
  }
  if (best_s <= 0) return 0;
  return steady_figure(static_cast<double>(3 * arrays.a.size() * sizeof(float)) / best_s);
}

}  // namespace

double steady_figure(double measured) {
  if (!(measured > 0)) return 0;
  constexpr double kSteps = 20;  // of a factor of ten
  const double step = std::round(kSteps * std::log10(measured));
  const double unit = std::pow(10, std::floor(step / kSteps) - 1);
  return std::round(std::pow(10, step / kSteps) / unit) * unit;
}

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
