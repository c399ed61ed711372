#include "detect/detected_machine.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "berth/files.h"
#include "berth/support/index.h"
#include "berth/support/text.h"

namespace berth::detect {
namespace {

// The same shares of a data sheet's rate, and the same estimates, as in the built-in machines
// (engine/core/cluster/presets.cpp), so that the two compare.
constexpr std::int64_t kContextBytes = std::int64_t{512} << 20;
constexpr double kPcieReached = 0.8;
constexpr double kNvlinkReached = 0.9;
constexpr double kHostOverheadUs = 2;
constexpr double kDefaultHertz = 2e9;

/// Operations of a generation of NVIDIA's GPUs per multiprocessor and cycle (CUDA C++ programming guide,
/// arithmetic throughput; data sheets of its GPUs divided by multiprocessors and clock).
struct Generation {
  int major;
  int minor;
  int cores;        ///< per multiprocessor
  double flops_16;  ///< of tensor cores, dense, per cycle and multiprocessor; 0 = as in f32
  double flops_8;   ///< as times flops_16; 0 = as in f32
  double flops_64;  ///< as times f32
  double op_overhead_us;
};
constexpr Generation kGenerations[] = {
    {3, 0, 192, 0, 0, 1. / 3, 5.7},   {5, 0, 128, 0, 0, 1. / 32, 5.5},
    {6, 0, 64, 256, 0, 0.5, 5},       {6, 1, 128, 0, 0, 1. / 32, 5},
    {7, 0, 64, 1024, 0.5, 0.5, 4},    {7, 5, 64, 1024, 2, 1. / 32, 4},
    {8, 0, 64, 2048, 2, 1, 3.5},      {8, 6, 128, 1024, 2, 1. / 64, 3.5},
    {8, 9, 128, 1024, 2, 1. / 64, 3}, {9, 0, 128, 4096, 2, 1, 3},
    {10, 0, 128, 8192, 2, 0.5, 3},    {12, 0, 128, 1024, 2, 1. / 64, 3},
};

/// The latest that is not later; the first for what is older than all.
const Generation& generation_of(const GpuFacts& gpu) {
  const Generation* found = &kGenerations[0];
  for (const Generation& each : kGenerations) {
    if (std::pair(each.major, each.minor) <= std::pair(gpu.major, gpu.minor)) found = &each;
  }
  return *found;
}

/// Bytes per second of a lane in one direction, after its coding.
double pcie_lane(int generation) {
  constexpr double kLane[] = {0, 0.25e9, 0.5e9, 0.985e9, 1.969e9, 3.938e9, 7.563e9};
  return kLane[std::clamp(generation, 0, 6)];
}
double nvlink_lane(int version) {
  constexpr double kLane[] = {25e9, 20e9, 25e9, 25e9, 25e9, 50e9};
  return kLane[std::clamp(version, 0, 5)];
}

/// "NVIDIA GeForce RTX 4090" -> "geforce-rtx-4090".
std::string kind_name(const std::string& product) {
  std::string kind;
  for (const char c : product) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0) {
      kind += static_cast<char>(std::tolower(letter));
    } else if (!kind.empty() && kind.back() != '-') {
      kind += '-';
    }
  }
  if (kind.starts_with("nvidia-")) kind.erase(0, 7);
  while (kind.ends_with('-')) kind.pop_back();
  return kind.empty() ? "gpu" : kind;
}

std::string giga(double figure) {
  std::string text = std::to_string(figure / 1e9);
  return text.substr(0, text.find('.') + 2);
}

Device host_device(const HostFacts& facts, std::string& source) {
  Device host;
  host.name = "cpu:0";
  host.kind = "cpu";
  host.host = true;
  host.memory_bytes = facts.memory_bytes;
  const double hertz = facts.hertz > 0 ? facts.hertz : kDefaultHertz;
  host.flops = facts.cores * hertz * facts.f32_per_cycle;
  host.memory_bandwidth = facts.memory_bandwidth;
  host.op_overhead_us = kHostOverheadUs;
  source = cat(facts.processor, ", ", facts.sockets, facts.sockets == 1 ? " socket" : " sockets",
               ". flops: ", facts.cores, " cores at ", giga(hertz), " GHz",
               facts.hertz > 0 ? "" : " (a guess, the system tells none)", ", ",
               facts.f32_per_cycle, " per cycle (", facts.units,
               "). memory_bandwidth: measured, a = b + s * c on all cores. op_overhead: estimate");
  return host;
}

Device gpu_device(const GpuFacts& facts, int number, std::string& source) {
  const Generation& generation = generation_of(facts);
  const double multiprocessors = static_cast<double>(facts.cores) / generation.cores;
  Device gpu;
  gpu.name = cat("gpu:", number);
  gpu.kind = kind_name(facts.name);
  gpu.memory_bytes = std::max<std::int64_t>(facts.memory_bytes - kContextBytes, 0);
  gpu.flops = facts.cores * facts.hertz * 2;
  gpu.flops_16 = multiprocessors * facts.hertz * generation.flops_16;
  gpu.flops_8 = gpu.flops_16 * generation.flops_8;
  gpu.flops_64 = gpu.flops * generation.flops_64;
  gpu.memory_bandwidth = facts.memory_hertz * 2 * facts.memory_bits / 8;
  gpu.op_overhead_us = generation.op_overhead_us;
  gpu.multiprocessors = multiprocessors;
  source =
      cat(facts.name, " at ", facts.bus, ", compute capability ", facts.major, ".", facts.minor,
          ", by NVML. memory: its total less 512 MiB for a CUDA context. flops: ", facts.cores,
          " cores at ", giga(facts.hertz),
          " GHz, its highest clock; other types by its generation's rates. memory_bandwidth: ",
          facts.memory_bits, " bits at twice ", giga(facts.memory_hertz),
          " GHz. op_overhead: estimate");
  return gpu;
}

/// GPUs of one product whose figures differ, by a clock that someone set, are of two kinds.
void separate_kinds(std::vector<Device>& devices) {
  std::map<std::string, std::vector<Device>> seen;
  for (Device& device : devices) {
    std::vector<Device>& variants = seen[device.kind];
    const auto same = std::find_if(variants.begin(), variants.end(), [&](const Device& other) {
      return other.flops == device.flops && other.flops_16 == device.flops_16 &&
             other.memory_bandwidth == device.memory_bandwidth;
    });
    const auto number = same - variants.begin();
    if (same == variants.end()) variants.push_back(device);
    if (number > 0) device.kind += cat("-", number + 1);
  }
}

/// The links of a machine, with their sources.
class Links {
 public:
  explicit Links(const MachineFacts& facts) : facts_(facts) {
    for (int gpu = 0; gpu < count(); ++gpu) {
      const auto [bandwidth, latency_us, source] = pcie(gpu);
      add({name(gpu), kHost, bandwidth, latency_us, {up(gpu)}}, source);
      add({kHost, name(gpu), bandwidth, latency_us, {down(gpu)}}, source);
      for (int peer = 0; peer < count(); ++peer) {
        if (peer != gpu && !add_nvlink(gpu, peer)) add_pcie(gpu, peer);
      }
    }
  }

  std::vector<LinkSpec> specs;
  std::vector<std::string> sources;

 private:
  static constexpr const char* kHost = "cpu:0";
  struct Rate {
    double bandwidth;
    double latency_us;
    std::string source;
  };

  [[nodiscard]] int count() const { return static_cast<int>(facts_.gpus.size()); }
  [[nodiscard]] const GpuFacts& of(int gpu) const { return facts_.gpus[at(gpu)]; }
  static std::string name(int gpu) { return cat("gpu:", gpu); }
  [[nodiscard]] std::string port(int gpu) const {
    return cat("pcie:", of(gpu).port.empty() ? name(gpu) : of(gpu).port);
  }
  [[nodiscard]] std::string up(int gpu) const { return port(gpu) + ":up"; }
  [[nodiscard]] std::string down(int gpu) const { return port(gpu) + ":down"; }

  void add(LinkSpec link, std::string source) {
    specs.push_back(std::move(link));
    sources.push_back(std::move(source));
  }

  [[nodiscard]] Rate pcie(int gpu) const {
    const GpuFacts& facts = of(gpu);
    // NVML does not tell it of a virtual machine's GPU, for example.
    const int generation = facts.pcie_generation > 0 ? facts.pcie_generation : 3;
    const int lanes = facts.pcie_lanes > 0 ? facts.pcie_lanes : 16;
    const bool told = facts.pcie_generation > 0 && facts.pcie_lanes > 0;
    return {pcie_lane(generation) * lanes * kPcieReached,
            generation <= 3   ? 15.0
            : generation == 4 ? 12.0
                              : 10.0,
            cat("PCIe ", generation, ".0 x", lanes, told ? " by NVML" : ", a guess",
                ", times 0.8; latency: estimate")};
  }

  bool add_nvlink(int gpu, int peer) {
    for (const NvlinkFacts& link : facts_.nvlinks) {
      if (link.gpu != gpu || (link.peer != peer && link.peer != NvlinkFacts::kSwitch)) continue;
      const bool switched = link.peer == NvlinkFacts::kSwitch;
      add({name(gpu),
           name(peer),
           link.lanes * nvlink_lane(link.version) * kNvlinkReached,
           switched ? 8.0 : 10.0,
           {}},
          cat("NVLink version ", link.version, " by NVML, ", link.lanes,
              link.lanes == 1 ? " link" : " links", switched ? " to switches" : "",
              ", times 0.9; latency: estimate"));
      return true;
    }
    return false;
  }

  void add_pcie(int gpu, int peer) {
    const Rate mine = pcie(gpu), theirs = pcie(peer);
    const Rate& slower = mine.bandwidth <= theirs.bandwidth ? mine : theirs;
    LinkSpec link{name(gpu), name(peer), slower.bandwidth, slower.latency_us, {}};
    const int from = of(gpu).socket, to = of(peer).socket;
    if (port(gpu) != port(peer)) {
      link.shares = {up(gpu), down(peer)};
      if (from >= 0 && to >= 0 && from != to) {
        link.shares.push_back(cat("socket:", from, "-", to));
      }
    }
    add(std::move(link), slower.source);
  }

  const MachineFacts& facts_;
};

}  // namespace

DetectedMachine machine_of(const MachineFacts& facts) {
  DetectedMachine machine;
  std::vector<Device> devices;
  machine.device_sources.resize(facts.gpus.size() + 1);
  devices.push_back(host_device(facts.host, machine.device_sources.front()));
  for (std::size_t gpu = 0; gpu < facts.gpus.size(); ++gpu) {
    devices.push_back(
        gpu_device(facts.gpus[gpu], static_cast<int>(gpu), machine.device_sources[gpu + 1]));
  }
  separate_kinds(devices);
  Links links(facts);
  machine.cluster = std::make_shared<const Cluster>("detected", std::move(devices), links.specs);
  machine.link_sources = std::move(links.sources);
  return machine;
}

std::string cluster_json(const DetectedMachine& machine) {
  auto document = nlohmann::ordered_json::parse(berth::cluster_json(*machine.cluster));
  const auto add = [&document](const char* list, const std::vector<std::string>& sources) {
    for (std::size_t i = 0; i < sources.size(); ++i) document[list][i]["source"] = sources[i];
  };
  add("devices", machine.device_sources);
  add("links", machine.link_sources);
  return document.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace berth::detect
