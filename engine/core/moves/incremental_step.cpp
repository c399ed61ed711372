#include "moves/incremental_step.h"

#include <algorithm>
#include <cassert>
#include <type_traits>
#include <utility>

#include "berth/support/index.h"
#include "moves/placed_tails.h"
#include "moves/step_watch.h"
#include "simulator/conclude.h"
#include "simulator/run.h"

namespace berth::moves {
namespace {

using simulator::Index;
using simulator::kNotEnded;
using simulator::Plan;

/// Bounds are sums in another order than the step's, so they must pass a cutoff by more than their
/// rounding.
constexpr double kRounding = 1e-9;
/// If memory is followed for those that are not rejected, one of this many pauses holds it: saving
/// it costs as much as some thousand ops.
constexpr std::uint32_t kPausesPerMemory = 4;
/// A step is paused this share of all ops before the next move is expected to matter. Twice, as a
/// move also changes when that is.
constexpr std::uint32_t kAhead[] = {32, 256};

/// Calls run(events, step) with a step that goes on from a pause, or begins.
template <typename Rules, typename Observer, typename Run>
auto go_on_from(const StepPause<Rules>& from, const Plan& plan, const simulator::Placed& placed,
                simulator::Workspace& workspace, Observer& observer, const Run& run) {
  return simulator::with_events(plan, workspace, [&](auto& events) {
    typename Rules::template Step<std::remove_reference_t<decltype(events)>, Observer> step(
        plan, placed, workspace, events, observer);
    if (from.ended == 0) {
      step.begin();
    } else if constexpr (std::is_same_v<Rules, DataflowRules>) {
      step.resume(from.snapshot, from.sent);
    } else {
      step.resume(from.snapshot);
    }
    return run(step);
  });
}

}  // namespace

template <typename Rules>
IncrementalStep<Rules>::IncrementalStep(const Simulator& simulator,
                                        std::shared_ptr<const StepFacts> facts, Settings settings)
    : simulator_(simulator),
      plan_(simulator.plan()),
      facts_(std::move(facts)),
      settings_(settings),
      follows_memory_(std::is_same_v<Rules, DataflowRules> &&
                      (settings.reports || !facts_->always_fits)),
      candidate_(plan_, facts_),
      tail_us_(plan_.op_count) {}

template <typename Rules>
void IncrementalStep<Rules>::reset(std::span<const DeviceId> placement, Scratch& scratch,
                                   const Wanted& wanted) {
  candidate_.reset(placement);
  hints_.clear();
  arrival_.assign(std::max(plan_.messages.size(), plan_.consumers.size()), kNotEnded);
  record_.clear(plan_.op_count);
  Pause& start = record_.add(0);
  start.end = 0;
  start.arrivals = 0;
  start.sent = 0;
  start.now_us = 0;
  start.state.clear();
  start.earliest_us.assign(plan_.device_count, 0);
  start.left_us.assign(plan_.device_count, 0);
  start.has_memory = true;
  start.memory.clear();
  for (Index op = 0; op < plan_.op_count; ++op) {
    const std::uint32_t d = candidate_.device(op);
    start.left_us[d] += busy_us(op, d);
  }
  placed_tails(plan_, candidate_.initial(), plan_.op_count, tail_us_);
  known_excess_bytes_ = kUnknown;
  regular_ = true;
  ++work_.evaluations;
  record(0, scratch, wanted);
}

template <typename Rules>
void IncrementalStep<Rules>::load_inputs(const Pause& from, simulator::Workspace& workspace) const {
  const std::vector<std::uint32_t>& initial = candidate_.initial();
  std::vector<std::uint32_t>& state = workspace.state;
  state.resize(plan_.op_count);
  for (Index op = 0; op < from.first; ++op) state[op] = candidate_.device(op);
  std::copy(from.state.begin(), from.state.end(), state.begin() + from.first);
  std::copy(initial.begin() + from.end, initial.end(), state.begin() + from.end);
}

/// The pauses of a step after which `next` move, beside its regular ones.
template <typename Rules>
void IncrementalStep<Rules>::hint(std::span<const OpId> next) {
  hints_.clear();
  std::uint32_t expected = next.empty() ? 0 : plan_.op_count;
  for (const OpId op : next) expected = std::min(expected, first_producer_end(op));
  for (const std::uint32_t share : kAhead) {
    const std::uint32_t ahead = std::max(1U, plan_.op_count / share);
    if (expected > ahead) hints_.push_back(expected - ahead);
  }
}

/// After how many ops a step pauses next.
template <typename Rules>
std::uint32_t IncrementalStep<Rules>::stop_after(std::uint32_t ended, bool regular) const {
  std::uint32_t stop = regular ? (ended / settings_.spacing + 1) * settings_.spacing : kNotEnded;
  for (const std::uint32_t hinted : hints_) {
    if (hinted > ended) stop = std::min(stop, hinted);
  }
  return stop;
}

/// Whether the step of the candidate is recorded with its memory.
template <typename Rules>
bool IncrementalStep<Rules>::records_memory() const {
  return follows_memory_ && (settings_.reports || !candidate_.surely_fits());
}

/// Simulates the placement in candidate_, which is the one kept, from a pause on and records it.
template <typename Rules>
void IncrementalStep<Rules>::record(std::size_t from, Scratch& scratch, const Wanted& wanted) {
  record_.keep(from + 1);
  // Pauses gather if every move says what moves next; the first of those that lie close together is
  // enough, but for the last of all.
  if (!settings_.anywhere) {
    record_.thin_out([this](const Pause& pause, const Pause* before, bool is_last) {
      return before == nullptr || is_last || pause.ended >= before->ended + settings_.spacing;
    });
    from = record_.size() - 1;
  }
  record_.go_on();
  const std::uint32_t arrivals = record_[from].arrivals;
  for (std::uint32_t& arrival : arrival_) arrival = arrival < arrivals ? arrival : kNotEnded;
  scratch.left_us = record_[from].left_us;
  candidate_.place_rows(scratch.workspace);
  load_inputs(record_[from], scratch.workspace);
  const auto run = [&](auto& watch) {
    watch.op_start_us = wanted.op_start_us;
    record_with(watch, from, scratch);
  };
  if constexpr (std::is_same_v<Rules, DataflowRules>) {
    if (records_memory()) {
      simulator::Workspace& workspace = scratch.workspace;
      Watch<StepMemory, true, true> watch(plan_, candidate_.by_op(), workspace.state,
                                          workspace.memory, no_log);
      resident_bytes_ = workspace.memory.usage_bytes;
      record_[from].memory.restore(plan_, workspace.memory);
      run(watch);
      score_.excess_bytes = excess_of_peaks(scratch);
      if (wanted.evaluation != nullptr) {
        simulator::conclude(plan_, candidate_.by_op(), workspace.memory, score_.objective_us,
                            *wanted.evaluation);
      }
      return;
    }
  }
  Watch<simulator::NoObserver, true, true> watch;
  run(watch);
  score_.excess_bytes =
      known_excess_bytes_ != kUnknown ? known_excess_bytes_ : excess_bytes(scratch);
}

template <typename Rules>
template <typename Watch>
void IncrementalStep<Rules>::record_with(Watch& watch, std::size_t from, Scratch& scratch) {
  const std::uint32_t ended = record_[from].ended;
  watch.ended = ended;
  watch.position = record_.positions();
  watch.arrival = arrival_.data();
  watch.arrivals = record_[from].arrivals;
  watch.ends_of_readers = facts_->end_of_readers.data();
  watch.end_of_readers = record_[from].end;
  watch.ids = plan_.ids.data();
  watch.left_us = scratch.left_us.data();
  watch.busy_us = facts_->busy_rows.data();
  watch.tail_us = tail_us_.data();
  score_.objective_us = go_on_from(record_[from], plan_, candidate_.placed(), scratch.workspace,
                                   watch, [&](auto& step) {
                                     watch.stop = stop_after(ended, regular_);
                                     while (!step.go_on()) {
                                       save(step, watch, scratch);
                                       watch.stop = stop_after(watch.ended, regular_);
                                     }
                                     return step.runtime_us();
                                   });
  assert(watch.ended == plan_.op_count);
  work_.simulated_ops += watch.ended - ended;
  assert(score_.objective_us == simulator_.runtime_us(candidate_.by_op(), scratch.full));
}

template <typename Rules>
template <typename Step, typename Watch>
void IncrementalStep<Rules>::save(const Step& step, const Watch& watch, Scratch& scratch) {
  const simulator::Workspace& workspace = scratch.workspace;
  Pause& to = record_.add(watch.ended);
  to.end = std::max(watch.end_of_readers, to.first);
  to.arrivals = watch.arrivals;
  to.state.assign(workspace.state.begin() + to.first, workspace.state.begin() + to.end);
  to.left_us = scratch.left_us;
  to.earliest_us.clear();
  for (std::uint32_t d = 0; d < plan_.device_count; ++d) {
    to.earliest_us.push_back(step.earliest_us(d));
  }
  step.save(to.snapshot);
  simulator::TimeKey next = to.snapshot.pending.front();
  for (const simulator::TimeKey key : to.snapshot.pending) next = std::min(next, key);
  to.has_memory = false;
  if constexpr (std::is_same_v<Rules, DataflowRules>) {
    for (const simulator::Signal& signal : to.snapshot.signals) {
      next = std::min(next, signal.arrival);
    }
    to.sent = step.sent();
    if constexpr (Watch::kRemembers) {
      to.has_memory = settings_.reports || watch.ended / settings_.spacing % kPausesPerMemory == 0;
      if (to.has_memory) {
        to.memory.save(plan_, workspace.memory, resident_bytes_, to.sent);
      }
    }
  }
  to.now_us = simulator::time_of(next);
}

/// How many ops end, in the recorded step, before it matters in any way where `op` is.
template <typename Rules>
std::uint32_t IncrementalStep<Rules>::first_producer_end(OpId op) const {
  const auto edges = plan_.graph().in_edges(op);
  if (edges.empty()) return 0;  // it waits for its device from the first instant on
  std::uint32_t earliest = plan_.op_count;
  for (const Edge& edge : edges) {
    earliest = std::min(earliest, record_.position(plan_.index_of(edge.src)));
  }
  return earliest;
}

/// The last pause before anything changes but memory: before an op sends something else than it
/// did, and before the last input of a moved op.
template <typename Rules>
auto IncrementalStep<Rules>::start_of_change() const -> const Pause& {
  std::uint32_t earliest = plan_.op_count;
  for (const auto& rewired : candidate_.rewired()) {
    if (rewired.sends_anew) earliest = std::min(earliest, record_.position(rewired.op));
  }
  for (const auto& change : candidate_.changed()) {
    std::uint32_t last = 0;
    for (const Edge& edge : plan_.graph().in_edges(plan_.ids[change.op])) {
      last = std::max(last, record_.position(plan_.index_of(edge.src)));
    }
    earliest = std::min(earliest, last);
  }
  return record_[record_.no_later_than(earliest) - 1];
}

/// The last pause that knows the memory, before that changes.
template <typename Rules>
auto IncrementalStep<Rules>::start_of_memory() const -> const Pause& {
  std::uint32_t earliest = plan_.op_count;
  for (const auto& change : candidate_.changed()) {
    earliest = std::min(earliest, first_producer_end(plan_.ids[change.op]));
  }
  std::size_t i = record_.no_later_than(earliest) - 1;
  while (!record_[i].has_memory) --i;
  return record_[i];
}

/// The entry of a moved op in simulator::Workspace::state, in a pause before start_of_change.
template <typename Rules>
std::uint32_t IncrementalStep<Rules>::state_in(const Pause& pause, Index op) const {
  const std::uint32_t here = candidate_.device(op);
  std::uint32_t state = candidate_.initial()[op];
  for (const Edge& edge : plan_.graph().in_edges(plan_.ids[op])) {
    const Index producer = plan_.index_of(edge.src);
    if (record_.position(producer) >= pause.ended) continue;
    const bool there = candidate_.device(producer) == here;
    if (there ||
        arrival_[candidate_.placed().sent(plan_, producer, edge.tensor, here)] < pause.arrivals) {
      state -= simulator::kOneInput;
    }
  }
  return state;
}

template <typename Rules>
bool IncrementalStep<Rules>::hopeless_from(const Pause& from, double limit_us) const {
  for (std::uint32_t d = 0; d < plan_.device_count; ++d) {
    double busy_until_us = from.earliest_us[d] + from.left_us[d];
    for (const auto& change : candidate_.changed()) {
      if (change.from == d) busy_until_us -= busy_us(change.op, d);
      if (change.to == d) busy_until_us += busy_us(change.op, d);
    }
    if (busy_until_us >= limit_us) return true;
  }
  if (candidate_.changed().size() != 1) return false;
  return from.now_us + placed_tail_us(plan_, candidate_.initial(), tail_us_,
                                      candidate_.changed().front().op) >=
         limit_us;
}

template <typename Rules>
template <typename Step>
bool IncrementalStep<Rules>::same_as(const Step& step, const Pause& recorded, Scratch& scratch) {
  // A moved op that knows nothing yet has its effect to come.
  if (candidate_.last_changed() >= recorded.end) return false;
  for (std::uint32_t source = 0; source < recorded.snapshot.pending.size(); ++source) {
    if (step.pending(source) != recorded.snapshot.pending[source]) return false;
  }
  step.save(scratch.snapshot);
  if (!(scratch.snapshot == recorded.snapshot)) return false;
  return same_inputs(recorded, scratch.workspace);
}

/// Whether the same inputs are missing. Nothing waits for an op that has all its inputs and does
/// not wait itself.
template <typename Rules>
bool IncrementalStep<Rules>::same_inputs(const Pause& recorded,
                                         const simulator::Workspace& workspace) {
  const std::uint32_t* const now = workspace.state.data() + recorded.first;
  const std::uint32_t* const then = recorded.state.data();
  const std::size_t count = recorded.state.size();
  const auto differs = [&](std::size_t i) -> std::uint32_t {
    return (now[i] != then[i] ? 1U : 0U) & ((now[i] | then[i]) >= simulator::kOneInput ? 1U : 0U);
  };
  // Entries that differed in the pause before mostly still do.
  const std::size_t last = differing_ - recorded.first;
  if (differing_ >= recorded.first && last < count && differs(last) != 0) return false;
  constexpr std::size_t kAtOnce = 64;  // without a branch, so that it is vectorized
  for (std::size_t begin = 0; begin < count; begin += kAtOnce) {
    const std::size_t end = std::min(begin + kAtOnce, count);
    std::uint32_t any = 0;
    for (std::size_t i = begin; i < end; ++i) any |= differs(i);
    if (any == 0) continue;
    std::size_t i = begin;
    while (differs(i) == 0) ++i;
    differing_ = recorded.first + static_cast<Index>(i);
    return false;
  }
  return true;
}

/// The candidate, from a pause on. False where the runtime is certain to be no less than the limit.
template <typename Rules>
template <typename Watch>
bool IncrementalStep<Rules>::simulate(Watch& watch, const Pause& from, double limit_us,
                                      Scratch& scratch, double& runtime_us) {
  watch.ended = from.ended;
  if constexpr (Watch::kBounding) {
    scratch.left_us = from.left_us;
    for (const auto& change : candidate_.changed()) {
      scratch.left_us[change.from] -= busy_us(change.op, change.from);
      scratch.left_us[change.to] += busy_us(change.op, change.to);
    }
    watch.left_us = scratch.left_us.data();
    watch.busy_us = facts_->busy_rows.data();
    watch.tail_us = tail_us_.data();
    if (candidate_.changed().size() == 1) watch.moved = candidate_.changed().front().op;
    watch.limit_after_moved_us = limit_us;
  }
  const auto judged = [&](auto& step) {
    std::size_t next = record_.number_of(from) + 1;
    for (;;) {
      if (!watch.hopeless && !Watch::kRemembers) {
        watch.stop = (watch.ended / settings_.spacing + 1) * settings_.spacing;
      }
      if (step.go_on()) break;
      if (watch.hopeless) return false;
      if constexpr (Watch::kBounding) {
        for (std::uint32_t d = 0; d < plan_.device_count; ++d) {
          if (step.earliest_us(d) + scratch.left_us[d] >= limit_us) return false;
        }
      }
      // From the same state on the memory may still be another.
      if constexpr (!Watch::kRemembers) {
        while (next < record_.size() && record_[next].ended < watch.ended) ++next;
        if (next == record_.size() || record_[next].ended != watch.ended) continue;
        if (same_as(step, record_[next], scratch)) {
          runtime_us = score_.objective_us;
          return true;
        }
      }
    }
    runtime_us = step.runtime_us();
    return true;
  };
  const bool known = go_on_from(from, plan_, candidate_.placed(), scratch.workspace, watch, judged);
  work_.simulated_ops += watch.ended - from.ended;
  return known;
}

/// The candidate's runtime, and into scratch its memory where it is followed. False where the
/// runtime is certain to be no less than the cutoff.
template <typename Rules>
bool IncrementalStep<Rules>::judge(const Pause& from, double cutoff_us, bool with_memory,
                                   Scratch& scratch, double& runtime_us) {
  const double limit_us = cutoff_us * (1 + kRounding);
  simulator::Workspace& workspace = scratch.workspace;
  candidate_.place_rows(workspace);
  load_inputs(from, workspace);
  for (const auto& change : candidate_.changed())
    workspace.state[change.op] = state_in(from, change.op);
  const bool bounded = cutoff_us < kCannotRun;
  if constexpr (std::is_same_v<Rules, DataflowRules>) {
    if (with_memory) {
      Watch<StepMemory, false, false> watch(plan_, candidate_.by_op(), workspace.state,
                                            workspace.memory, no_log);
      watch.limit_us = limit_us;
      from.memory.restore(plan_, workspace.memory);
      return simulate(watch, from, limit_us, scratch, runtime_us);
    }
  }
  if (bounded) {
    Watch<simulator::NoObserver, false, true> watch;
    return simulate(watch, from, limit_us, scratch, runtime_us);
  }
  Watch<simulator::NoObserver, false, false> watch;
  return simulate(watch, from, limit_us, scratch, runtime_us);
}

template <typename Rules>
MoveEvaluator::Candidate IncrementalStep<Rules>::propose(std::span<const Move> moves,
                                                         double cutoff_us, Scratch& scratch) {
  candidate_.take_back();
  candidate_.make(moves);
  known_excess_bytes_ = kUnknown;
  if (candidate_.changed().empty()) {
    const bool rejected = score_.objective_us >= cutoff_us;
    return {{score_.objective_us, rejected ? 0 : score_.excess_bytes}, rejected};
  }
  ++work_.evaluations;
  const bool may_overflow = !candidate_.surely_fits();
  const bool at_once = settings_.reports && follows_memory_ && may_overflow;
  candidate_.rewire(!at_once);
  const Pause& start = at_once ? start_of_memory() : start_of_change();
  if (cutoff_us < kCannotRun && hopeless_from(start, cutoff_us * (1 + kRounding))) {
    return {{cutoff_us, 0}, true};
  }
  double runtime_us = 0;
  if (!judge(start, cutoff_us, at_once, scratch, runtime_us)) {
    return {{cutoff_us, 0}, true};
  }
  if (runtime_us >= cutoff_us) return {{runtime_us, 0}, true};
  if (follows_memory_ && may_overflow) {
    // Once more, with the memory.
    if (!at_once)
      static_cast<void>(judge(start_of_memory(), kCannotRun, true, scratch, runtime_us));
    known_excess_bytes_ = excess_of_peaks(scratch);
  } else {
    known_excess_bytes_ = excess_bytes(scratch);
  }
  return {{runtime_us, known_excess_bytes_}, false};
}

/// The score of the placement in candidate_, where memory is not followed.
template <typename Rules>
std::int64_t IncrementalStep<Rules>::excess_bytes(Scratch& scratch) {
  if (candidate_.surely_fits()) return 0;
  simulator_.evaluate(candidate_.by_op(), scratch.full, scratch.evaluation);
  work_.simulated_ops += plan_.op_count;
  return scratch.evaluation.excess_bytes;
}

/// The score of the step that was simulated last, with its memory.
template <typename Rules>
std::int64_t IncrementalStep<Rules>::excess_of_peaks(const Scratch& scratch) const {
  std::int64_t excess = 0;
  for (std::uint32_t d = 0; d < plan_.device_count; ++d) {
    const std::int64_t memory = plan_.problem->memory_bytes(static_cast<DeviceId>(d));
    const std::int64_t peak = scratch.workspace.memory.peaks[d].bytes;
    if (peak > memory) excess = std::max(excess, peak - memory);
  }
  return excess;
}

template <typename Rules>
void IncrementalStep<Rules>::accept(Scratch& scratch, const Wanted& wanted) {
  if (candidate_.changed().empty()) return;
  const bool with_memory = records_memory();
  candidate_.rewire(!with_memory);
  const Pause& start = with_memory ? start_of_memory() : start_of_change();
  const std::size_t from = record_.number_of(start);
  if (follows_memory_ && !with_memory) {
    for (std::size_t i = record_.number_of(start_of_memory()) + 1; i <= from; ++i) {
      record_[i].has_memory = false;
    }
  }
  for (const auto& change : candidate_.changed()) {
    for (std::size_t i = 0; i <= from; ++i) {
      Pause& pause = record_[i];
      pause.left_us[change.from] -= busy_us(change.op, change.from);
      pause.left_us[change.to] += busy_us(change.op, change.to);
      if (change.op >= pause.first && change.op < pause.end) {
        pause.state[change.op - pause.first] = state_in(pause, change.op);
      }
    }
  }
  candidate_.keep();
  placed_tails(plan_, candidate_.initial(), candidate_.last_changed() + 1, tail_us_);
  hint(wanted.next);
  regular_ = settings_.anywhere;
  record(from, scratch, wanted);
}

template <typename Rules>
void IncrementalStep<Rules>::move(std::span<const Move> moves, Scratch& scratch,
                                  const Wanted& wanted) {
  candidate_.take_back();
  candidate_.make(moves);
  known_excess_bytes_ = kUnknown;
  accept(scratch, wanted);
}

template class IncrementalStep<PlacetoRules>;
template class IncrementalStep<DataflowRules>;

}  // namespace berth::moves
