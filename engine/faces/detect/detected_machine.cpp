#include "detect/detected_machine.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "berth/files.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "cluster/estimates.h"
#include "cluster/mask.h"
#include "detect/gpu_rates.h"

namespace berth::detect {
namespace {

constexpr double kDefaultHertz = 2e9;

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
               ". flops: ", facts.cores, facts.cores == 1 ? " core at " : " cores at ", giga(hertz),
               " GHz", facts.hertz > 0 ? "" : " (a guess, the system tells none)", ", ",
               facts.f32_per_cycle, " per cycle (", facts.units,
               "). memory_bandwidth: measured, a = b + s * c on all cores. op_overhead: estimate");
  return host;
}

/// Whether it has no memory of its own: NVML tells neither that nor how it is attached.
bool shares_memory(const GpuFacts& gpu) {
  return !gpu.name.empty() && gpu.memory_bytes == 0 && gpu.pcie_generation == 0;
}

Device gpu_device(const GpuFacts& facts, int number, DetectedMachine& machine) {
  const GpuRates rates = rates_of(facts);
  const double told_bandwidth = facts.memory_hertz * 2 * facts.memory_bits / 8;
  Device gpu;
  gpu.name = cat("gpu:", number);
  gpu.kind = kind_name(facts.name);
  if (facts.memory_bytes > 0) {
    gpu.memory_bytes = std::max<std::int64_t>(facts.memory_bytes - kContextBytes, 0);
  }
  gpu.flops = rates.flops;
  gpu.flops_16 = rates.flops_16;
  gpu.flops_8 = rates.flops_8;
  gpu.flops_64 = rates.flops_64;
  gpu.flops_tf32 = rates.flops_tf32;
  gpu.memory_bandwidth = told_bandwidth;
  if (told_bandwidth == 0 && rates.known != nullptr) {
    gpu.memory_bandwidth = rates.known->device.memory_bandwidth;
  }
  gpu.op_overhead_us = rates.op_overhead_us;
  gpu.multiprocessors = rates.multiprocessors;
  machine.device_sources.push_back(
      cat(facts.name, " at ", facts.bus, ", compute capability ", facts.major, ".", facts.minor,
          ", by NVML. memory: ",
          facts.memory_bytes > 0 ? "its total less 512 MiB for a CUDA context" : "not told",
          ". flops: ", rates.source, ". memory_bandwidth: ",
          told_bandwidth > 0
              ? cat(facts.memory_bits, " bits at twice ", giga(facts.memory_hertz), " GHz")
              : cat("not told", gpu.memory_bandwidth > 0 ? ", the data sheet's" : ""),
          ". op_overhead: estimate"));
  return gpu;
}

/// A processor and GPUs with one memory, shared out as between those of a chip in words.
void share_memory(const MachineFacts& facts, std::vector<Device>& devices,
                  DetectedMachine& machine) {
  const auto sharers = std::count_if(facts.gpus.begin(), facts.gpus.end(), shares_memory);
  if (sharers == 0) return;
  const std::int64_t whole = facts.host.memory_bytes;
  const auto part = static_cast<std::int64_t>(kGpuShare * static_cast<double>(whole)) / sharers;
  devices.front().memory_bytes = whole - part * sharers;
  for (std::size_t gpu = 0; gpu < facts.gpus.size(); ++gpu) {
    if (!shares_memory(facts.gpus[gpu])) continue;
    Device& device = devices[gpu + 1];
    device.memory_bytes = part;
    if (device.memory_bandwidth == 0) device.memory_bandwidth = facts.host.memory_bandwidth;
    machine.device_sources[gpu + 1] +=
        ". It has no memory of its own by NVML: three quarters of the "
        "host's are for GPUs, at the bandwidth measured there";
    machine.notes.push_back(cat(device.name, ", ", facts.gpus[gpu].name,
                                ", has no memory of its own by NVML, so that it has a part of the "
                                "host's, with the bandwidth that its cores reach; the file of "
                                "`berth devices --detect --json` can state better figures"));
  }
}

/// Figures that are missing, with the keys that state them.
void note_untold(const std::vector<Device>& devices, DetectedMachine& machine) {
  for (const Device& device : devices) {
    std::string keys;
    const auto add = [&keys](bool missing, const char* key) {
      if (missing) keys += cat(keys.empty() ? "" : ", ", key);
    };
    add(device.memory_bytes == kNoLimit, "memory_bytes");
    add(device.flops == 0, "flops");
    add(device.memory_bandwidth == 0, "memory_bandwidth_bytes_per_s");
    if (keys.empty()) continue;
    machine.notes.push_back(
        cat(device.name, " does not tell ", keys,
            "; add what it has to the file of `berth devices --detect --json`"));
  }
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

/// The host has an engine per link, unless GPUs share its memory; so have GPUs that NVLink joins point to point
/// to several others, and with them those of their kind.
void give_engines(const MachineFacts& facts, std::vector<Device>& devices) {
  devices.front().engine_per_link =
      std::none_of(facts.gpus.begin(), facts.gpus.end(), shares_memory);
  for (std::size_t gpu = 0; gpu < facts.gpus.size(); ++gpu) {
    const auto peers =
        std::count_if(facts.nvlinks.begin(), facts.nvlinks.end(), [&](const NvlinkFacts& link) {
          return at(link.gpu) == gpu && link.peer != NvlinkFacts::kSwitch;
        });
    if (peers < 2) continue;
    for (Device& device : devices) {
      if (device.kind == devices[gpu + 1].kind) device.engine_per_link = true;
    }
  }
}

/// The links of a machine, with their sources.
class Links {
 public:
  explicit Links(const MachineFacts& facts) : facts_(facts) {
    for (int gpu = 0; gpu < count(); ++gpu) {
      add_host(gpu);
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

  void add_host(int gpu) {
    if (shares_memory(of(gpu)) && facts_.host.memory_bandwidth > 0) {
      const double bandwidth = kOneMemoryShare * facts_.host.memory_bandwidth;
      const char* const source = "a copy within one memory reads and writes it; latency: estimate";
      add({name(gpu), kHost, bandwidth, kOneMemoryLatencyUs, {}}, source);
      add({kHost, name(gpu), bandwidth, kOneMemoryLatencyUs, {}}, source);
      return;
    }
    const auto [bandwidth, latency_us, source] = pcie(gpu);
    add({name(gpu), kHost, bandwidth, latency_us, {up(gpu)}}, source);
    add({kHost, name(gpu), bandwidth, latency_us, {down(gpu)}}, source);
  }

  [[nodiscard]] Rate pcie(int gpu) const {
    const GpuFacts& facts = of(gpu);
    // NVML does not tell it of a virtual machine's GPU, for example.
    const int generation = facts.pcie_generation > 0 ? facts.pcie_generation : 3;
    const int lanes = facts.pcie_lanes > 0 ? facts.pcie_lanes : 16;
    const bool told = facts.pcie_generation > 0 && facts.pcie_lanes > 0;
    return {pcie_bandwidth(generation, lanes), pcie_latency_us(generation),
            cat("PCIe ", generation, ".0 x", lanes, told ? " by NVML" : ", a guess",
                ", times 0.8; latency: estimate")};
  }

  bool add_nvlink(int gpu, int peer) {
    for (const NvlinkFacts& link : facts_.nvlinks) {
      if (link.gpu != gpu || (link.peer != peer && link.peer != NvlinkFacts::kSwitch)) continue;
      const bool switched = link.peer == NvlinkFacts::kSwitch;
      const double lane = rates_of(of(gpu)).nvlink_lane;
      if (lane == 0) return false;
      add({name(gpu),
           name(peer),
           link.lanes * lane * kNvlinkReached,
           switched ? kNvSwitchLatencyUs : kNvlinkLatencyUs,
           {}},
          cat("NVLink by NVML, ", link.lanes, link.lanes == 1 ? " link" : " links",
              switched ? " to switches" : "", " of ", giga(lane),
              " GB/s by the GPU's generation, times 0.9; latency: estimate"));
      return true;
    }
    return false;
  }

  void add_pcie(int gpu, int peer) {
    const Rate mine = pcie(gpu), theirs = pcie(peer);
    const Rate& slower = mine.bandwidth <= theirs.bandwidth ? mine : theirs;
    LinkSpec link{name(gpu), name(peer), slower.bandwidth, slower.latency_us, {}};
    const int from = of(gpu).socket, to = of(peer).socket;
    const auto& closed = facts_.without_peer_access;
    const bool staged =
        std::find(closed.begin(), closed.end(), std::pair(gpu, peer)) != closed.end();
    if (staged) {
      link.bandwidth_bytes_per_s *= kThroughHost;
      link.latency_us *= 2;
    }
    if (staged || port(gpu) != port(peer)) {
      link.shares = {up(gpu), down(peer)};
      if (from >= 0 && to >= 0 && from != to) {
        link.shares.push_back(cat("socket:", from, "-", to));
      }
    }
    if (staged) {
      const auto [first, second] = std::minmax(gpu, peer);
      link.shares.push_back(staged_channel(name(first), name(second)));
    }
    add(std::move(link), slower.source + (staged ? "; through the host's memory, by NVML" : ""));
  }

  const MachineFacts& facts_;
};

}  // namespace

DetectedMachine machine_of(const MachineFacts& facts) {
  DetectedMachine machine;
  std::vector<Device> devices;
  devices.push_back(host_device(facts.host, machine.device_sources.emplace_back()));
  for (std::size_t gpu = 0; gpu < facts.gpus.size(); ++gpu) {
    devices.push_back(gpu_device(facts.gpus[gpu], static_cast<int>(gpu), machine));
  }
  share_memory(facts, devices, machine);
  note_untold(devices, machine);
  separate_kinds(devices);
  give_engines(facts, devices);
  Links links(facts);
  std::vector<std::string> mask;
  for (const GpuFacts& gpu : facts.gpus) {
    if (!gpu.mask_entry.empty()) mask.push_back(gpu.mask_entry);
  }
  machine.cluster = std::make_shared<const Cluster>(masked_name("detected", mask),
                                                    std::move(devices), links.specs);
  machine.link_sources = std::move(links.sources);
  return machine;
}

std::string cluster_json(const DetectedMachine& machine) {
  auto document = nlohmann::ordered_json::parse(berth::cluster_json(*machine.cluster));
  const auto add = [&document](const char* list, const std::vector<std::string>& sources) {
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (!sources[i].empty()) document[list][i]["source"] = sources[i];
    }
  };
  add("devices", machine.device_sources);
  add("links", machine.link_sources);
  return document.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace berth::detect
