// Shared by all backends, given a DeviceRuntime.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "berth/backend.h"
#include "runtime/device_runtime.h"
#include "runtime/executor.h"

namespace berth::runtime {

class LinkProbe;

class DeviceBackend : public Backend {
 public:
  ~DeviceBackend() override;

  std::string description() const override { return facts_.description; }
  std::string fingerprint() const override { return facts_.fingerprint; }
  std::vector<std::string> notes() const override { return facts_.notes; }
  std::shared_ptr<const Cluster> cluster() const override { return cluster_; }
  std::vector<Obstacle> cannot_run(const Program& program) const override;
  std::unique_ptr<Session> open(std::shared_ptr<const Program> program,
                                const SessionOptions& options) override;
  double transfers_us(DeviceId src, DeviceId dst, std::int64_t bytes, int count) override;

 protected:
  struct Facts {
    std::string description;
    std::string fingerprint;
    std::vector<std::string> notes;
  };
  DeviceBackend(std::shared_ptr<const Cluster> cluster, std::unique_ptr<DeviceRuntime> runtime,
                Facts facts);

 private:
  std::shared_ptr<const Cluster> cluster_;
  std::unique_ptr<DeviceRuntime> runtime_;
  Executor executor_;
  Facts facts_;
  std::unique_ptr<LinkProbe> probe_;  // of the link that was measured last
};

}  // namespace berth::runtime
