// Built-in machines: those of the published systems, and present ones. Figures of their GPUs are those of
// known_devices.cpp, which says what they are.
//
// Links have the data-sheet rate of one direction times the share that copies reach (estimates.h). The latency
// of a copy is an estimate between the bare link (about 1 us) and the 25 us of Placeto's simulator, which
// the K80 machines have.
//
// Shape of every machine: cpu:0 (all sockets as one device), gpu:0..n-1. Pairs of GPUs are below a
// PCIe switch (on a K80: the board) and share its one uplink in each direction. Two GPUs without
// NVLink use PCIe: alone if they are below one switch, otherwise both switches' uplinks and,
// between sockets, the socket interconnect. The host has an engine per link, and so have GPUs that NVLink
// joins point to point; behind NVSwitch, and in Placeto's simulator, a device has one.
#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/cluster.h"
#include "berth/error.h"
#include "berth/machines.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "cluster/estimates.h"

namespace berth {
namespace {

constexpr double kGiga = 1e9;
constexpr std::int64_t kGiB = std::int64_t{1} << 30;

/// Vector units of a CPU: cores * clock * f32 operations per cycle and core.
constexpr double cpu_flops(double cores, double hertz, double flops_per_cycle) {
  return cores * hertz * flops_per_cycle;
}
/// Two 256-bit fused multiply-add units: 2 * 8 lanes * 2 (Broadwell, Zen 2).
constexpr double kAvx2FlopsPerCycle = 32;
/// Two 512-bit fused multiply-add units (Sapphire Rapids).
constexpr double kAvx512FlopsPerCycle = 64;

struct Pcie {
  double bandwidth;  ///< bytes per second reached in one direction
  double latency_us;
  int gpus_per_switch = 2;
  int gpus_per_socket;
};

struct Nvlink {
  double bandwidth_per_lane = 0;  ///< bytes per second reached in one direction
  double latency_us = 0;
  /// Lanes between two GPUs, row-major; empty = `lanes_everywhere` between each pair.
  std::span<const int> lanes;
  int lanes_everywhere = 0;
};

struct Machine {
  Cluster::PresetInfo info;
  int gpus;
  Device host;
  Device gpu;
  Pcie pcie;
  Nvlink nvlink;
};

std::string gpu_name(int index) {
  return "gpu:" + std::to_string(index);
}

std::vector<LinkSpec> links_of(const Machine& machine) {
  const Pcie& pcie = machine.pcie;
  const auto uplink = [&](int gpu, const char* direction) {
    return "pcie:" + std::to_string(gpu / pcie.gpus_per_switch) + ":" + direction;
  };
  const auto lanes = [&](int src, int dst) {
    return machine.nvlink.lanes.empty() ? machine.nvlink.lanes_everywhere
                                        : machine.nvlink.lanes[at(src * machine.gpus + dst)];
  };
  std::vector<LinkSpec> links;
  for (int src = 0; src < machine.gpus; ++src) {
    const std::string& host = machine.host.name;
    links.push_back({gpu_name(src), host, pcie.bandwidth, pcie.latency_us, {uplink(src, "up")}});
    links.push_back({host, gpu_name(src), pcie.bandwidth, pcie.latency_us, {uplink(src, "down")}});
    for (int dst = 0; dst < machine.gpus; ++dst) {
      if (dst == src) continue;
      LinkSpec link{gpu_name(src), gpu_name(dst), pcie.bandwidth, pcie.latency_us, {}};
      if (const int n = lanes(src, dst); n > 0) {
        link.bandwidth_bytes_per_s = n * machine.nvlink.bandwidth_per_lane;
        link.latency_us = machine.nvlink.latency_us;
      } else if (src / pcie.gpus_per_switch != dst / pcie.gpus_per_switch) {
        link.shares = {uplink(src, "up"), uplink(dst, "down")};
        const int from = src / pcie.gpus_per_socket, to = dst / pcie.gpus_per_socket;
        if (from != to) {
          link.shares.push_back("socket:" + std::to_string(from) + "-" + std::to_string(to));
        }
      }
      links.push_back(std::move(link));
    }
  }
  return links;
}

std::shared_ptr<const Cluster> build(const Machine& machine) {
  std::vector<Device> devices{machine.host};
  for (int i = 0; i < machine.gpus; ++i) {
    devices.push_back(machine.gpu);
    devices.back().name = gpu_name(i);
  }
  return std::make_shared<const Cluster>(machine.info.name, std::move(devices), links_of(machine));
}

Device host_device(std::int64_t memory_bytes, double flops, double memory_bandwidth) {
  Device host;
  host.name = "cpu:0";
  host.kind = "cpu";
  host.memory_bytes = memory_bytes;
  host.flops = flops;
  host.memory_bandwidth = memory_bandwidth;
  host.op_overhead_us = kHostOverheadUs;
  host.host = true;
  host.engine_per_link = true;
  return host;
}

// Amazon EC2 p2.8xlarge: 16 cores of a Xeon E5-2686 v4 (Broadwell, 2.3 GHz), 488 GiB, Tesla K80
// boards of two GPUs each. Intel publishes no data sheet for that part. Its sibling with 18 cores
// at 2.3 GHz, E5-2697 v4, has four channels of DDR4-2400: 76.8 GB/s.
Machine k80(std::string name, int gpus) {
  // 7.6 GB/s and 25 us between every pair of devices: the constants of Placeto's released simulator, which
  // its authors tuned to this machine.
  const Device& gpu = find_known_device("k80")->device;
  Device host = host_device(488 * kGiB, cpu_flops(16, 2.3e9, kAvx2FlopsPerCycle), 76.8 * kGiga);
  // There every device has one bus, the host too.
  host.engine_per_link = false;
  return {{std::move(name),
           "Amazon EC2 p2.8xlarge, " + std::to_string(gpus) +
               " GPUs of its Tesla K80 boards (Placeto's machine)",
           "NVIDIA Tesla K80 board specification BD-07317 (base clock); Amazon EC2 P2; Placeto's "
           "simulator: 7.6 GB/s, 25 us, 5.7 us between kernels"},
          gpus,
          host,
          gpu,
          {.bandwidth = 7.6 * kGiga, .latency_us = 25, .gpus_per_socket = 4},
          {}};
}

// Half an NVIDIA DGX-1 with P100: one of its two Xeon E5-2698 v4 (20 cores, 2.2 GHz, four channels
// of DDR4-2400: 76.8 GB/s), half of its 512 GB, and the four GPUs of that socket, which NVLink 1
// meshes fully, one port per pair.
Machine p100x4() {
  Device gpu = find_known_device("p100")->device;
  gpu.engine_per_link = true;
  return {{"p100x4", "half an NVIDIA DGX-1: four Tesla P100 SXM2, fully meshed by NVLink 1",
           "NVIDIA Tesla P100 and DGX-1 data sheets; latencies and overheads estimated"},
          4,
          host_device(256 * kGiB, cpu_flops(20, 2.2e9, kAvx2FlopsPerCycle), 76.8 * kGiga),
          gpu,
          {.bandwidth = kPcieReached * 15.75 * kGiga,  // PCIe 3.0 x16
           .latency_us = pcie_latency_us(3),
           .gpus_per_socket = 4},
          {.bandwidth_per_lane = kNvlinkReached * 20 * kGiga,
           .latency_us = kNvlinkLatencyUs,
           .lanes = {},
           .lanes_everywhere = 1}};
}

// Hybrid cube mesh of a V100 DGX-1 and of p3.16xlarge, as `nvidia-smi topo -m` prints it. Six
// ports per GPU; pairs without a port are on different sockets.
constexpr std::array<int, 64> kCubeMesh = {
    0, 1, 1, 2, 2, 0, 0, 0,  //
    1, 0, 2, 1, 0, 2, 0, 0,  //
    1, 2, 0, 2, 0, 0, 1, 0,  //
    2, 1, 2, 0, 0, 0, 0, 1,  //
    2, 0, 0, 0, 0, 1, 1, 2,  //
    0, 2, 0, 0, 1, 0, 2, 1,  //
    0, 0, 1, 0, 1, 2, 0, 2,  //
    0, 0, 0, 1, 2, 1, 2, 0,
};

// Amazon EC2 p3.16xlarge: two Xeon E5-2686 v4 with 16 cores each, 488 GiB, eight V100 16 GB.
Machine v100x8() {
  Device gpu = find_known_device("v100")->device;
  gpu.engine_per_link = true;
  return {{"v100x8", "Amazon EC2 p3.16xlarge: eight Tesla V100 16 GB, NVLink 2 hybrid cube mesh",
           "NVIDIA Tesla V100 data sheet; NVIDIA DGX-1 white paper (topology); Amazon EC2 P3; "
           "latencies and overheads estimated"},
          8,
          host_device(488 * kGiB, cpu_flops(32, 2.3e9, kAvx2FlopsPerCycle), 2 * 76.8 * kGiga),
          gpu,
          {.bandwidth = kPcieReached * 15.75 * kGiga,  // PCIe 3.0 x16
           .latency_us = pcie_latency_us(3),
           .gpus_per_socket = 4},
          {.bandwidth_per_lane = kNvlinkReached * 25 * kGiga,
           .latency_us = kNvlinkLatencyUs,
           .lanes = kCubeMesh,
           .lanes_everywhere = 0}};
}

// NVIDIA DGX A100 640GB: two EPYC 7742 (64 cores, 2.25 GHz, 204.8 GB/s), 2 TB, eight A100 80 GB.
// Twelve NVLink 3 ports per GPU into NVSwitch: any pair at 300 GB/s per direction.
Machine a100x8() {
  const Device& gpu = find_known_device("a100")->device;
  return {{"a100x8", "NVIDIA DGX A100 640GB: eight A100 80 GB behind NVSwitch",
           "NVIDIA A100 and DGX A100 data sheets; AMD EPYC 7742 data sheet; latencies and "
           "overheads estimated"},
          8,
          host_device(2048 * kGiB, cpu_flops(128, 2.25e9, kAvx2FlopsPerCycle), 2 * 204.8 * kGiga),
          gpu,
          {.bandwidth = kPcieReached * 31.5 * kGiga,  // PCIe 4.0 x16
           .latency_us = pcie_latency_us(4),
           .gpus_per_socket = 4},
          {.bandwidth_per_lane = kNvlinkReached * 300 * kGiga,
           .latency_us = kNvSwitchLatencyUs,
           .lanes = {},
           .lanes_everywhere = 1}};
}

// NVIDIA DGX H100: two Xeon Platinum 8480C (56 cores, 2.0 GHz, eight channels of DDR5-4800:
// 307.2 GB/s), 2 TB, eight H100 80 GB. Eighteen NVLink 4 ports per GPU into NVSwitch: any pair at
// 450 GB/s per direction. Two GPUs per PCIe switch is the usual board; the sheet does not say.
Machine h100x8() {
  const Device& gpu = find_known_device("h100")->device;
  return {{"h100x8", "NVIDIA DGX H100: eight H100 80 GB behind NVSwitch",
           "NVIDIA H100 and DGX H100 data sheets; Intel Xeon Platinum 8480 product page; latencies "
           "and overheads estimated"},
          8,
          host_device(2048 * kGiB, cpu_flops(112, 2.0e9, kAvx512FlopsPerCycle), 2 * 307.2 * kGiga),
          gpu,
          {.bandwidth = kPcieReached * 63 * kGiga,  // PCIe 5.0 x16
           .latency_us = pcie_latency_us(5),
           .gpus_per_socket = 4},
          {.bandwidth_per_lane = kNvlinkReached * 450 * kGiga,
           .latency_us = kNvSwitchLatencyUs,
           .lanes = {},
           .lanes_everywhere = 1}};
}

const std::vector<Machine>& machines() {
  static const std::vector<Machine> all = {k80("k80x2", 2), k80("k80x4", 4), p100x4(),
                                           v100x8(),        a100x8(),        h100x8()};
  return all;
}

}  // namespace

std::span<const Cluster::PresetInfo> Cluster::presets() {
  static const std::vector<PresetInfo> all = [] {
    std::vector<PresetInfo> infos;
    std::transform(machines().begin(), machines().end(), std::back_inserter(infos),
                   [](const Machine& machine) { return machine.info; });
    return infos;
  }();
  return all;
}

std::shared_ptr<const Cluster> Cluster::preset(std::string_view name) {
  std::vector<std::string> known;
  for (const Machine& machine : machines()) {
    if (machine.info.name == name) return build(machine);
    known.push_back(machine.info.name);
  }
  throw Error(ErrorCode::not_found,
              cat("there is no cluster preset '", name, "'", known_names(name, std::move(known))));
}

}  // namespace berth
