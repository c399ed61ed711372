// Throughput: the loads of all devices and channels, kept up to date move by move.
//
// A move changes the load of two devices by the op's durations. It also changes what devices pay
// for the tensors that the op makes or reads. For each of those a small table holds the devices
// that have readers of it, and how many. So a move takes time in proportion to the op's tensors and
// the devices that read them, whatever the size of the graph. What devices hold is followed from above
// in the same way: a step takes no more than all that it makes and receives there. Only where that is
// too much is a placement that is not rejected measured.
#include <algorithm>
#include <cassert>
#include <limits>

#include "berth/support/index.h"
#include "berth/support/rows.h"
#include "moves/device_counts.h"
#include "moves/exact_sum.h"
#include "moves/move_strategy.h"
#include "simulator/stage_memory.h"

namespace berth::moves {
namespace {

using simulator::Index;
using simulator::Plan;

class LoadMoves final : public MoveStrategy {
 public:
  explicit LoadMoves(const Plan& plan);

  void reset(std::span<const DeviceId> placement) override;
  MoveEvaluator::Candidate propose(std::span<const Move> moves, double cutoff_us) override;
  void accept() override;
  std::span<const double> loads_us() override;
  const std::vector<DeviceId>& placement() const noexcept override { return placement_; }
  const Score& score() const noexcept override { return score_; }
  const SearchWork& work() const noexcept override { return work_; }

 private:
  /// What the op adds to a step on its device.
  [[nodiscard]] std::int64_t step_bytes(Index op) const {
    return plan_.taken_bytes[op] + plan_.resident_bytes[op] - plan_.param_bytes[op];
  }
  void apply(OpId op, DeviceId to);
  void undo();
  void relocate_readers(Index op, std::uint32_t from, std::uint32_t to);
  /// Adds to the loads what everyone pays for `message`, or takes it away.
  template <int kSign>
  void charge(std::uint32_t message);
  /// simulator::pays, by what is at hand.
  [[nodiscard]] bool pays(std::uint32_t device, std::uint32_t other) const {
    return host_[device] == 0 || host_[other] != 0;
  }
  void place_shared(std::uint32_t parameter, std::uint32_t device);
  [[nodiscard]] double largest_load_us() const;
  [[nodiscard]] std::int64_t excess_bytes();
  [[nodiscard]] double largest_total_us() const;

  std::vector<DeviceId> placement_;  ///< by op; the one kept
  Score score_;                      ///< of it
  SearchWork work_;
  const Plan& plan_;
  Rows<std::uint32_t> reads_;       ///< by op: messages
  Rows<std::uint32_t> parameters_;  ///< by op: shared parameters
  TickScale scale_;
  std::vector<std::uint32_t> device_;  ///< by Index
  std::vector<std::uint8_t> host_;     ///< by device
  DeviceCounts receivers_;             ///< by message
  DeviceCounts holders_;               ///< by shared parameter
  std::vector<Ticks> load_;            ///< by device, then by channel
  std::vector<double> load_us_;        ///< of the devices, on demand
  std::vector<std::int64_t> bytes_;    ///< by device: parameters
  std::vector<std::int64_t> at_most_;  ///< by device: of a step, without workspace
  std::vector<simulator::StageNeed> needs_;
  simulator::StageMemory stage_;
  std::int64_t largest_workspace_ = 0;
  std::vector<Move> undo_;  ///< the way back to the placement kept
  Score candidate_;
  bool measured_ = false;  ///< the candidate's memory is known
};

LoadMoves::LoadMoves(const Plan& plan) : plan_(plan) {
  reads_ = Rows<std::uint32_t>::collect(plan.op_count, [&](const auto& report) {
    for (std::uint32_t m = 0; m < plan.messages.size(); ++m) {
      if (plan.message_tensor[m] == kNoTensor) continue;
      for (std::uint32_t e = plan.messages[m].begin; e < plan.messages[m].end; ++e) {
        report(plan.consumers[e], m);
      }
    }
  });
  const auto& shared = plan.graph().shared_parameters();
  parameters_ = Rows<std::uint32_t>::collect(plan.op_count, [&](const auto& report) {
    for (std::uint32_t p = 0; p < shared.size(); ++p) {
      for (const OpId op : shared[p].consumers) report(plan.index_of(op), p);
    }
  });
  for (const simulator::Message& message : plan.messages) {
    receivers_.add_row(message.end - message.begin, plan.device_count);
  }
  for (const Graph::SharedParameter& parameter : shared) {
    holders_.add_row(parameter.consumers.size(), plan.device_count);
  }
  for (DeviceId d = 0; d < plan.cluster().device_count(); ++d) {
    host_.push_back(plan.cluster().device(d).host ? 1 : 0);
  }
  scale_ = TickScale(largest_total_us());
  for (const std::int64_t bytes : plan.workspace_bytes) {
    largest_workspace_ = std::max(largest_workspace_, bytes);
  }
  undo_.reserve(plan.op_count);
  stage_.reserve(plan);
  needs_.reserve(plan.device_count);
}

/// No load comes above this.
double LoadMoves::largest_total_us() const {
  double total = 0;
  for (Index op = 0; op < plan_.op_count; ++op) {
    double longest = 0;
    for (std::size_t at = op; at < plan_.duration_us.size(); at += plan_.op_count) {
      if (plan_.duration_us[at] < kCannotRun) longest = std::max(longest, plan_.duration_us[at]);
    }
    total += longest;
  }
  double latency_us = 0;
  double bytes_per_s = std::numeric_limits<double>::infinity();
  for (DeviceId src = 0; src < plan_.cluster().device_count(); ++src) {
    for (DeviceId dst = 0; dst < plan_.cluster().device_count(); ++dst) {
      if (src == dst) continue;
      const Route& route = plan_.cluster().route(src, dst);
      latency_us = std::max(latency_us, route.transfer_us(0));
      bytes_per_s = std::min(bytes_per_s, route.bandwidth_bytes_per_s);
    }
  }
  for (const std::int64_t bytes : plan_.message_bytes) {
    // A device sends or receives it once; a channel may carry it to every other device.
    total += plan_.device_count * (latency_us + static_cast<double>(bytes) / bytes_per_s * 1e6);
  }
  return total;
}

void LoadMoves::reset(std::span<const DeviceId> placement) {
  placement_.assign(placement.begin(), placement.end());
  undo_.clear();
  load_.assign(plan_.device_count + plan_.channel_count(), 0);
  bytes_.assign(plan_.device_count, 0);
  at_most_.assign(plan_.device_count, 0);
  device_.resize(plan_.op_count);
  receivers_.clear();
  holders_.clear();
  for (Index op = 0; op < plan_.op_count; ++op) {
    const DeviceId device = placement[at(plan_.ids[op])];
    const auto d = static_cast<std::uint32_t>(device);
    device_[op] = d;
    load_[d] += scale_.ticks(plan_.durations_on(device)[op]);
    bytes_[d] += plan_.param_bytes[op];
    at_most_[d] += step_bytes(op);
    for (const std::uint32_t message : reads_[op]) receivers_.add(message, d);
    for (const std::uint32_t parameter : parameters_[op]) place_shared(parameter, d);
  }
  for (std::uint32_t m = 0; m < plan_.messages.size(); ++m) charge<+1>(m);
  score_ = candidate_ = {largest_load_us(), excess_bytes()};
  measured_ = true;
  work_ += {1, plan_.op_count};
}

void LoadMoves::place_shared(std::uint32_t parameter, std::uint32_t device) {
  if (holders_.add(parameter, device)) {
    bytes_[device] += plan_.graph().shared_parameters()[parameter].bytes;
  }
}

template <int kSign>
void LoadMoves::charge(std::uint32_t message) {
  if (plan_.message_tensor[message] == kNoTensor) return;
  const std::uint32_t src = device_[plan_.message_producer[message]];
  double slowest_us = 0;
  for (const DeviceCounts::Entry& receiver : receivers_.row(message)) {
    const std::uint32_t dst = receiver.device;
    if (dst == src) continue;
    const double us =
        plan_.transfer_us(message, static_cast<DeviceId>(src), static_cast<DeviceId>(dst));
    at_most_[dst] += kSign * plan_.message_bytes[message];
    if (pays(src, dst)) slowest_us = std::max(slowest_us, us);
    if (pays(dst, src)) load_[dst] += kSign * scale_.ticks(us);
    if (load_.size() == plan_.device_count) continue;
    const Route& route =
        plan_.cluster().route(static_cast<DeviceId>(src), static_cast<DeviceId>(dst));
    for (const ChannelId channel : route.channels) {
      load_[plan_.device_count + at(channel)] += kSign * scale_.ticks(us);
    }
  }
  load_[src] += kSign * scale_.ticks(slowest_us);
}

void LoadMoves::apply(OpId id, DeviceId to) {
  const Index op = plan_.index_of(id);
  const std::uint32_t from = device_[op];
  const auto target = static_cast<std::uint32_t>(to);
  if (from == target) return;
  undo_.push_back({id, static_cast<DeviceId>(from)});
  load_[from] -= scale_.ticks(plan_.durations_on(static_cast<DeviceId>(from))[op]);
  load_[target] += scale_.ticks(plan_.durations_on(to)[op]);
  bytes_[from] -= plan_.param_bytes[op];
  bytes_[target] += plan_.param_bytes[op];
  at_most_[from] -= step_bytes(op);
  at_most_[target] += step_bytes(op);

  const simulator::OpRow& row = plan_.rows[op];
  const std::uint32_t last = row.first_message + row.message_count;
  for (std::uint32_t m = row.first_message; m < last; ++m) charge<-1>(m);
  device_[op] = target;
  for (std::uint32_t m = row.first_message; m < last; ++m) charge<+1>(m);
  relocate_readers(op, from, target);
}

void LoadMoves::relocate_readers(Index op, std::uint32_t from, std::uint32_t to) {
  for (const std::uint32_t message : reads_[op]) {
    charge<-1>(message);
    receivers_.remove(message, from);
    receivers_.add(message, to);
    charge<+1>(message);
  }
  for (const std::uint32_t parameter : parameters_[op]) {
    if (holders_.remove(parameter, from)) {
      bytes_[from] -= plan_.graph().shared_parameters()[parameter].bytes;
    }
    place_shared(parameter, to);
  }
}

void LoadMoves::undo() {
  // Made backwards, the moves back are recorded too: only the first of them count.
  for (std::size_t left = undo_.size(); left > 0; --left) {
    const Move back = undo_[left - 1];
    apply(back.op, back.to);
  }
  undo_.clear();
  assert(largest_load_us() == score_.objective_us);
}

double LoadMoves::largest_load_us() const {
  return scale_.us(*std::max_element(load_.begin(), load_.end()));
}

std::int64_t LoadMoves::excess_bytes() {
  const Problem& problem = *plan_.problem;
  std::int64_t excess_bytes = 0;
  const auto add = [&](std::uint32_t d, const simulator::StageNeed& need) {
    const std::int64_t memory = problem.memory_bytes(static_cast<DeviceId>(d));
    const std::int64_t held = simulator::stage_bytes(bytes_[d], need, problem.options().in_flight);
    excess_bytes = std::max(excess_bytes, held - memory);
  };
  // Tensors of ops on a device that keeps parameters are elsewhere.
  if (!plan_.cluster().has_keepers()) {
    for (std::uint32_t d = 0; d < plan_.device_count; ++d) {
      add(d, {at_most_[d], at_most_[d] + largest_workspace_});
    }
    if (excess_bytes == 0) return 0;
  }
  excess_bytes = 0;
  stage_.measure(plan_, device_, needs_);
  for (std::uint32_t d = 0; d < plan_.device_count; ++d) add(d, needs_[d]);
  return excess_bytes;
}

MoveEvaluator::Candidate LoadMoves::propose(std::span<const Move> moves, double cutoff_us) {
  undo();
  for (const Move& move : moves) apply(move.op, move.to);
  if (!undo_.empty()) work_ += {1, static_cast<std::int64_t>(undo_.size())};
  candidate_ = {largest_load_us(), 0};
  const bool rejected = candidate_.objective_us >= cutoff_us;
  measured_ = !rejected;
  if (measured_) candidate_.excess_bytes = excess_bytes();
  return {candidate_, rejected};
}

std::span<const double> LoadMoves::loads_us() {
  load_us_.clear();
  for (std::uint32_t d = 0; d < plan_.device_count; ++d) load_us_.push_back(scale_.us(load_[d]));
  return load_us_;
}

void LoadMoves::accept() {
  for (const Move& changed : undo_) {
    const auto op = at(changed.op);
    placement_[op] = static_cast<DeviceId>(device_[plan_.index_of(changed.op)]);
  }
  undo_.clear();
  if (!measured_) candidate_.excess_bytes = excess_bytes();
  measured_ = true;
  score_ = candidate_;
}

}  // namespace

std::unique_ptr<MoveStrategy> load_moves(const Plan& plan) {
  return std::make_unique<LoadMoves>(plan);
}

}  // namespace berth::moves
