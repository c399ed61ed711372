// NVIDIA's GPUs, by the library that comes with their driver. It is opened when it is there, so that
// one program runs on machines with and without it. Its header is not needed: the functions used here
// have kept their signatures since the versions in their names.
#include <dlfcn.h>

#include <array>
#include <string>

#include "berth/support/text.h"
#include "detect/machine_facts.h"

namespace berth::detect {
namespace {

struct PciInfo {
  char legacy_bus[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
struct Memory {
  unsigned long long total, free, used;
};
using DeviceHandle = void*;

constexpr unsigned kMostLinks = 18;
enum RemoteType { kRemoteGpu = 0, kRemoteSwitch = 2 };
constexpr int kPeerWrites = 1;  // of nvmlGpuP2PCapsIndex_t
enum Clock { kCoreClock = 1, kMemoryClock = 2 };

class Nvml {
 public:
  explicit Nvml(const char* file) : library_(dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
    ready_ = library_ != nullptr && call("nvmlInit_v2");
  }
  ~Nvml() {
    if (ready_) call("nvmlShutdown");
    if (library_ != nullptr) dlclose(library_);
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  [[nodiscard]] bool found() const { return library_ != nullptr; }
  [[nodiscard]] bool ready() const { return ready_; }

  /// Whether the function is there and succeeds.
  template <typename... Arguments>
  bool call(const char* name, Arguments... arguments) {
    using Function = int (*)(Arguments...);
    const auto function = reinterpret_cast<Function>(dlsym(library_, name));
    return function != nullptr && function(arguments...) == 0;
  }

 private:
  void* library_;
  bool ready_ = false;
};

/// "00000000:3B:00.0", as NVML writes it, and "0000:3b:00.0" alike.
std::string bus_of(const PciInfo& info) {
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", info.domain, info.bus, info.device);
  return text;
}

GpuFacts read_gpu(Nvml& nvml, DeviceHandle device) {
  GpuFacts gpu;
  std::array<char, 96> name{};
  if (nvml.call("nvmlDeviceGetName", device, name.data(), static_cast<unsigned>(name.size() - 1))) {
    gpu.name = name.data();
  }
  PciInfo pci{};
  if (nvml.call("nvmlDeviceGetPciInfo_v3", device, &pci)) gpu.bus = bus_of(pci);
  Memory memory{};
  if (nvml.call("nvmlDeviceGetMemoryInfo", device, &memory)) {
    gpu.memory_bytes = static_cast<std::int64_t>(memory.total);
  }
  nvml.call("nvmlDeviceGetCudaComputeCapability", device, &gpu.major, &gpu.minor);
  const auto number = [&](const char* function) {
    unsigned value = 0;
    return nvml.call(function, device, &value) ? static_cast<int>(value) : 0;
  };
  const auto clock = [&](int of) {
    unsigned mhz = 0;
    return nvml.call("nvmlDeviceGetMaxClockInfo", device, of, &mhz) ? mhz * 1e6 : 0.0;
  };
  gpu.cores = number("nvmlDeviceGetNumGpuCores");
  gpu.hertz = clock(kCoreClock);
  gpu.memory_hertz = clock(kMemoryClock);
  gpu.memory_bits = number("nvmlDeviceGetMemoryBusWidth");
  gpu.pcie_generation = number("nvmlDeviceGetMaxPcieLinkGeneration");
  gpu.pcie_lanes = number("nvmlDeviceGetMaxPcieLinkWidth");
  return gpu;
}

/// The lanes of GPU `index`, those to one end counted together.
void read_nvlinks(Nvml& nvml, DeviceHandle device, int index, MachineFacts& facts) {
  for (unsigned link = 0; link < kMostLinks; ++link) {
    int active = 0;
    if (!nvml.call("nvmlDeviceGetNvLinkState", device, link, &active) || active == 0) continue;
    NvlinkFacts found{index, NvlinkFacts::kSwitch, 1};
    int remote = kRemoteSwitch;
    nvml.call("nvmlDeviceGetNvLinkRemoteDeviceType", device, link, &remote);
    if (remote == kRemoteGpu) {
      PciInfo pci{};
      if (!nvml.call("nvmlDeviceGetNvLinkRemotePciInfo_v2", device, link, &pci)) continue;
      const std::string bus = bus_of(pci);
      for (std::size_t peer = 0; peer < facts.gpus.size(); ++peer) {
        if (facts.gpus[peer].bus == bus) found.peer = static_cast<int>(peer);
      }
      if (found.peer == NvlinkFacts::kSwitch) continue;  // a GPU that is kept from this process
    } else if (remote != kRemoteSwitch) {
      continue;  // a processor, whose links NVML does not describe
    }
    bool known = false;
    for (NvlinkFacts& other : facts.nvlinks) {
      if (other.gpu != index || other.peer != found.peer) continue;
      ++other.lanes;
      known = true;
    }
    if (!known) facts.nvlinks.push_back(found);
  }
}

/// The pairs that may not copy directly; where NVML does not say, those of consumer cards.
void read_peers(Nvml& nvml, const std::vector<DeviceHandle>& handles, MachineFacts& facts) {
  const auto consumer = [&](std::size_t gpu) {
    return facts.gpus[gpu].name.find("GeForce") != std::string::npos;
  };
  for (std::size_t from = 0; from < handles.size(); ++from) {
    for (std::size_t to = 0; to < handles.size(); ++to) {
      if (from == to) continue;
      int status = 0;
      const bool told =
          nvml.call("nvmlDeviceGetP2PStatus", handles[from], handles[to], kPeerWrites, &status);
      if (told ? status == 0 : !consumer(from) && !consumer(to)) continue;
      facts.without_peer_access.emplace_back(static_cast<int>(from), static_cast<int>(to));
    }
  }
}

}  // namespace

void read_gpus(MachineFacts& facts, const char* file) {
  Nvml nvml(file);
  if (!nvml.ready()) {
    facts.notes.push_back(nvml.found()
                              ? cat(file, " cannot reach its driver, so that GPUs are not known")
                              : cat("no NVIDIA driver (", file, "), so that GPUs are not known"));
    return;
  }
  unsigned count = 0;
  nvml.call("nvmlDeviceGetCount_v2", &count);
  std::vector<DeviceHandle> handles;
  for (unsigned i = 0; i < count; ++i) {
    DeviceHandle device = nullptr;
    if (!nvml.call("nvmlDeviceGetHandleByIndex_v2", i, &device)) {
      facts.notes.push_back(cat("GPU ", i, " of NVML is kept from this process"));
      continue;
    }
    handles.push_back(device);
    facts.gpus.push_back(read_gpu(nvml, device));
  }
  for (std::size_t i = 0; i < handles.size(); ++i) {
    read_nvlinks(nvml, handles[i], static_cast<int>(i), facts);
  }
  read_peers(nvml, handles, facts);
}

}  // namespace berth::detect
