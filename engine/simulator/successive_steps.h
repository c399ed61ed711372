// Steps of placements that follow one another, each with a few ops moved from where they were: an
// episode of a policy that learns. A move changes nothing before the first producer of a moved op
// ends, so the step of the next placement goes on from the last pause before that.
//
// moves/step_moves.cpp asks many candidates of one placement what they would be worth, most of
// which it rejects early; here every other one is made, memory is always wanted, of a move that is
// made all that Simulator::evaluate says.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "berth/simulator.h"
#include "simulator/snapshot.h"
#include "simulator/step_record.h"
#include "simulator/workspace.h"

namespace berth {

/// To the last bit what Simulator::evaluate gives. Goes on from pauses in `dataflow` semantics
/// under the objective latency; elsewhere every placement is evaluated in full (the published rule
/// of memory looks back on the whole step). [thread-compatible: one sequence of placements each;
/// any number may share a simulator]
class SuccessiveSteps {
 public:
  /// Scratch memory of one thread, for any of them in turn.
  struct Scratch {
    simulator::Workspace step;
    Simulator::Workspace full;
    Evaluation tried;
  };

  /// Keeps a reference to `simulator`. With `tries` many a try_move is to be expected per move, of
  /// ops anywhere in the step.
  SuccessiveSteps(const Simulator& simulator, bool tries);

  /// `op_start_us` has room for every op. Placements are not validated.
  void start(std::span<const DeviceId> placement, Scratch& scratch, Evaluation& out,
             std::span<double> op_start_us);
  /// `placement` differs from the one before in the devices of `moved` alone; `op_start_us` holds
  /// what it held then. It is fast where `next` are the ops that will move next, if any do.
  void move(std::span<const DeviceId> placement, std::span<const OpId> moved,
            std::span<const OpId> next, Scratch& scratch, Evaluation& out,
            std::span<double> op_start_us);
  /// What a move would give that is not made: `placement` differs from the last one in the devices
  /// of `moved` alone. It is fast where they are the `next` of the last move. An objective of
  /// `limit_us` or more is given as kCannotRun.
  [[nodiscard]] Score try_move(std::span<const DeviceId> placement, std::span<const OpId> moved,
                               double limit_us, Scratch& scratch) const;

 private:
  /// A pause of the last step. Nothing in it depends on where the ops are that know nothing yet.
  struct Pause {
    std::uint32_t ended = 0;             ///< ops that have ended
    simulator::Index first = 0;          ///< ops before it have ended
    std::vector<std::uint32_t> missing;  ///< inputs of the ops from `first` on, but for the last
                                         ///< ops, which miss all of theirs
    std::uint32_t sent = 0;              ///< transfers and signals
    simulator::DataflowSnapshot snapshot;
    // Memory, without the parameters.
    std::vector<std::int64_t> usage_bytes;  ///< by device
    std::vector<simulator::Peak> peaks;     ///< by device
    struct Holder {
      std::uint32_t holder;
      std::uint32_t count;
      std::uint32_t message;
    };
    struct HeldEdge {
      std::uint32_t edge;
      std::uint32_t holder;
    };
    std::vector<Holder> holders;
    std::vector<HeldEdge> edges;
  };

  [[nodiscard]] bool resumes() const;
  [[nodiscard]] std::uint32_t first_change(std::span<const OpId> ops) const;
  void evaluate(std::span<const DeviceId> placement, Scratch& scratch, Evaluation& out,
                std::span<double> op_start_us);
  void restore_inputs(const Pause& from, std::vector<std::uint32_t>& state) const;
  void restore_memory(const Pause& from, simulator::MemoryScratch& memory) const;
  template <typename Step>
  void save(const Step& step, std::uint32_t ended, const simulator::Workspace& workspace);
  template <typename Observer>
  [[nodiscard]] double finish(const Pause* from, Observer& limited,
                              simulator::Workspace& workspace) const;

  const Simulator& simulator_;
  const simulator::Plan& plan_;
  const bool tries_;
  const bool fits_;                           ///< any placement does (looked at for tries alone)
  const std::uint32_t spacing_;               ///< ops between pauses
  std::vector<std::int64_t> resident_bytes_;  ///< by device: parameters
  std::vector<std::uint32_t> stops_;          ///< ops that have ended when the step is to pause
  simulator::StepRecord<Pause> record_;       ///< of the last step, where steps resume
};

}  // namespace berth
