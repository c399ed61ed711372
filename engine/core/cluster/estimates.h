// Figures that machines in words, presets and detection take alike: shares of data sheets' figures, and estimates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace berth {

/// An estimate for packet headers and flow control.
inline constexpr double kPcieReached = 0.8;
/// Dell measured 0.91 on P100 and 0.96 on V100 with p2pBandwidthLatencyTest ("Ready Solutions for AI,
/// Deep Learning with NVIDIA", table 3).
inline constexpr double kNvlinkReached = 0.9;
/// Copies between cards through the host's memory are two copies, which the driver pipelines: in one direction
/// p2pBandwidthLatencyTest without peer access measured 0.8 to 0.9 of a slot of PCIe 4.0 x16 (nccl issue 814), 0.7
/// of one of PCIe 5.0 (nccl issue 1264) and 0.96 of narrow ones (tinygrad's open-gpu-kernel-modules issue 44). Both
/// directions at once have hardly more than one (its issue 6), so that they share a channel.
inline constexpr double kThroughHost = 0.85;
/// The channel that copies between two cards share which pass through the host's memory.
inline std::string staged_channel(const std::string& first, const std::string& second) {
  return "host:" + first + "-" + second;
}
/// Estimates: from GPU to GPU, and through switches.
inline constexpr double kNvlinkLatencyUs = 10, kNvSwitchLatencyUs = 8;

/// Bytes per second that copies reach over PCIe in one direction: a lane carries 2.5 and 5 GT/s in ten bits for
/// eight, 8 to 32 GT/s in 130 for 128, 64 GT/s in frames of 256 bytes with 236 of data.
constexpr double pcie_bandwidth(int generation, int lanes) {
  constexpr double kLane[] = {0.25e9, 0.5e9, 15.75e9 / 16, 31.5e9 / 16, 63e9 / 16, 7.563e9};
  return kPcieReached * kLane[std::clamp(generation, 1, 6) - 1] * lanes;
}
/// Estimates between the bare link (about 1 us) and the 25 us of Placeto's simulator.
constexpr double pcie_latency_us(int generation) {
  return generation <= 3 ? 15 : generation == 4 ? 12 : 10;
}

/// Copies of `link` bytes/s each that a memory of `memory` bytes/s feeds at once.
[[nodiscard]] inline std::size_t copies_at_once(double memory, double link) {
  return static_cast<std::size_t>(std::max(1.0, memory / link));
}

/// An estimate of what a context with its libraries holds of a card's memory.
inline constexpr std::int64_t kContextBytes = std::int64_t{512} << 20;
/// The share of one memory that a GPU may take: an estimate where the system states no limit.
inline constexpr double kGpuShare = 0.75;
/// A copy within one memory reads and writes it.
inline constexpr double kOneMemoryShare = 0.5;
inline constexpr double kOneMemoryLatencyUs = 5;  // estimate
/// Handing an op to a host's thread pool and waking it: an estimate.
inline constexpr double kHostOverheadUs = 2;

}  // namespace berth
