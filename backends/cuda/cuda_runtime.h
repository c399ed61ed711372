// Logical CUDA devices, each with streams and a share of a GPU's memory of its own, and the host.
//
// Per logical device: a compute stream, which its ops run on in the order in which they were
// issued, and two streams for copies, `in` for what arrives from GPUs and from the host, `out` for
// what leaves to the host. Between them stand events alone:
//   op            waits for the arrival of what it reads, where that was copied in this step;
//   copy          waits for the last op that its sender had issued when it was asked for, and, GPU
//                 to GPU, for the sender's copy before (one outgoing engine; `in` is the other).
// So an op is issued as soon as what it reads has been, and the host runs ahead of the GPUs. It
// waits where an op must see a value to go on (ATen does, on the op's own stream), and when a step
// ends. What goes to the host is told when it is there: the host's ops have no stream to wait on.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "berth/cluster.h"
#include "cuda/calls.h"
#include "cuda/host_bridge.h"
#include "cuda/pinned_pool.h"
#include "runtime/device_runtime.h"

namespace berth::cuda {

class CudaRuntime final : public runtime::DeviceRuntime {
 public:
  /// `gpu_of` by device: a GPU's number, or kHost. Throws as Calls.
  CudaRuntime(const Cluster& cluster, std::vector<int> gpu_of, std::shared_ptr<Calls> calls);
  ~CudaRuntime() override;

  at::Device torch_device(DeviceId device) const override;
  runtime::MemoryMeter& meter(DeviceId device) override;
  void enter(DeviceId) override {}
  void begin_step(DeviceId device) override;
  void run(DeviceId device, const runtime::Kernel& kernel, runtime::KernelContext& context,
           std::span<const runtime::Value> inputs, std::span<runtime::Value> outputs) override;
  void end_step(DeviceId device, std::span<runtime::OpTimes> times) override;
  void copy(const runtime::CopyRequest& request, runtime::CopySink& sink) override;
  std::optional<runtime::OpTimes> copy_times(std::uint32_t number) override;
  runtime::Value upload(DeviceId device, const runtime::Value& host) override;
  runtime::Value download(DeviceId device, const runtime::Value& value) override;

 private:
  struct Unit;
  struct EventPair {
    Event begin = nullptr;
    Event end = nullptr;
  };
  [[nodiscard]] Unit& unit(DeviceId device) const;
  void await(Unit& unit, const runtime::Value& value);
  void between_gpus(const runtime::CopyRequest& request, runtime::CopySink& sink);
  void to_host(const runtime::CopyRequest& request, runtime::CopySink& sink);
  void from_host(const runtime::CopyRequest& request, runtime::CopySink& sink);
  void keep(Unit& receiver, Event end, std::array<runtime::Value, 2> source);
  void free_kept();
  [[nodiscard]] at::Tensor allocate(Unit& unit, Stream stream, const at::Tensor& like);
  [[nodiscard]] at::Tensor dense(Unit& unit, const at::Tensor& tensor);
  [[nodiscard]] bool on_gpu(const Unit& unit, const at::Tensor& tensor) const;
  [[nodiscard]] EventPair copy_events(Unit& unit, std::uint32_t number);

  std::shared_ptr<Calls> calls_;
  std::shared_ptr<PinnedPool> pinned_;
  std::vector<std::unique_ptr<Unit>> units_;
  std::mutex mutex_;              // guards the next one, and what units say that it guards
  std::vector<Unit*> copied_by_;  // by message number: whose events say when
  std::atomic<std::size_t> kept_count_ = 0;  // of all units
  std::unique_ptr<HostBridge> bridge_;
};

}  // namespace berth::cuda
