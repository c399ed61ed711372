#include "cuda/backend.h"

#include <algorithm>
#include <utility>

#include "berth/error.h"
#include "berth/support/process_limits.h"
#include "berth/version.h"
#include "cuda/cuda_calls.h"
#include "cuda/cuda_runtime.h"

namespace berth::cuda {
namespace {

// Nominal, until a profile says better.
constexpr double kPeerBandwidth = 25e9;    // a PCIe 4.0 link
constexpr double kStagedBandwidth = 10e9;  // the same, twice over, by way of the host
constexpr double kLatency_us = 10;
constexpr double kHostCoreFlops = 64e9;
constexpr double kHostBandwidth = 20e9;

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::invalid_argument, "backend 'cuda': " + what);
}

}  // namespace

struct CudaBackend::Setup {
  std::shared_ptr<Calls> calls;
  std::vector<Gpu> gpus;
  std::vector<int> gpu_of;  // by device; the host last
  std::string options;
  std::shared_ptr<const Cluster> cluster;

  Setup(const Options& given, std::shared_ptr<Calls> the_calls) : calls(std::move(the_calls)) {
    const std::int64_t wanted = given.integer("devices");
    const std::int64_t memory_bytes = given.integer("memory_bytes");
    gpus = calls->gpus();
    const std::size_t count = wanted == 0 ? gpus.size() : static_cast<std::size_t>(wanted);
    std::vector<Device> devices;
    for (std::size_t d = 0; d < count; ++d) {
      const std::size_t gpu = d % gpus.size();
      const std::size_t sharers = (count - gpu + gpus.size() - 1) / gpus.size();
      gpu_of.push_back(static_cast<int>(gpu));
      devices.push_back(device(d, gpu, static_cast<std::int64_t>(sharers), memory_bytes));
    }
    if (given.boolean("host")) {
      gpu_of.push_back(kHost);
      devices.push_back(host());
    }
    options = "devices=" + std::to_string(count) + ";memory_bytes=" + std::to_string(memory_bytes) +
              ";host=" + (given.boolean("host") ? "1" : "0");
    const std::vector<LinkSpec> links = make_links(devices);
    cluster = std::make_shared<const Cluster>("cuda", std::move(devices), links);
  }

  /// GPUs of one model are of one kind: "cuda", "cuda-2" for the second model, and so on.
  [[nodiscard]] std::string kind(std::size_t gpu) const {
    std::vector<std::string> models;
    for (std::size_t g = 0; g <= gpu; ++g) {
      if (std::find(models.begin(), models.end(), gpus[g].model) == models.end()) {
        models.push_back(gpus[g].model);
      }
    }
    const auto place = std::find(models.begin(), models.end(), gpus[gpu].model) - models.begin();
    return place == 0 ? "cuda" : "cuda-" + std::to_string(place + 1);
  }

  [[nodiscard]] Device device(std::size_t number, std::size_t gpu, std::int64_t sharers,
                              std::int64_t memory_bytes) const {
    const Gpu& below = gpus[gpu];
    Device device;
    device.name = "cuda:" + std::to_string(number);
    device.kind = kind(gpu);
    // The rest is for what LibTorch's libraries allocate besides tensors.
    device.memory_bytes = memory_bytes == 0 ? below.free_bytes / 10 * 9 / sharers : memory_bytes;
    if (device.memory_bytes > below.memory_bytes / sharers) {
      refuse("memory_bytes is " + std::to_string(memory_bytes) + " for each of the " +
             std::to_string(sharers) + " devices on GPU " + std::to_string(gpu) + ", which has " +
             std::to_string(below.memory_bytes) + "; ask for less, or for fewer devices");
    }
    device.flops = below.flops;
    device.memory_bandwidth = below.memory_bandwidth;
    device.multiprocessors = below.multiprocessors;
    return device;
  }

  [[nodiscard]] static Device host() {
    Device device;
    device.name = "cpu:0";
    device.kind = "cpu";
    device.flops = kHostCoreFlops * usable_cores();
    device.memory_bandwidth = kHostBandwidth;
    device.host = true;
    return device;
  }

  [[nodiscard]] std::vector<LinkSpec> make_links(const std::vector<Device>& devices) const {
    std::vector<LinkSpec> links;
    for (std::size_t a = 0; a < devices.size(); ++a) {
      for (std::size_t b = 0; b < devices.size(); ++b) {
        if (a == b) continue;
        links.push_back(
            {devices[a].name, devices[b].name, bandwidth(gpu_of[a], gpu_of[b]), kLatency_us, {}});
      }
    }
    return links;
  }

  /// Bandwidth of copies that `to` makes; lets it read directly where it can.
  [[nodiscard]] double bandwidth(int from, int to) const {
    if (from == kHost || to == kHost) return kPeerBandwidth;
    if (from == to) return gpus[static_cast<std::size_t>(to)].memory_bandwidth / 2;
    return calls->connect(to, from) ? kPeerBandwidth : kStagedBandwidth;
  }

  [[nodiscard]] std::string description() const {
    std::string text;
    for (const Gpu& gpu : gpus) {
      text += (text.empty() ? "" : ", ") + gpu.model + " with " +
              std::to_string(gpu.memory_bytes >> 30) + " GiB";
    }
    return text + "; " + calls->versions() + ": devices " + cluster->device_names();
  }

  [[nodiscard]] std::vector<std::string> notes() const {
    const std::size_t sharers = cluster->device_count() - (gpu_of.back() == kHost ? 1 : 0);
    if (sharers <= gpus.size()) return {};
    return {std::to_string(sharers) + " devices share " + std::to_string(gpus.size()) +
            (gpus.size() == 1 ? " GPU" : " GPUs") +
            ", so that ops that fill it slow one another down, which no simulation knows; give as "
            "many devices as there are GPUs"};
  }

  [[nodiscard]] std::string fingerprint() const {
    std::string text = "cuda;" BERTH_VERSION_STRING ";abi=" + std::to_string(BERTH_ABI_VERSION) +
                       ";" + calls->versions() + ";" + options;
    for (const Gpu& gpu : gpus) {
      text += ";" + gpu.model + "=" + std::to_string(gpu.memory_bytes);
    }
    return text;
  }
};

CudaBackend::CudaBackend(const Options& options) : CudaBackend(options, make_cuda_calls()) {}

CudaBackend::CudaBackend(const Options& options, std::shared_ptr<Calls> calls)
    : CudaBackend(Setup(options, std::move(calls))) {}

CudaBackend::CudaBackend(const Setup& setup)
    : DeviceBackend(setup.cluster,
                    std::make_unique<CudaRuntime>(*setup.cluster, setup.gpu_of, setup.calls),
                    {setup.description(), setup.fingerprint(), setup.notes()}) {}

}  // namespace berth::cuda
