// NVIDIA's GPUs, by the library that comes with their driver. It is opened when it is there, so that
// one program runs on machines with and without it. Its header is not needed: the functions used here
// have kept their signatures since the versions in their names.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "berth/support/text.h"
#include "detect/machine_facts.h"
#include "detect/visible_gpus.h"

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

void note_mask(std::string_view mask, const std::vector<VisibleGpu>& visible, MachineFacts& facts) {
  const std::size_t count = facts.gpus.size();
  if (visible.size() < count) {
    facts.notes.push_back(cat("CUDA_VISIBLE_DEVICES=", mask, " leaves this process ",
                              visible.size(), " of ", count, count == 1 ? " GPU" : " GPUs",
                              "; unset it to plan for all"));
  }
  if (mask.find("MIG-") != std::string_view::npos) {
    facts.notes.emplace_back(
        "parts of a GPU (MIG) are not looked at; describe one in the file of "
        "`berth devices --detect --json`");
  }
  const char* const order = std::getenv("CUDA_DEVICE_ORDER");
  const bool unlike = std::any_of(facts.gpus.begin(), facts.gpus.end(), [&](const GpuFacts& gpu) {
    return gpu.name != facts.gpus.front().name;
  });
  const bool numbers = std::any_of(visible.begin(), visible.end(), [](const VisibleGpu& each) {
    return !each.entry.starts_with("GPU-");
  });
  if (unlike && numbers && (order == nullptr || std::string_view(order) != "PCI_BUS_ID")) {
    facts.notes.emplace_back(
        "the numbers in CUDA_VISIBLE_DEVICES count as those of PCI addresses; CUDA itself has the "
        "fastest GPU first, so set CUDA_DEVICE_ORDER=PCI_BUS_ID");
  }
}

/// Leaves the GPUs that CUDA lets this process use, in its order.
void keep_visible(Nvml& nvml, std::vector<DeviceHandle>& handles, MachineFacts& facts) {
  const char* const mask = std::getenv("CUDA_VISIBLE_DEVICES");
  if (mask == nullptr || handles.empty()) return;
  std::vector<std::string> uuids;
  for (const DeviceHandle device : handles) {
    std::array<char, 96> uuid{};
    nvml.call("nvmlDeviceGetUUID", device, uuid.data(), static_cast<unsigned>(uuid.size() - 1));
    uuids.emplace_back(uuid.data());
  }
  const std::vector<VisibleGpu> visible = visible_gpus(mask, uuids);
  bool as_it_is = visible.size() == handles.size();
  for (std::size_t i = 0; i < visible.size(); ++i) as_it_is = as_it_is && visible[i].gpu == i;
  if (as_it_is) return;
  note_mask(mask, visible, facts);
  std::vector<DeviceHandle> seen;
  std::vector<GpuFacts> gpus;
  for (const VisibleGpu& each : visible) {
    seen.push_back(handles[each.gpu]);
    gpus.push_back(facts.gpus[each.gpu]);
    gpus.back().mask_entry = each.entry;
  }
  handles = std::move(seen);
  facts.gpus = std::move(gpus);
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
  keep_visible(nvml, handles, facts);
  for (std::size_t i = 0; i < handles.size(); ++i) {
    read_nvlinks(nvml, handles[i], static_cast<int>(i), facts);
  }
  read_peers(nvml, handles, facts);
}

}  // namespace berth::detect
