#include "simulator/successive_steps.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <numeric>
#include <type_traits>

#include "berth/support/index.h"
#include "simulator/conclude.h"
#include "simulator/dataflow.h"
#include "simulator/footprints.h"
#include "simulator/memory.h"
#include "simulator/run.h"

namespace berth {
namespace {

using simulator::Index;
using simulator::Plan;

using simulator::kNotEnded;

/// The first step is paused this many times, but not more often than every kLeastSpacing ops: a
/// pause costs as much as 50 to 500 ops, by how many transfers wait.
constexpr std::uint32_t kFirstPauses = 16;
constexpr std::uint32_t kLeastSpacing = 128;
/// A step after a move is paused this share of all ops before the next move is expected to matter.
/// Twice, as a move also changes when that is.
constexpr std::uint32_t kAhead[] = {32, 256};

/// Follows a step: starts, who ended when, memory; and stops it.
template <typename Memory>
struct Follow : Memory {
  static constexpr bool kPauses = true;

  template <typename... Arguments>
  Follow(const Plan& the_plan, std::span<double> starts_us, std::uint32_t* positions,
         std::uint32_t already_ended, Arguments&&... arguments)
      : Memory(the_plan, std::forward<Arguments>(arguments)...),
        ids(the_plan.ids.data()),
        op_start_us(starts_us.data()),
        position(positions),
        ended(already_ended) {}

  [[nodiscard]] bool pauses() const { return ended >= stop; }
  void op_started(Index op, std::uint32_t d, double start_us, double end_us) {
    op_start_us[ids[op]] = start_us;
    Memory::op_started(op, d, start_us, end_us);
  }
  void op_ended(Index op, std::uint32_t d, double now_us) {
    position[op] = ended++;
    Memory::op_ended(op, d, now_us);
  }

  const OpId* ids;
  double* op_start_us;
  std::uint32_t* position;
  std::uint32_t ended;
  std::uint32_t stop = 0;
};

/// Stops a step that reaches a limit.
template <typename Observer>
struct Limited : Observer {
  static constexpr bool kPauses = true;

  template <typename... Arguments>
  explicit Limited(double the_limit_us, Arguments&&... arguments)
      : Observer(std::forward<Arguments>(arguments)...), limit_us(the_limit_us) {}

  [[nodiscard]] bool pauses() const { return beyond; }
  void op_started(Index op, std::uint32_t d, double start_us, double end_us) {
    beyond = beyond || end_us >= limit_us;
    Observer::op_started(op, d, start_us, end_us);
  }

  double limit_us;
  bool beyond = false;
};

const auto no_log = [](std::uint32_t, double, std::int64_t) {};
using StepMemory = simulator::DataflowMemory<decltype(no_log)>;

bool always_fits(const Plan& plan) {
  const simulator::Footprints footprints(plan);
  const std::int64_t bytes = std::accumulate(footprints.op_bytes.begin(), footprints.op_bytes.end(),
                                             footprints.common_bytes);
  for (DeviceId device = 0; device < plan.cluster().device_count(); ++device) {
    if (plan.problem->memory_bytes(device) < bytes) return false;
  }
  return true;
}

}  // namespace

SuccessiveSteps::SuccessiveSteps(const Simulator& simulator, bool tries)
    : simulator_(simulator),
      plan_(simulator.plan()),
      tries_(tries),
      fits_(tries && always_fits(plan_)),
      spacing_(std::max(kLeastSpacing, plan_.op_count / kFirstPauses)) {}

bool SuccessiveSteps::resumes() const {
  return !plan_.placeto && plan_.problem->options().objective == Objective::latency;
}

void SuccessiveSteps::start(std::span<const DeviceId> placement, Scratch& scratch, Evaluation& out,
                            std::span<double> op_start_us) {
  stops_.clear();
  for (std::uint32_t stop = spacing_; stop < plan_.op_count; stop += spacing_) {
    stops_.push_back(stop);
  }
  record_.clear(resumes() ? plan_.op_count : 0);
  evaluate(placement, scratch, out, op_start_us);
}

void SuccessiveSteps::move(std::span<const DeviceId> placement, std::span<const OpId> moved,
                           std::span<const OpId> next, Scratch& scratch, Evaluation& out,
                           std::span<double> op_start_us) {
  record_.keep(record_.no_later_than(first_change(moved)));
  // Of pauses that lie close together the first is enough, but for the last of all.
  record_.thin_out([this](const Pause& pause, const Pause* before, bool is_last) {
    return is_last || pause.ended >= (before != nullptr ? before->ended : 0) + spacing_;
  });
  stops_.clear();
  const std::uint32_t expected = next.empty() ? 0 : first_change(next);
  for (const std::uint32_t share : kAhead) {
    const std::uint32_t ahead = std::max(1U, plan_.op_count / share);
    if (expected > ahead) stops_.push_back(expected - ahead);
  }
  if (tries_) {
    const std::uint32_t last = record_.size() > 0 ? record_[record_.size() - 1].ended : 0;
    for (std::uint32_t stop = last + spacing_; stop < plan_.op_count; stop += spacing_) {
      stops_.push_back(stop);
    }
    std::sort(stops_.begin(), stops_.end());
  }
  evaluate(placement, scratch, out, op_start_us);
}

/// How many ops end, in the last step, before it matters where `ops` are.
std::uint32_t SuccessiveSteps::first_change(std::span<const OpId> ops) const {
  if (record_.empty()) return 0;
  std::uint32_t earliest = plan_.op_count;
  for (const OpId op : ops) {
    const auto edges = plan_.graph().in_edges(op);
    if (edges.empty()) return 0;  // it waits for its device from the first instant on
    for (const Edge& edge : edges) {
      earliest = std::min(earliest, record_.position(plan_.index_of(edge.src)));
    }
  }
  return earliest;
}

Score SuccessiveSteps::try_move(std::span<const DeviceId> placement, std::span<const OpId> moved,
                                double limit_us, Scratch& scratch) const {
  Evaluation& tried = scratch.tried;
  if (!resumes()) {
    simulator_.evaluate(placement, scratch.full, tried);
    return {tried.objective_us < limit_us ? tried.objective_us : kCannotRun, tried.excess_bytes};
  }
  const std::size_t pauses = record_.no_later_than(first_change(moved));
  const Pause* const from = pauses > 0 ? &record_[pauses - 1] : nullptr;
  simulator::Workspace& workspace = scratch.step;
  workspace.prepare(plan_, placement);
  if (fits_) {
    Limited<simulator::NoObserver> limited(limit_us);
    return {finish(from, limited, workspace), 0};
  }
  Limited<StepMemory> limited(limit_us, plan_, placement, workspace.state, workspace.memory,
                              no_log);
  if (from != nullptr) restore_memory(*from, workspace.memory);
  const double runtime_us = finish(from, limited, workspace);
  if (runtime_us == kCannotRun) return {kCannotRun, 0};
  simulator::conclude(plan_, placement, workspace.memory, runtime_us, tried);
  return {runtime_us, tried.excess_bytes};
}

/// The runtime, from a pause (null: the start) on; kCannotRun if it is no less than the limit.
template <typename Observer>
double SuccessiveSteps::finish(const Pause* from, Observer& limited,
                               simulator::Workspace& workspace) const {
  return simulator::with_events(plan_, workspace, [&](auto& events) {
    simulator::DataflowStep<Plan, std::remove_reference_t<decltype(events)>, Observer> step(
        plan_, plan_, workspace, events, limited);
    if (from == nullptr) {
      step.begin();
    } else {
      restore_inputs(*from, workspace.state);
      step.resume(from->snapshot, from->sent);
    }
    const bool over = step.go_on() && step.runtime_us() < limited.limit_us;
    return over ? step.runtime_us() : kCannotRun;
  });
}

/// Goes on from the last pause, all of which are of this placement's step too, and pauses where
/// stops_ says.
void SuccessiveSteps::evaluate(std::span<const DeviceId> placement, Scratch& scratch,
                               Evaluation& out, std::span<double> op_start_us) {
  if (!resumes()) {
    simulator_.evaluate(placement, scratch.full, out, op_start_us);
    return;
  }
  simulator::Workspace& workspace = scratch.step;
  const std::uint32_t ended = record_.go_on();
  const Pause* const from = record_.size() > 0 ? &record_[record_.size() - 1] : nullptr;
  workspace.prepare(plan_, placement);

  Follow<StepMemory> follow(plan_, op_start_us, record_.positions(), ended, placement,
                            workspace.state, workspace.memory, no_log);
  resident_bytes_ = workspace.memory.usage_bytes;
  const double runtime_us = simulator::with_events(plan_, workspace, [&](auto& events) {
    simulator::DataflowStep<Plan, std::remove_reference_t<decltype(events)>, Follow<StepMemory>>
        step(plan_, plan_, workspace, events, follow);
    if (from == nullptr) {
      step.begin();
    } else {
      restore_inputs(*from, workspace.state);
      restore_memory(*from, workspace.memory);
      step.resume(from->snapshot, from->sent);
    }
    auto stop = stops_.begin();
    const auto next_stop = [&] {
      while (stop != stops_.end() && *stop <= follow.ended) ++stop;
      follow.stop = stop != stops_.end() ? *stop : kNotEnded;
    };
    next_stop();
    while (!step.go_on()) {
      save(step, follow.ended, workspace);
      next_stop();
    }
    assert(follow.ended == plan_.op_count);
    return step.runtime_us();
  });
  simulator::conclude(plan_, placement, workspace.memory, runtime_us, out);
}

void SuccessiveSteps::restore_inputs(const Pause& from, std::vector<std::uint32_t>& state) const {
  for (Index op = 0; op < from.first; ++op) state[op] &= simulator::kDeviceMask;
  for (std::size_t i = 0; i < from.missing.size(); ++i) {
    std::uint32_t& word = state[from.first + i];
    word = (word & simulator::kDeviceMask) | from.missing[i];
  }
}

void SuccessiveSteps::restore_memory(const Pause& from, simulator::MemoryScratch& memory) const {
  for (std::uint32_t d = 0; d < plan_.device_count; ++d) {
    memory.usage_bytes[d] += from.usage_bytes[d];
    const std::int64_t resident_bytes = memory.peaks[d].bytes;
    memory.peaks[d] = from.peaks[d];
    memory.peaks[d].bytes += resident_bytes;
  }
  const std::size_t messages = plan_.messages.size();
  for (const Pause::Holder& holder : from.holders) {
    memory.holders[holder.holder] = holder.count;
    if (holder.holder >= messages) memory.held_message[holder.holder - messages] = holder.message;
  }
  for (const Pause::HeldEdge& held : from.edges) memory.holder_of_edge[held.edge] = held.holder;
}

template <typename Step>
void SuccessiveSteps::save(const Step& step, std::uint32_t ended,
                           const simulator::Workspace& workspace) {
  Pause& to = record_.add(ended);
  Index end = plan_.op_count;
  const std::vector<std::uint32_t>& state = workspace.state;
  while (end > to.first && (state[end - 1] & ~simulator::kDeviceMask) == plan_.waiting[end - 1]) {
    --end;
  }
  to.missing.clear();
  for (Index op = to.first; op < end; ++op) {
    to.missing.push_back(state[op] & ~simulator::kDeviceMask);
  }
  step.save(to.snapshot);
  to.sent = step.sent();
  const simulator::MemoryScratch& memory = workspace.memory;
  to.usage_bytes = memory.usage_bytes;
  to.peaks = memory.peaks;
  for (std::uint32_t d = 0; d < plan_.device_count; ++d) {
    to.usage_bytes[d] -= resident_bytes_[d];
    to.peaks[d].bytes -= resident_bytes_[d];
  }
  to.holders.clear();
  to.edges.clear();
  const auto keep = [&](std::uint32_t holder, std::uint32_t message) {
    to.holders.push_back({holder, memory.holders[holder], message});
    const simulator::Message& held = plan_.messages[message];
    for (std::uint32_t e = held.begin; e < held.end; ++e) {
      if (memory.holder_of_edge[e] == holder) to.edges.push_back({e, holder});
    }
  };
  const auto messages = static_cast<std::uint32_t>(plan_.messages.size());
  const std::uint32_t* const holders = memory.holders.data();
  for (std::uint32_t m = 0; m < messages; ++m) {
    if (holders[m] != 0) keep(m, m);
  }
  for (std::uint32_t number = 0; number < to.sent; ++number) {
    if (holders[messages + number] != 0) keep(messages + number, memory.held_message[number]);
  }
}

}  // namespace berth
