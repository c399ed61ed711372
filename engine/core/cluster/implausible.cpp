#include "cluster/implausible.h"

#include <cstdint>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "berth/support/text.h"

namespace berth {
namespace {

/// The least and the most that a figure is where it is given, and the unit in which data sheets have it.
struct Plausible {
  const char* key;
  const char* unit;
  double least, most;
  const char* usual;
  double factor;  ///< from the usual unit
};

constexpr double kNoMost = std::numeric_limits<double>::infinity();
/// Microcontrollers reach more, and no device is near the most.
constexpr double kLeastFlops = 1e6, kMostFlops = 1e18, kLeastBandwidth = 1e6;
constexpr double kMostUs = 1e5;

constexpr std::pair<Plausible, double Device::*> kOfDevices[] = {
    {{"flops", "FLOP/s", kLeastFlops, kMostFlops, "TFLOP/s", 1e12}, &Device::flops},
    {{"flops_16", "FLOP/s", kLeastFlops, kMostFlops, "TFLOP/s", 1e12}, &Device::flops_16},
    {{"flops_8", "FLOP/s", kLeastFlops, kMostFlops, "TFLOP/s", 1e12}, &Device::flops_8},
    {{"flops_64", "FLOP/s", kLeastFlops, kMostFlops, "TFLOP/s", 1e12}, &Device::flops_64},
    {{"flops_tf32", "FLOP/s", kLeastFlops, kMostFlops, "TFLOP/s", 1e12}, &Device::flops_tf32},
    {{"memory_bandwidth_bytes_per_s", "bytes/s", kLeastBandwidth, kNoMost, "GB/s", 1e9},
     &Device::memory_bandwidth},
    {{"op_overhead_us", "us", 0, kMostUs, "ns", 1e-3}, &Device::op_overhead_us},
};
constexpr std::pair<Plausible, double LinkSpec::*> kOfLinks[] = {
    {{"bandwidth_bytes_per_s", "bytes/s", kLeastBandwidth, kNoMost, "GB/s", 1e9},
     &LinkSpec::bandwidth_bytes_per_s},
    {{"latency_us", "us", 0, kMostUs, "ns", 1e-3}, &LinkSpec::latency_us},
};

class Notes {
 public:
  void check(const std::string& whose, const Plausible& plausible, double value) {
    const auto [key, unit, least, most, usual, factor] = plausible;
    if (value == 0 || (value >= least && value <= most)) return;
    if (!told_.emplace(key, value).second) return;
    const double meant = value * factor;
    // Bytes are whole numbers, all of whose digits count.
    const auto written = [&] {
      return std::string_view(unit) == "bytes" ? cat(static_cast<std::int64_t>(meant)) : cat(meant);
    };
    texts.push_back(cat(whose, " has ", key, " ", value, ", which none has: it is in ", unit,
                        meant >= least && meant <= most
                            ? cat("; if ", usual, " are meant, write ", written())
                            : std::string("; write it in that unit")));
  }

  std::vector<std::string> texts;

 private:
  std::set<std::pair<std::string, double>> told_;
};

}  // namespace

std::vector<std::string> implausible_figures(const Cluster& cluster) {
  Notes notes;
  for (DeviceId id = 0; id < cluster.device_count(); ++id) {
    const Device& device = cluster.device(id);
    for (const auto& [plausible, field] : kOfDevices) {
      notes.check(cat("device '", device.name, "'"), plausible, device.*field);
    }
  }
  for (const LinkSpec& link : cluster.links()) {
    for (const auto& [plausible, field] : kOfLinks) {
      notes.check(cat("link ", link.src, " -> ", link.dst), plausible, link.*field);
    }
  }
  return std::move(notes.texts);
}

std::vector<std::string> implausible_memory(const Cluster& cluster) {
  Notes notes;
  // Nobody has thousands of GiB on one device. A quarter MiB is more bytes than a device has MiB.
  constexpr double kMostGiB = 4096, kLeast = 0x1p18;
  for (DeviceId id = 0; id < cluster.device_count(); ++id) {
    const Device& device = cluster.device(id);
    const auto bytes = static_cast<double>(device.memory_bytes);
    const bool gib = bytes < kMostGiB;
    notes.check(
        cat("device '", device.name, "'"),
        {"memory_bytes", "bytes", kLeast, kNoMost, gib ? "GiB" : "MiB", gib ? 0x1p30 : 0x1p20},
        bytes);
  }
  return std::move(notes.texts);
}

}  // namespace berth
