// A program on the devices of a backend: its parameters, variables and inputs, and the plan of the
// placement that ran last.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "berth/backend.h"
#include "runtime/branches.h"
#include "runtime/device_runtime.h"
#include "runtime/executor.h"
#include "runtime/fused.h"

namespace berth::runtime {

class DeviceSession final : public Session {
 public:
  /// `kernels` by op, empty for the program's inputs. Runtime and executor must outlive it. Throws
  /// as Backend::open.
  DeviceSession(std::shared_ptr<const Program> program, std::vector<Kernel> kernels,
                std::shared_ptr<const Cluster> cluster, DeviceRuntime& runtime, Executor& executor,
                const SessionOptions& options);
  ~DeviceSession() override;

  const Program& program() const noexcept override { return *program_; }
  StepResult run(const Placement& placement, const StepOptions& options) override;
  std::vector<Costs::Joined> joined() const override { return fused_.joined(); }
  void reset() override;

 private:
  void take_inputs(const std::map<std::string, TensorContent, std::less<>>& inputs);
  void check(const Placement& placement) const;
  void place(const Placement& placement, const StepInputs& inputs);
  void load_parameters(const Plan& plan);
  [[nodiscard]] const Value& host_parameter(TensorId tensor);
  [[nodiscard]] Value arranged(TensorId tensor, DeviceId device, const Value& host) const;
  [[nodiscard]] bool stays_on_host(TensorId tensor, const Value& value) const;
  void compute(OpId constant);
  void feed(const Placement& placement, std::uint64_t seed);
  [[nodiscard]] std::vector<TensorContent> outputs(const Placement& placement);

  std::shared_ptr<const Program> program_;
  std::vector<Kernel> kernels_;
  std::vector<Kernel> placed_kernels_;  // of the placement that ran last
  FusedOps fused_;
  Branches branches_;
  std::shared_ptr<const Cluster> cluster_;
  DeviceRuntime& runtime_;
  Executor& executor_;
  std::uint64_t seed_;
  std::vector<double> priorities_us_;
  std::vector<TensorId> overwritten_;    ///< by op
  std::vector<bool> weights_of_images_;  // by tensor

  std::map<TensorId, Value> host_parameters_;  // of the file, drawn, or computed once
  DeviceState constant_state_;                 // variables that the step only reads
  std::vector<bool> computed_;                 // by op: constants whose outputs are there
  std::map<std::pair<TensorId, DeviceId>, Value> parameters_;
  std::vector<DeviceState> states_;  // by device

  // Indexed as Program::inputs.
  std::vector<Value> given_;  // absent = drawn
  std::vector<Value> drawn_;
  std::uint64_t drawn_seed_ = 0;
  std::vector<Value> fed_;  // on their devices, for the whole step

  std::unique_ptr<Step> step_;  // of the placement that ran last
};

}  // namespace berth::runtime
