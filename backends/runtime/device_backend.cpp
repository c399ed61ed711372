#include "runtime/device_backend.h"

#include <ATen/ops/zeros.h>

#include <array>
#include <utility>

#include "berth/error.h"
#include "runtime/compile.h"
#include "runtime/session.h"

namespace berth::runtime {

/// Two ops on two devices, and tensors of a given size between them. Measures what transfers take
/// within a step, including waking the receiver.
class LinkProbe {
 public:
  LinkProbe(DeviceId src, DeviceId dst, std::int64_t bytes, int count, DeviceId device_count)
      : key_(src, dst, bytes, count), states_(static_cast<std::size_t>(device_count)) {
    GraphBuilder builder("link");
    const OpId source = builder.add_op("source", "Source");
    const OpId sink = builder.add_op("sink", "Sink");
    program_.instructions.resize(2);
    for (int i = 0; i < count; ++i) {
      const TensorId tensor = builder.add_output(source, {DType::u8, true, {bytes}});
      builder.add_input(sink, tensor);
      program_.instructions[0].outputs.push_back(tensor);
      program_.instructions[1].inputs.push_back(tensor);
    }
    program_.graph = builder.build();
    kernels_ = {[bytes](KernelContext& context, std::span<const Value>, std::span<Value> outputs) {
                  for (Value& output : outputs) {
                    output.tensor =
                        at::zeros({bytes}, at::TensorOptions(at::kByte).device(context.device));
                  }
                },
                [](KernelContext&, std::span<const Value>, std::span<Value>) {}};
    constexpr std::array<double, 2> kPriorities = {2, 1};
    step_ = std::make_unique<Step>(
        std::make_shared<const Plan>(make_plan(program_, {src, dst}, device_count, kPriorities)),
        inputs());
  }

  using Key = std::tuple<DeviceId, DeviceId, std::int64_t, int>;
  [[nodiscard]] const Key& key() const noexcept { return key_; }

  double run(Executor& executor) {
    executor.run(*step_, inputs());
    const auto& index = step_->plan().index;
    return step_->op_times()[index[1]].start_us - step_->op_times()[index[0]].end_us;
  }

 private:
  StepInputs inputs() {
    return {program_, kernels_, [](TensorId, DeviceId) -> const Value* { return nullptr; },
            states_,  0,        false,
            nullptr};
  }

  Key key_;
  Program program_;
  std::vector<Kernel> kernels_;
  std::vector<DeviceState> states_;
  std::unique_ptr<Step> step_;
};

DeviceBackend::DeviceBackend(std::shared_ptr<const Cluster> cluster,
                             std::unique_ptr<DeviceRuntime> runtime, Facts facts)
    : cluster_(std::move(cluster)),
      runtime_(std::move(runtime)),
      executor_(*runtime_, *cluster_),
      facts_(std::move(facts)) {}
DeviceBackend::~DeviceBackend() = default;

std::vector<Obstacle> DeviceBackend::cannot_run(const Program& program) const {
  return compile(program, kernels_of(program)).obstacles;
}

std::unique_ptr<Session> DeviceBackend::open(std::shared_ptr<const Program> program,
                                             const SessionOptions& options) {
  Compiled compiled = compile(*program, kernels_of(*program));
  if (!compiled.obstacles.empty()) {
    const Obstacle& first = compiled.obstacles.front();
    const std::size_t others = compiled.obstacles.size() - 1;
    throw Error(ErrorCode::unsupported,
                "op '" + program->graph->op_name(first.op) + "' (" +
                    program->graph->op_type(first.op) + ") cannot be executed: " + first.reason +
                    (others == 0   ? std::string()
                     : others == 1 ? "; nor can 1 other op"
                                   : "; nor can " + std::to_string(others) + " other ops") +
                    "; `berth inspect --backend` lists all of them");
  }
  return std::make_unique<DeviceSession>(std::move(program), std::move(compiled.kernels), cluster_,
                                         *runtime_, executor_, options);
}

double DeviceBackend::transfers_us(DeviceId src, DeviceId dst, std::int64_t bytes, int count) {
  const DeviceId devices = cluster_->device_count();
  if (src < 0 || dst < 0 || src >= devices || dst >= devices || src == dst || bytes < 0 ||
      count < 1) {
    throw Error(ErrorCode::invalid_argument,
                "no " + std::to_string(count) + " transfers of " + std::to_string(bytes) +
                    " bytes from device #" + std::to_string(src) + " to #" + std::to_string(dst) +
                    "; name two different devices of " + cluster_->device_names());
  }
  if (probe_ == nullptr || probe_->key() != LinkProbe::Key(src, dst, bytes, count)) {
    probe_ = std::make_unique<LinkProbe>(src, dst, bytes, count, devices);
  }
  return probe_->run(executor_);
}

}  // namespace berth::runtime
