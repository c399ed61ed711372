// Shared by all backends, given a DeviceRuntime.
#pragma once

#include <memory>

#include "berth/backend.h"
#include "runtime/device_runtime.h"
#include "runtime/executor.h"

namespace berth::runtime {

class LinkProbe;

class DeviceBackend : public Backend {
 public:
  ~DeviceBackend() override;

  std::shared_ptr<const Cluster> cluster() const override { return cluster_; }
  std::vector<Obstacle> cannot_run(const Program& program) const override;
  std::unique_ptr<Session> open(std::shared_ptr<const Program> program,
                                const SessionOptions& options) override;
  double transfers_us(DeviceId src, DeviceId dst, std::int64_t bytes, int count) override;

 protected:
  DeviceBackend(std::shared_ptr<const Cluster> cluster, std::unique_ptr<DeviceRuntime> runtime);

 private:
  std::shared_ptr<const Cluster> cluster_;
  std::unique_ptr<DeviceRuntime> runtime_;
  Executor executor_;
  std::unique_ptr<LinkProbe> probe_;  // of the link that was measured last
};

}  // namespace berth::runtime
