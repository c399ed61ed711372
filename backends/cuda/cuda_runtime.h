// Logical CUDA devices, each with its own streams and its share of a GPU's memory, and the host.
//
// A logical device has a compute stream, on which its ops run in the order in which they were
// issued, and two streams for copies: `in` for what arrives from GPUs and from the host, `out` for
// what leaves to the host. Only events order these streams:
//   op            waits for the arrival of its inputs, if they were copied in this step;
//   copy          waits for the last op that its sender had issued when it was requested, and, from
//                 GPU to GPU, for the sender's previous copy (one outgoing engine; `in` is the
//                 other);
//   signal        a copy of nothing; a GPU's later ops wait for it.
// So an op is issued as soon as its producers have been, and the host runs ahead of the GPUs. The
// host waits if an op must see a value to go on (ATen does this, on the op's own stream), and when
// a step ends. A copy to the host is reported when it has arrived, because the host's ops have no
// stream to wait on.
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
  bool is_asynchronous(DeviceId device) const override;
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
  std::mutex mutex_;              // guards the next member, and what units say that it guards
  std::vector<Unit*> copied_by_;  // by message number: the unit whose events say when
  std::atomic<std::size_t> kept_count_ = 0;  // of all units
  std::unique_ptr<HostBridge> bridge_;
};

}  // namespace berth::cuda
