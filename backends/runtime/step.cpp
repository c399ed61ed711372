// The memory of a plan's steps.
#include <algorithm>
#include <utility>

#include "runtime/executor.h"

namespace berth::runtime {

Step::Step(std::shared_ptr<const Plan> plan, const StepInputs& inputs)
    : plan_(std::move(plan)),
      pending_(plan_->op_count()),
      slots_(plan_->holders.size()),
      holders_(std::make_unique<std::atomic<std::uint32_t>[]>(plan_->holders.size())),
      lanes_(plan_->incoming.size()),
      op_times_(plan_->op_count()),
      executed_(plan_->op_count(), kNoDevice),
      workspace_bytes_(plan_->op_count()),
      held_bytes_(plan_->op_count()),
      op_peak_bytes_(plan_->op_count()),
      message_times_(plan_->messages.size()),
      peak_bytes_(lanes_.size()),
      resident_bytes_(lanes_.size()) {
  parameters_.resize(plan_->inputs.items().size());
  for (std::size_t d = 0; d < lanes_.size(); ++d) {
    Lane& lane = lanes_[d];
    std::size_t most_inputs = 0;
    std::size_t most_outputs = 0;
    for (std::uint32_t i = plan_->first_op[d]; i < plan_->first_op[d + 1]; ++i) {
      most_inputs = std::max(most_inputs, plan_->inputs[i].size());
      most_outputs = std::max(most_outputs, plan_->outputs[i].size());
      for (std::uint32_t at = plan_->inputs.begin()[i]; at < plan_->inputs.begin()[i + 1]; ++at) {
        const TensorId parameter = plan_->inputs.items()[at].parameter;
        if (parameter == kNoTensor) continue;
        parameters_[at] = inputs.parameter(parameter, static_cast<DeviceId>(d));
      }
    }
    lane.inputs.resize(most_inputs);
    lane.outputs.resize(most_outputs);
    const std::uint32_t ops = plan_->first_op[d + 1] - plan_->first_op[d];
    lane.ready.reserve(ops);
    lane.order.reserve(ops);
    lane.times.reserve(ops);
    lane.room = plan_->incoming[d] + 1;
  }
  for (const Plan::Message& message : plan_->messages) {
    if (message.tensor != kNoTensor) ++lanes_[static_cast<std::size_t>(message.src)].room;
  }
  for (Lane& lane : lanes_) {
    lane.inbox = std::make_unique<Notice[]>(lane.room);
  }
}
Step::~Step() = default;

std::span<const std::uint32_t> Step::order(DeviceId device) const noexcept {
  return lanes_[static_cast<std::size_t>(device)].order;
}

const Value& Step::value(TensorId tensor) const noexcept {
  static const Value absent;
  const std::uint32_t slot = plan_->home_slot[static_cast<std::size_t>(tensor)];
  return slot == kNone ? absent : slots_[slot];
}

void Step::prepare(const StepInputs& inputs) {
  clear();
  ++number_;
  pending_ = plan_->pending;
  for (std::size_t s = 0; s < plan_->holders.size(); ++s) {
    holders_[s].store(plan_->holders[s], std::memory_order_relaxed);
  }
  for (const TensorId tensor : inputs.program.outputs) {
    const std::uint32_t slot = plan_->home_slot[static_cast<std::size_t>(tensor)];
    if (slot != kNone) holders_[slot].fetch_add(1, std::memory_order_relaxed);
  }
  std::fill(executed_.begin(), executed_.end(), kNoDevice);
  for (std::size_t d = 0; d < lanes_.size(); ++d) {
    Lane& lane = lanes_[d];
    lane.ready.clear();
    lane.order.clear();
    lane.times.clear();
    lane.sequence = 0;
    lane.done = 0;
    lane.read = 0;
    lane.written = 0;
  }
}

void Step::clear() noexcept {
  for (Value& value : slots_) value = {};
  for (Lane& lane : lanes_) {
    for (Value& value : lane.inputs) value = {};
    for (Value& value : lane.outputs) value = {};
  }
}

}  // namespace berth::runtime
