// Logical CPU devices: each a worker pinned to its cores, with its own intra-op threads and memory.
#pragma once

#include <memory>
#include <vector>

#include "berth/cluster.h"
#include "cpu/copier.h"
#include "runtime/device_runtime.h"

namespace berth::cpu {

class CpuRuntime final : public runtime::DeviceRuntime {
 public:
  /// Device d gets `threads` of the `cores`, starting at d * threads and wrapping around if there
  /// are too few.
  CpuRuntime(const Cluster& cluster, std::vector<int> cores, int threads, const EmulatedLink& link);
  ~CpuRuntime() override;

  at::Device torch_device(DeviceId device) const override;
  runtime::MemoryMeter& meter(DeviceId device) override;
  double patience_us() const override;
  void enter(DeviceId device) override;
  void begin_step(DeviceId) override {}
  void run(DeviceId device, const runtime::Kernel& kernel, runtime::KernelContext& context,
           std::span<const runtime::Value> inputs, std::span<runtime::Value> outputs) override;
  void end_step(DeviceId, std::span<runtime::OpTimes>) override {}
  bool reads_others() const override;
  runtime::Value receive(DeviceId device, const runtime::Value& sent) override;
  void copy(const runtime::CopyRequest& request, runtime::CopySink& sink) override;
  runtime::Value upload(DeviceId device, const runtime::Value& host) override;
  runtime::Value download(DeviceId device, const runtime::Value& value) override;

 private:
  struct Unit;
  /// The core of one of a device's threads.
  [[nodiscard]] int core(DeviceId device, int thread) const;

  std::vector<int> cores_;
  int threads_;
  std::vector<std::unique_ptr<Unit>> units_;
};

}  // namespace berth::cpu
