// Latency: the step of the placement kept is recorded, and a candidate's step starts from there.
//
// A move changes nothing before the last producer of the moved op ends, unless an earlier producer
// has to send something else than before. So a candidate resumes the last recorded snapshot before
// that time and counts the missing inputs of the op again. It simulates on until
// - it is certain to reach the cutoff: the work left on a device is too long, or the path after an
//   op that starts now;
// - it has the same state as the recorded step had after as many ops, so that the rest is the same;
// - or the step is over.
// Before anything is simulated, the snapshot itself is tested against the cutoff.
//
// The plan is compiled for the kept placement and patched for a candidate (simulator/placed.h), so
// that an event need not look up devices. That saves 10 to 20 % of the time per event. Replaying
// the recorded order does not work: if devices have queues, three of four ops that start at another
// time also run after another op (tests/bench/moves_bench.cpp).
#include <algorithm>
#include <cassert>
#include <limits>
#include <type_traits>

#include "berth/simulator.h"
#include "berth/support/index.h"
#include "moves/move_strategy.h"
#include "moves/placed_tails.h"
#include "simulator/footprints.h"
#include "simulator/placed.h"
#include "simulator/run.h"
#include "simulator/step_record.h"

namespace berth::moves {
namespace {

using simulator::Index;
using simulator::kNotEnded;
using simulator::Plan;

/// Bounds are sums in another order than the step's, so they must pass a cutoff by more than their
/// rounding.
constexpr double kRounding = 1e-9;

/// The differences between the two semantics.
struct PlacetoRules {
  using Snapshot = simulator::PlacetoSnapshot;
  template <typename Events, typename Observer>
  using Step = simulator::PlacetoStep<simulator::Placed, Events, Observer>;
};
struct DataflowRules {
  using Snapshot = simulator::DataflowSnapshot;
  template <typename Events, typename Observer>
  using Step = simulator::DataflowStep<simulator::Placed, Events, Observer>;
};

/// A pause of the recorded step. Ops before `first` have ended; no input of the ops from `end` on
/// has arrived.
template <typename Snapshot>
struct Pause {
  std::uint32_t ended = 0;
  Index first = 0;
  Index end = 0;
  double now_us = 0;                 ///< of the next event; nothing starts before
  std::vector<std::uint32_t> state;  ///< simulator::Workspace::state of [first, end)
  std::vector<double> earliest_us;   ///< by device: it starts no further op before
  std::vector<double> left_us;       ///< by device: work of the ops that have not started
  Snapshot snapshot;
};

struct Changed {
  Index op;
  std::uint32_t from;
  std::uint32_t to;
};

struct Rewired {
  Index op;
  bool sends_anew;  ///< see Placed::rewire
};

/// Follows a step. `position` is written where kRecords; the rest bounds the runtime from below.
template <bool kRecords, bool kBounds>
struct Watch : simulator::NoObserver {
  static constexpr bool kPauses = true;

  [[nodiscard]] bool pauses() const { return ended >= stop; }
  void op_started(Index op, std::uint32_t d, double start_us, double) {
    if constexpr (kBounds) {
      left_us[d] -= busy_us[d][op];
      if (start_us + tail_us[op] >= limit_us) {
        hopeless = true;
        stop = 0;
      }
      // Paths through the moved op are others now, but no op that starts later has one.
      if (op == moved) limit_us = limit_after_moved_us;
    }
  }
  void op_ended(Index op, std::uint32_t, double) {
    if constexpr (kRecords) {
      position[op] = ended;
      end_of_readers = std::max(end_of_readers, ends_of_readers[op]);
    }
    ++ended;
  }
  void arrived(std::uint32_t sent) {
    if constexpr (kRecords) arrived_before[sent] = recorded_count;
  }

  std::uint32_t ended = 0;
  std::uint32_t stop = 0;
  std::uint32_t* position = nullptr;
  std::uint32_t* arrived_before = nullptr;
  std::uint32_t recorded_count = 0;
  const Index* ends_of_readers = nullptr;
  Index end_of_readers = 0;  ///< ops from here on know nothing yet
  double* left_us = nullptr;
  const double* const* busy_us = nullptr;
  const double* tail_us = nullptr;
  Index moved = kNotEnded;
  double limit_us = kCannotRun;
  double limit_after_moved_us = kCannotRun;
  bool hopeless = false;
};

template <typename Rules>
class StepMoves final : public MoveStrategy {
 public:
  StepMoves(const Simulator& simulator, const Plan& plan);

  void reset(std::span<const DeviceId> placement) override;
  MoveEvaluator::Candidate propose(std::span<const Move> moves, double cutoff_us) override;
  void accept() override;

 private:
  using Recorded = Pause<typename Rules::Snapshot>;

  void relocate(const Changed& change);
  void rewire();
  void make(std::span<const Move> moves);
  void take_back();
  [[nodiscard]] const Recorded& start_of_change() const;
  [[nodiscard]] std::uint32_t state_in(const Recorded& pause, Index op) const;
  void place_rows();
  void load_inputs(const Recorded& from);
  void record(std::size_t from);
  template <typename Step>
  void save(const Step& step, std::uint32_t ended, Index end);
  [[nodiscard]] bool hopeless_from(const Recorded& from, double limit_us) const;
  template <bool kBounds>
  [[nodiscard]] bool simulate(const Recorded& from, double limit_us, double& runtime_us);
  template <typename Step>
  [[nodiscard]] bool same_as(const Step& step, const Recorded& recorded);
  [[nodiscard]] bool same_inputs(const Recorded& recorded);
  [[nodiscard]] std::int64_t excess_bytes();
  [[nodiscard]] double busy_us(Index op, std::uint32_t d) const { return busy_rows_[d][op]; }

  const Simulator& simulator_;
  const Plan& plan_;
  const std::uint32_t spacing_;           ///< ops between pauses
  std::vector<double> busy_us_;           ///< kind-major, by Index: pauses included
  std::vector<const double*> busy_rows_;  ///< by device
  std::vector<Index> end_of_readers_;     ///< by Index: one past the op's last consumer
  simulator::Footprints footprints_;

  // The placement kept, with the candidate's moves while there is one.
  std::vector<DeviceId> candidate_;          ///< by op
  std::vector<std::uint32_t> initial_;       ///< simulator::Workspace::state at the start
  std::vector<std::uint32_t> room_;          ///< by device: transfers its ops make at most
  std::vector<std::int64_t> at_most_bytes_;  ///< by device
  std::vector<Changed> changed_;
  Index last_changed_ = 0;  ///< of them, if there are any
  simulator::Placed placed_;
  std::vector<Rewired> rewired_;           ///< what placed_ has of the candidate; empty: nothing
  std::vector<std::uint32_t> rewired_in_;  ///< by Index: the last round
  std::uint32_t round_ = 0;

  // The step of the placement kept.
  /// By number of what was sent (Placed::sent): the first pause after it arrived.
  std::vector<std::uint32_t> arrived_before_;
  std::vector<double> tail_us_;
  simulator::StepRecord<Recorded> record_;

  std::vector<double> left_us_;
  Index differing_ = 0;  ///< an op of which other inputs were missing than in a pause
  simulator::Workspace workspace_;
  Recorded scratch_;
  Simulator::Workspace full_workspace_;
  Evaluation evaluation_;
};

template <typename Rules>
StepMoves<Rules>::StepMoves(const Simulator& simulator, const Plan& plan)
    : simulator_(simulator),
      plan_(plan),
      spacing_(std::max<std::uint32_t>(16, plan.op_count / 256)),
      busy_us_(plan.duration_us),
      end_of_readers_(plan.op_count, 0),
      footprints_(plan),
      initial_(plan.op_count),
      rewired_in_(plan.op_count, 0),
      tail_us_(plan.op_count) {
  if (plan.placeto) {
    for (double& us : busy_us_) us += us == 0 ? 0 : plan.problem->options().device_gap_us;
  }
  for (DeviceId d = 0; d < plan.cluster().device_count(); ++d) {
    busy_rows_.push_back(busy_us_.data() + (plan.durations_on(d) - plan.duration_us.data()));
  }
  for (std::uint32_t m = 0; m < plan.messages.size(); ++m) {
    Index& end = end_of_readers_[plan.message_producer[m]];
    for (std::uint32_t e = plan.messages[m].begin; e < plan.messages[m].end; ++e) {
      end = std::max(end, plan.consumers[e] + 1);
    }
  }
}

template <typename Rules>
void StepMoves<Rules>::reset(std::span<const DeviceId> placement) {
  placement_.assign(placement.begin(), placement.end());
  candidate_ = placement_;
  changed_.clear();
  rewired_.clear();
  room_.assign(plan_.device_count, 0);
  at_most_bytes_.assign(plan_.device_count, footprints_.common_bytes);
  arrived_before_.assign(std::max(plan_.messages.size(), plan_.consumers.size()), kNotEnded);
  record_.clear(plan_.op_count);
  Recorded& start = record_.add(0);
  start.earliest_us.assign(plan_.device_count, 0);
  start.left_us.assign(plan_.device_count, 0);
  for (Index op = 0; op < plan_.op_count; ++op) {
    const auto d = static_cast<std::uint32_t>(placement[at(plan_.ids[op])]);
    initial_[op] = plan_.waiting[op] | d;
    room_[d] += plan_.sends[op];
    at_most_bytes_[d] += footprints_.op_bytes[op];
    start.left_us[d] += busy_us(op, d);
  }
  placed_.compile(plan_, initial_);
  placed_tails(plan_, initial_, plan_.op_count, tail_us_);
  record(0);
}

/// Rows as simulator::Workspace::prepare lays them out.
template <typename Rules>
void StepMoves<Rules>::place_rows() {
  workspace_.begin.resize(plan_.device_count);
  workspace_.row_total = 0;
  for (std::uint32_t d = 0; d < plan_.device_count; ++d) {
    workspace_.begin[d] = workspace_.row_total;
    workspace_.row_total += room_[d] + 1;
  }
}

template <typename Rules>
void StepMoves<Rules>::load_inputs(const Recorded& from) {
  std::vector<std::uint32_t>& state = workspace_.state;
  state.resize(plan_.op_count);
  for (Index op = 0; op < from.first; ++op) state[op] = initial_[op] & simulator::kDeviceMask;
  std::copy(from.state.begin(), from.state.end(), state.begin() + from.first);
  std::copy(initial_.begin() + from.end, initial_.end(), state.begin() + from.end);
}

/// Simulates the placement in candidate_, which is the one kept, from a pause on and records it.
template <typename Rules>
void StepMoves<Rules>::record(std::size_t from) {
  record_.keep(from + 1);
  const std::uint32_t ended = record_.go_on();
  for (std::uint32_t& pause : arrived_before_) {
    if (pause > from) pause = kNotEnded;
  }
  left_us_ = record_[from].left_us;
  place_rows();
  load_inputs(record_[from]);

  Watch<true, true> watch;
  watch.ended = ended;
  watch.position = record_.positions();
  watch.arrived_before = arrived_before_.data();
  watch.recorded_count = static_cast<std::uint32_t>(record_.size());
  watch.ends_of_readers = end_of_readers_.data();
  watch.end_of_readers = record_[from].end;
  watch.left_us = left_us_.data();
  watch.busy_us = busy_rows_.data();
  watch.tail_us = tail_us_.data();
  score_.objective_us = simulator::with_events(plan_, workspace_, [&](auto& events) {
    typename Rules::template Step<std::remove_reference_t<decltype(events)>, Watch<true, true>>
        step(plan_, placed_, workspace_, events, watch);
    if (ended == 0) {
      step.begin();
    } else {
      step.resume(record_[from].snapshot);
    }
    watch.stop = (ended / spacing_ + 1) * spacing_;
    while (!step.go_on()) {
      save(step, watch.ended, watch.end_of_readers);
      ++watch.recorded_count;
      watch.stop = (watch.ended / spacing_ + 1) * spacing_;
    }
    return step.runtime_us();
  });
  assert(watch.ended == plan_.op_count);
  assert(score_.objective_us == simulator_.runtime_us(candidate_, full_workspace_));
  score_.excess_bytes = excess_bytes();
}

template <typename Rules>
template <typename Step>
void StepMoves<Rules>::save(const Step& step, std::uint32_t ended, Index end) {
  Recorded& to = record_.add(ended);
  to.end = std::max(end, to.first);
  to.state.assign(workspace_.state.begin() + to.first, workspace_.state.begin() + to.end);
  to.left_us = left_us_;
  to.earliest_us.clear();
  for (std::uint32_t d = 0; d < plan_.device_count; ++d) {
    to.earliest_us.push_back(step.earliest_us(d));
  }
  step.save(to.snapshot);
  simulator::TimeKey next = to.snapshot.pending.front();
  for (const simulator::TimeKey key : to.snapshot.pending) next = std::min(next, key);
  if constexpr (std::is_same_v<Rules, DataflowRules>) {
    for (const simulator::Signal& signal : to.snapshot.signals) {
      next = std::min(next, signal.arrival);
    }
  }
  to.now_us = simulator::time_of(next);
}

template <typename Rules>
void StepMoves<Rules>::relocate(const Changed& change) {
  initial_[change.op] += change.to - change.from;
  room_[change.from] -= plan_.sends[change.op];
  room_[change.to] += plan_.sends[change.op];
  at_most_bytes_[change.from] -= footprints_.op_bytes[change.op];
  at_most_bytes_[change.to] += footprints_.op_bytes[change.op];
  candidate_[at(plan_.ids[change.op])] = static_cast<DeviceId>(change.to);
}

template <typename Rules>
void StepMoves<Rules>::make(std::span<const Move> moves) {
  for (const Move& move : moves) {
    const Index op = plan_.index_of(move.op);
    const std::uint32_t from = initial_[op] & simulator::kDeviceMask;
    const auto to = static_cast<std::uint32_t>(move.to);
    if (from == to) continue;
    changed_.push_back({op, from, to});
    last_changed_ = changed_.size() > 1 ? std::max(last_changed_, op) : op;
    relocate(changed_.back());
  }
}

/// Compiles anew what the candidate's moves change: the ops and those that send to them.
template <typename Rules>
void StepMoves<Rules>::rewire() {
  if (!rewired_.empty()) return;
  ++round_;
  const auto once = [&](Index op) {
    if (rewired_in_[op] == round_) return;
    rewired_in_[op] = round_;
    rewired_.push_back({op, placed_.rewire(plan_, initial_, op)});
  };
  for (const Changed& change : changed_) {
    once(change.op);
    for (const Edge& edge : plan_.graph().in_edges(plan_.ids[change.op])) {
      once(plan_.index_of(edge.src));
    }
  }
}

template <typename Rules>
void StepMoves<Rules>::take_back() {
  for (std::size_t i = changed_.size(); i > 0; --i) {
    const Changed& change = changed_[i - 1];
    relocate({change.op, change.to, change.from});
  }
  changed_.clear();
  for (const Rewired& rewired : rewired_) placed_.wire(plan_, initial_, rewired.op);
  rewired_.clear();
}

/// The last pause before anything changes: before an op sends something else than it did, and
/// before the last input of a moved op.
template <typename Rules>
auto StepMoves<Rules>::start_of_change() const -> const Recorded& {
  std::uint32_t earliest = plan_.op_count;
  for (const Rewired& rewired : rewired_) {
    if (rewired.sends_anew) earliest = std::min(earliest, record_.position(rewired.op));
  }
  for (const Changed& change : changed_) {
    std::uint32_t last = 0;
    for (const Edge& edge : plan_.graph().in_edges(plan_.ids[change.op])) {
      last = std::max(last, record_.position(plan_.index_of(edge.src)));
    }
    earliest = std::min(earliest, last);
  }
  return record_[record_.no_later_than(earliest) - 1];
}

/// What simulator::Workspace::state has of a moved op in a pause before start_of_change.
template <typename Rules>
std::uint32_t StepMoves<Rules>::state_in(const Recorded& pause, Index op) const {
  const auto number = static_cast<std::uint32_t>(record_.number_of(pause));
  const std::uint32_t here = initial_[op] & simulator::kDeviceMask;
  std::uint32_t state = initial_[op];
  for (const Edge& edge : plan_.graph().in_edges(plan_.ids[op])) {
    const Index producer = plan_.index_of(edge.src);
    if (record_.position(producer) >= pause.ended) continue;
    const bool there = (initial_[producer] & simulator::kDeviceMask) == here;
    if (there || arrived_before_[placed_.sent(plan_, producer, edge.tensor, here)] <= number) {
      state -= simulator::kOneInput;
    }
  }
  return state;
}

template <typename Rules>
bool StepMoves<Rules>::hopeless_from(const Recorded& from, double limit_us) const {
  for (std::uint32_t d = 0; d < plan_.device_count; ++d) {
    double busy_until_us = from.earliest_us[d] + from.left_us[d];
    for (const Changed& change : changed_) {
      if (change.from == d) busy_until_us -= busy_us(change.op, d);
      if (change.to == d) busy_until_us += busy_us(change.op, d);
    }
    if (busy_until_us >= limit_us) return true;
  }
  if (changed_.size() != 1) return false;
  return from.now_us + placed_tail_us(plan_, initial_, tail_us_, changed_.front().op) >= limit_us;
}

template <typename Rules>
template <typename Step>
bool StepMoves<Rules>::same_as(const Step& step, const Recorded& recorded) {
  // A moved op that knows nothing yet has its effect to come.
  if (last_changed_ >= recorded.end) return false;
  for (std::uint32_t source = 0; source < 2 * plan_.device_count; ++source) {
    if (step.pending(source) != recorded.snapshot.pending[source]) return false;
  }
  step.save(scratch_.snapshot);
  if (!(scratch_.snapshot == recorded.snapshot)) return false;
  return same_inputs(recorded);
}

/// Whether the same inputs are missing. Nothing waits for an op that has all its inputs and does
/// not wait itself.
template <typename Rules>
bool StepMoves<Rules>::same_inputs(const Recorded& recorded) {
  const std::uint32_t* const now = workspace_.state.data() + recorded.first;
  const std::uint32_t* const then = recorded.state.data();
  const std::size_t count = recorded.state.size();
  const auto differs = [&](std::size_t i) -> std::uint32_t {
    return (now[i] != then[i] ? 1U : 0U) & ((now[i] | then[i]) >= simulator::kOneInput ? 1U : 0U);
  };
  // What differed in the pause before mostly still does.
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

/// False where the runtime is certain to be no less than the limit.
template <typename Rules>
template <bool kBounds>
bool StepMoves<Rules>::simulate(const Recorded& from, double limit_us, double& runtime_us) {
  place_rows();
  load_inputs(from);
  Watch<false, kBounds> watch;
  watch.ended = from.ended;
  for (const Changed& change : changed_) {
    workspace_.state[change.op] = state_in(from, change.op);
  }
  if constexpr (kBounds) {
    left_us_ = from.left_us;
    for (const Changed& change : changed_) {
      left_us_[change.from] -= busy_us(change.op, change.from);
      left_us_[change.to] += busy_us(change.op, change.to);
    }
    watch.left_us = left_us_.data();
    watch.busy_us = busy_rows_.data();
    watch.tail_us = tail_us_.data();
    if (changed_.size() == 1) watch.moved = changed_.front().op;
    watch.limit_after_moved_us = limit_us;
  }
  return simulator::with_events(plan_, workspace_, [&](auto& events) {
    typename Rules::template Step<std::remove_reference_t<decltype(events)>, Watch<false, kBounds>>
        step(plan_, placed_, workspace_, events, watch);
    if (from.ended == 0) {
      step.begin();
    } else {
      step.resume(from.snapshot);
    }
    std::size_t next = record_.number_of(from) + 1;
    for (;;) {
      if (!watch.hopeless) watch.stop = (watch.ended / spacing_ + 1) * spacing_;
      if (step.go_on()) break;
      if (watch.hopeless) return false;
      if constexpr (kBounds) {
        for (std::uint32_t d = 0; d < plan_.device_count; ++d) {
          if (step.earliest_us(d) + left_us_[d] >= limit_us) return false;
        }
      }
      while (next < record_.size() && record_[next].ended < watch.ended) ++next;
      if (next == record_.size() || record_[next].ended != watch.ended) continue;
      if (same_as(step, record_[next])) {
        runtime_us = score_.objective_us;
        return true;
      }
    }
    runtime_us = step.runtime_us();
    return true;
  });
}

template <typename Rules>
MoveEvaluator::Candidate StepMoves<Rules>::propose(std::span<const Move> moves, double cutoff_us) {
  take_back();
  make(moves);
  double runtime_us = score_.objective_us;
  if (!changed_.empty()) {
    rewire();
    const Recorded& from = start_of_change();
    const bool bounded = cutoff_us < kCannotRun;
    const double limit_us = cutoff_us * (1 + kRounding);
    if (bounded && hopeless_from(from, limit_us)) return {{cutoff_us, 0}, true};
    const bool known = bounded ? simulate<true>(from, limit_us, runtime_us)
                               : simulate<false>(from, limit_us, runtime_us);
    if (!known) return {{cutoff_us, 0}, true};
  }
  if (runtime_us >= cutoff_us) return {{runtime_us, 0}, true};
  return {{runtime_us, changed_.empty() ? score_.excess_bytes : excess_bytes()}, false};
}

/// Of the placement in candidate_.
template <typename Rules>
std::int64_t StepMoves<Rules>::excess_bytes() {
  // Where all that may ever be on a device fits at once there is nothing to look at.
  bool fits = true;
  for (std::uint32_t d = 0; d < plan_.device_count; ++d) {
    fits = fits && at_most_bytes_[d] <= plan_.problem->memory_bytes(static_cast<DeviceId>(d));
  }
  if (fits) return 0;
  simulator_.evaluate(candidate_, full_workspace_, evaluation_);
  return evaluation_.excess_bytes;
}

template <typename Rules>
void StepMoves<Rules>::accept() {
  if (changed_.empty()) return;
  rewire();
  const auto from = record_.number_of(start_of_change());
  for (const Changed& change : changed_) {
    const auto op = at(plan_.ids[change.op]);
    placement_[op] = candidate_[op];
    for (std::size_t i = 0; i <= from; ++i) {
      Recorded& pause = record_[i];
      pause.left_us[change.from] -= busy_us(change.op, change.from);
      pause.left_us[change.to] += busy_us(change.op, change.to);
      if (change.op >= pause.first && change.op < pause.end) {
        pause.state[change.op - pause.first] = state_in(pause, change.op);
      }
    }
  }
  changed_.clear();
  rewired_.clear();
  placed_tails(plan_, initial_, last_changed_ + 1, tail_us_);
  record(from);
}

}  // namespace

std::unique_ptr<MoveStrategy> step_moves(const Simulator& simulator, const Plan& plan) {
  if (plan.placeto) return std::make_unique<StepMoves<PlacetoRules>>(simulator, plan);
  return std::make_unique<StepMoves<DataflowRules>>(simulator, plan);
}

}  // namespace berth::moves
