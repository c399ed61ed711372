// The step of one placement, recorded, so that the steps of placements a few ops away resume in it:
// the one engine below local searches (MoveEvaluator) and sequences of placements
// (PlacementSequence).
//
// A move changes nothing before the last producer of the moved op ends, unless an earlier producer
// has to send something else than before. So a candidate resumes the last recorded pause before
// that time and counts the missing inputs of the op again. It simulates on until
// - it is certain to reach the cutoff: the work left on a device is too long, or the path after an
//   op that starts now;
// - it has the same state as the recorded step had after as many ops, so that the rest is the same;
// - or the step is over.
// Before anything is simulated, the pause itself is tested against the cutoff.
//
// Memory is followed where it may be short, and then from a pause before the first producer of a
// moved op ended: which device holds a tensor for how long depends on all of its consumers. A
// candidate that is not rejected is simulated once more for it; most are rejected. Where all that may ever
// be on each device fits at once, nothing follows memory.
//
// The plan is compiled for the kept placement and patched for a candidate (simulator/placed.h), so
// that an event need not look up devices. That saves 10 to 20 % of the time per event. Replaying
// the recorded order does not work: if devices have queues, three of four ops that start at another
// time also run after another op (tests/bench/moves_bench.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "berth/sdk/moves.h"
#include "berth/simulator.h"
#include "moves/candidate_placement.h"
#include "moves/step_facts.h"
#include "simulator/dataflow.h"
#include "simulator/paused_memory.h"
#include "simulator/placed.h"
#include "simulator/placeto.h"
#include "simulator/snapshot.h"
#include "simulator/step_record.h"
#include "simulator/workspace.h"

namespace berth::moves {

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
template <typename Rules>
struct StepPause {
  std::uint32_t ended = 0;
  simulator::Index first = 0;
  simulator::Index end = 0;
  std::uint32_t arrivals = 0;        ///< messages or parcels that have arrived
  std::uint32_t sent = 0;            ///< transfers and signals (dataflow)
  double now_us = 0;                 ///< of the next event; nothing starts before
  std::vector<std::uint32_t> state;  ///< simulator::Workspace::state of [first, end)
  std::vector<double> earliest_us;   ///< by device: it starts no further op before
  std::vector<double> left_us;       ///< by device: work of the ops that have not started
  typename Rules::Snapshot snapshot;
  bool has_memory = false;
  simulator::PausedMemory memory;
};

/// [thread-compatible; any number may share simulator and facts]
template <typename Rules>
class IncrementalStep {
 public:
  using Pause = StepPause<Rules>;

  /// Scratch memory of one thread, for any of them in turn.
  struct Scratch {
    simulator::Workspace workspace;
    std::vector<double> left_us;
    typename Rules::Snapshot snapshot;
    Simulator::Workspace full;
    Evaluation evaluation;
  };

  struct Settings {
    std::uint32_t spacing;  ///< ops between pauses
    /// Candidates may move ops anywhere in the step. False: what moves is what the last move named.
    bool anywhere = true;
    /// Memory is followed in every step, and not where it may be short alone. A candidate is then
    /// simulated once, with its memory.
    bool reports = false;
  };

  /// Figures wanted of the step that is kept, beside its score.
  struct Wanted {
    std::span<const OpId> next = {};   ///< the ops that will move next, if that is known
    double* op_start_us = nullptr;     ///< by op; holds what it held for the placement before
    Evaluation* evaluation = nullptr;  ///< where it `reports`
  };

  IncrementalStep(const Simulator& simulator, std::shared_ptr<const StepFacts> facts,
                  Settings settings);

  void reset(std::span<const DeviceId> placement, Scratch& scratch, const Wanted& wanted = {});
  [[nodiscard]] MoveEvaluator::Candidate propose(std::span<const Move> moves, double cutoff_us,
                                                 Scratch& scratch);
  /// Keeps the last candidate.
  void accept(Scratch& scratch, const Wanted& wanted = {});
  /// Makes `moves` without a look at what they give first.
  void move(std::span<const Move> moves, Scratch& scratch, const Wanted& wanted = {});

  /// The kept placement, by op.
  [[nodiscard]] const std::vector<DeviceId>& placement() const noexcept {
    return candidate_.kept();
  }
  [[nodiscard]] const Score& score() const noexcept { return score_; }
  /// A placement per reset and per candidate that differs from the one kept.
  [[nodiscard]] const SearchWork& work() const noexcept { return work_; }

 private:
  [[nodiscard]] std::uint32_t first_producer_end(OpId op) const;
  [[nodiscard]] const Pause& start_of_change() const;
  [[nodiscard]] const Pause& start_of_memory() const;
  [[nodiscard]] std::uint32_t state_in(const Pause& pause, simulator::Index op) const;
  [[nodiscard]] bool records_memory() const;
  void hint(std::span<const OpId> next);
  [[nodiscard]] std::uint32_t stop_after(std::uint32_t ended, bool regular) const;
  void load_inputs(const Pause& from, simulator::Workspace& workspace) const;
  void record(std::size_t from, Scratch& scratch, const Wanted& wanted);
  template <typename Watch>
  void record_with(Watch& watch, std::size_t from, Scratch& scratch);
  template <typename Step, typename Watch>
  void save(const Step& step, const Watch& watch, Scratch& scratch);
  [[nodiscard]] bool hopeless_from(const Pause& from, double limit_us) const;
  template <typename Watch>
  [[nodiscard]] bool simulate(Watch& watch, const Pause& from, double limit_us, Scratch& scratch,
                              double& runtime_us);
  [[nodiscard]] bool judge(const Pause& from, double cutoff_us, bool with_memory, Scratch& scratch,
                           double& runtime_us);
  template <typename Step>
  [[nodiscard]] bool same_as(const Step& step, const Pause& recorded, Scratch& scratch);
  [[nodiscard]] bool same_inputs(const Pause& recorded, const simulator::Workspace& workspace);
  [[nodiscard]] std::int64_t excess_bytes(Scratch& scratch);
  [[nodiscard]] std::int64_t excess_of_peaks(const Scratch& scratch) const;
  [[nodiscard]] double busy_us(simulator::Index op, std::uint32_t d) const {
    return facts_->busy_rows[d][op];
  }

  const Simulator& simulator_;
  const simulator::Plan& plan_;
  std::shared_ptr<const StepFacts> facts_;
  const Settings settings_;
  const bool follows_memory_;

  CandidatePlacement candidate_;
  Score score_;  ///< of the placement kept
  static constexpr std::int64_t kUnknown = -1;
  std::int64_t known_excess_bytes_ = kUnknown;  ///< of the candidate

  // The step of the placement kept.
  /// The number of tensors that had arrived before each, by number of what was sent (Placed::sent).
  std::vector<std::uint32_t> arrival_;
  std::vector<double> tail_us_;
  bool regular_ = true;               ///< the step that is being recorded has regular pauses
  std::vector<std::uint32_t> hints_;  ///< ops that have ended when the next step is to pause
  std::vector<std::int64_t> resident_bytes_;  ///< by device: parameters
  simulator::StepRecord<Pause> record_;
  SearchWork work_;
  simulator::Index differing_ = 0;  ///< an op of which other inputs were missing than in a pause
};

extern template class IncrementalStep<PlacetoRules>;
extern template class IncrementalStep<DataflowRules>;

}  // namespace berth::moves
