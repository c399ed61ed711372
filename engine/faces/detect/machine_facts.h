// Raw facts that a machine reports.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace berth::detect {

/// A processor, or several in one machine.
struct HostFacts {
  std::string processor;          ///< "AMD EPYC 7763"
  double cores = 1;               ///< that this process may use: by a quota, a fraction too
  int sockets = 1;                ///< with any of them
  double hertz = 0;               ///< the highest clock; 0 = not told
  double f32_per_cycle = 0;       ///< of one core
  std::string units;              ///< what f32_per_cycle counts: "2 x 256-bit FMA"
  std::int64_t memory_bytes = 0;  ///< that this process may use
  double memory_bandwidth = 0;    ///< bytes per second, measured
};

/// Facts that NVML reports of a GPU; 0 and "" = it did not.
struct GpuFacts {
  std::string name;  ///< "NVIDIA A100-SXM4-40GB"
  std::string bus;   ///< on PCI: "0000:3b:00.0"
  std::int64_t memory_bytes = 0;
  int major = 0;  ///< compute capability
  int minor = 0;
  int cores = 0;
  double hertz = 0;         ///< the highest clock of the cores
  double memory_hertz = 0;  ///< and of the memory
  int memory_bits = 0;      ///< width of the memory's bus
  int pcie_generation = 0;
  int pcie_lanes = 0;
  /// The machine's port above it. GPUs with the same port share what it carries.
  std::string port;
  int socket = -1;  ///< that the port belongs to; -1 = not told
  std::string
      mask_entry;  ///< of CUDA_VISIBLE_DEVICES that names it; empty where that changes nothing
};

/// NVLink's lanes from one GPU to another, or to switches that connect all GPUs.
struct NvlinkFacts {
  int gpu = 0;
  int peer = kSwitch;
  int lanes = 0;

  static constexpr int kSwitch = -1;
};

struct MachineFacts {
  HostFacts host;
  /// Those that this process may use, by their PCI addresses, as CUDA_DEVICE_ORDER=PCI_BUS_ID numbers them, or in
  /// the order of CUDA_VISIBLE_DEVICES.
  std::vector<GpuFacts> gpus;
  std::vector<NvlinkFacts> nvlinks;
  /// Pairs of GPUs, from and to, whose driver lets no copy go directly over PCIe.
  std::vector<std::pair<int, int>> without_peer_access;
  std::vector<std::string> notes;  ///< what could not be found out, and why
};

/// Everything. Takes a fraction of a second, two where others load the machine: memory is measured.
[[nodiscard]] MachineFacts read_machine();

/// A measured figure to two digits and to steps of an eighth, 20 to a factor of ten: what differs by a few per cent
/// from one measurement to the next is the same mostly.
[[nodiscard]] double steady_figure(double measured);

/// The parts of it. `nvml` is the library's file name.
[[nodiscard]] HostFacts read_host();
void read_gpus(MachineFacts& facts, const char* nvml = "libnvidia-ml.so.1");
/// Cores and sockets, and the ports and sockets of GPUs, from hwloc where it was there when this was
/// built; a note says where it was not.
void read_topology(MachineFacts& facts);

}  // namespace berth::detect
