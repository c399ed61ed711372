// Devices that a test drives: they compute on the CPU at once and copy when they are told to.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "berth/cluster.h"
#include "runtime/device_runtime.h"
#include "runtime/values.h"

namespace berth::test {

/// Devices d:0, d:1, ... with equal links.
inline std::shared_ptr<const Cluster> stand_in_cluster(int count,
                                                       std::int64_t memory_bytes = kNoLimit) {
  std::vector<Device> devices;
  for (int d = 0; d < count; ++d) {
    Device device;
    device.name = "d:" + std::to_string(d);
    device.kind = "d";
    device.memory_bytes = memory_bytes;
    device.flops = 1e9;
    device.memory_bandwidth = 1e9;
    devices.push_back(std::move(device));
  }
  std::vector<LinkSpec> links = {{"*", "*", 1e9, 1, {}}};
  return std::make_shared<const Cluster>("stand-ins", std::move(devices), links);
}

class StandIn : public runtime::DeviceRuntime {
 public:
  explicit StandIn(const Cluster& cluster)
      : owners_(static_cast<std::size_t>(cluster.device_count())) {
    for (DeviceId d = 0; d < cluster.device_count(); ++d) {
      meters_.push_back(std::make_unique<runtime::MemoryMeter>(cluster.device(d).name,
                                                               cluster.device(d).memory_bytes));
    }
  }

  at::Device torch_device(DeviceId) const override { return at::kCPU; }
  runtime::MemoryMeter& meter(DeviceId device) override {
    return *meters_[static_cast<std::size_t>(device)];
  }
  void enter(DeviceId device) override {
    owners_[static_cast<std::size_t>(device)] = std::this_thread::get_id();
  }
  void begin_step(DeviceId) override {}
  void run(DeviceId device, const runtime::Kernel& kernel, runtime::KernelContext& context,
           std::span<const runtime::Value> inputs, std::span<runtime::Value> outputs) override {
    const runtime::MeterScope scope(&meter(device));
    kernel(context, inputs, outputs);
  }
  void end_step(DeviceId, std::span<runtime::OpTimes>) override {}

  /// At once, on the thread that asks.
  void copy(const runtime::CopyRequest& request, runtime::CopySink& sink) override {
    record(request);
    finish(request, sink);
  }
  runtime::Value upload(DeviceId device, const runtime::Value& host) override {
    const runtime::MeterScope scope(&meter(device));
    return runtime::deep_copy(host);
  }
  runtime::Value download(DeviceId, const runtime::Value& value) override {
    const runtime::MeterScope none(nullptr);
    return runtime::deep_copy(value);
  }

  /// Every copy that was asked for: sender, receiver.
  std::vector<std::pair<DeviceId, DeviceId>> copies() {
    const std::lock_guard lock(mutex_);
    return copies_;
  }
  /// The thread that works for a device.
  std::thread::id owner(DeviceId device) const { return owners_[static_cast<std::size_t>(device)]; }

 protected:
  void record(const runtime::CopyRequest& request) {
    const std::lock_guard lock(mutex_);
    copies_.emplace_back(request.src, request.dst);
  }
  void finish(const runtime::CopyRequest& request, runtime::CopySink& sink) {
    runtime::Value copy;
    try {
      const runtime::MeterScope scope(&meter(request.dst));
      copy = runtime::deep_copy(*request.source);
    } catch (...) {
      sink.copy_failed(request.number, std::current_exception());
      return;
    }
    sink.copied(request.number, std::move(copy));
  }

  std::mutex mutex_;

 private:
  std::vector<std::unique_ptr<runtime::MemoryMeter>> meters_;
  std::vector<std::thread::id> owners_;
  std::vector<std::pair<DeviceId, DeviceId>> copies_;
};

}  // namespace berth::test
