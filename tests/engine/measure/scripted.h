// A backend whose steps and transfers a test writes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/backend.h"

namespace berth::test {

/// A program of `ops` ops in a chain, "op0", "op1", ...; the last one's output is the model's, "y".
inline std::shared_ptr<const Program> chain_program(int ops = 3) {
  GraphBuilder builder("chain");
  auto program = std::make_shared<Program>();
  TensorId last = kNoTensor;
  for (int i = 0; i < ops; ++i) {
    const OpId op = builder.add_op("op" + std::to_string(i), "Relu");
    if (last != kNoTensor) builder.add_input(op, last);
    last = builder.add_output(op, {DType::f32, true, {4}});
  }
  program->graph = builder.build();
  program->instructions.resize(static_cast<std::size_t>(ops));
  program->parameters.resize(static_cast<std::size_t>(program->graph->tensor_count()));
  program->outputs = {last};
  program->output_names = {"y"};
  return program;
}

/// Devices "a:0", "a:1", ... of kind "a" for {2}, and "b:0" beside them for {2, 1}.
inline std::shared_ptr<const Cluster> scripted_cluster(const std::vector<int>& counts,
                                                       std::int64_t memory_bytes = kNoLimit) {
  std::vector<Device> devices;
  for (std::size_t kind = 0; kind < counts.size(); ++kind) {
    for (int i = 0; i < counts[kind]; ++i) {
      Device device;
      device.kind = std::string(1, static_cast<char>('a' + kind));
      device.name = device.kind + ":" + std::to_string(i);
      device.memory_bytes = memory_bytes;
      device.flops = device.memory_bandwidth = 1e9;
      devices.push_back(std::move(device));
    }
  }
  return std::make_shared<const Cluster>("scripted", std::move(devices),
                                         std::vector<LinkSpec>{{"*", "*", 1e9, 1, {}}});
}

class ScriptedSession final : public Session {
 public:
  using Step = std::function<StepResult(const Placement&, const StepOptions&)>;
  ScriptedSession(std::shared_ptr<const Program> program, Step step)
      : program_(std::move(program)), step_(std::move(step)) {}

  const Program& program() const noexcept override { return *program_; }
  StepResult run(const Placement& placement, const StepOptions& options) override {
    ++steps;
    ++steps_since_reset;
    return step_(placement, options);
  }
  void reset() override { steps_since_reset = 0; }

  int steps = 0;
  int steps_since_reset = 0;

 private:
  std::shared_ptr<const Program> program_;
  Step step_;
};

class ScriptedBackend final : public Backend {
 public:
  using Transfer = std::function<double(DeviceId, DeviceId, std::int64_t, int)>;
  explicit ScriptedBackend(std::shared_ptr<const Cluster> cluster, Transfer transfer = {})
      : cluster_(std::move(cluster)), transfer_(std::move(transfer)) {}

  std::shared_ptr<const Cluster> cluster() const override { return cluster_; }
  std::string description() const override { return "scripted"; }
  std::string fingerprint() const override { return "scripted"; }
  std::vector<Obstacle> cannot_run(const Program&) const override { return {}; }
  std::unique_ptr<Session> open(std::shared_ptr<const Program>, const SessionOptions&) override {
    return nullptr;
  }
  double transfers_us(DeviceId src, DeviceId dst, std::int64_t bytes, int count) override {
    return transfer_(src, dst, bytes, count);
  }

 private:
  std::shared_ptr<const Cluster> cluster_;
  Transfer transfer_;
};

}  // namespace berth::test
