/// @file
/// Evaluators turn placements into results. Also: the best single device, which placements are compared with.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "berth/bounds.h"
#include "berth/export.h"
#include "berth/problem.h"
#include "berth/simulator.h"
#include "berth/support/score.h"
#include "berth/support/search_work.h"

namespace berth {

class SuccessiveEvaluator;

/// Turns placements into results. A policy cannot tell whether it simulates or executes.
/// [thread-compatible: a batch may be evaluated on many threads inside]
class BERTH_EXPORT Evaluator {
 public:
  virtual ~Evaluator();

  [[nodiscard]] virtual const Problem& problem() const noexcept = 0;

  /// Evaluates a batch; `out.size() == placements.size()`. The result of a placement does not
  /// depend on the rest of the batch or on the number of threads. Throws Error(invalid_argument)
  /// for a placement that Problem::validate_but_separations refuses, before anything is evaluated.
  virtual void evaluate(std::span<const Placement> placements, std::span<Evaluation> out) = 0;

  /// Whether runtimes are measured on hardware. No bound that follows from costs holds for those.
  [[nodiscard]] virtual bool measures() const noexcept { return false; }

  /// SearchWork::evaluations so far.
  [[nodiscard]] virtual std::int64_t evaluations() const noexcept = 0;
  /// SearchWork::simulated_ops so far; 0 if runtimes are measured.
  [[nodiscard]] virtual std::int64_t simulated_ops() const noexcept { return 0; }

  /// Evaluates a batch of one.
  [[nodiscard]] Evaluation evaluate(const Placement& placement);

  /// strong_lower_bound of the problem, computed at the first call; 0 us if runtimes are measured.
  /// Seconds for ten thousand ops and more, milliseconds for hundreds.
  [[nodiscard]] const LowerBound& bound();
  /// The same where that is known; else what is proven until `should_stop` (see bounds.h), which is
  /// kept for later calls of this function.
  [[nodiscard]] const LowerBound& bound(const std::function<bool()>& should_stop);

  /// This evaluator's way to evaluate placements that follow one another; null if it has none.
  [[nodiscard]] virtual SuccessiveEvaluator* successive() noexcept { return nullptr; }

 private:
  std::optional<LowerBound> bound_;
};

/// One sequence of placements, each a few ops away from the one before: an episode of a policy that
/// learns, for example. What it gives is what Evaluator::evaluate gives, to the last bit.
/// Placements are not validated. [thread-compatible]
class BERTH_EXPORT PlacementSequence {
 public:
  virtual ~PlacementSequence();

  /// Starts anew. `op_start_us` has room for every op.
  virtual void start(std::span<const DeviceId> placement, Evaluation& out,
                     std::span<double> op_start_us) = 0;
  /// `placement` differs from the one before in the devices of `moved` only; `out` and
  /// `op_start_us` hold what they held then. Fast if `next` are the ops that will move next.
  virtual void move(std::span<const DeviceId> placement, std::span<const OpId> moved,
                    std::span<const OpId> next, Evaluation& out, std::span<double> op_start_us) = 0;
  /// Scores a move without making it: `placement` differs from the last one in the
  /// devices of `moved` only. Fast if they are the `next` of the last move. An objective of at
  /// least `limit_us` is given as kCannotRun.
  [[nodiscard]] virtual Score try_move(std::span<const DeviceId> placement,
                                       std::span<const OpId> moved, double limit_us) = 0;
  /// Ops simulated since the last time this was asked.
  [[nodiscard]] virtual std::int64_t take_simulated_ops() noexcept = 0;
};

/// Evaluates sequences of placements, several at a time. An evaluator offers it that can go on from
/// one placement to the next. [thread-compatible, except as said]
class BERTH_EXPORT SuccessiveEvaluator {
 public:
  virtual ~SuccessiveEvaluator();

  /// A new sequence, which must not outlive this. With `tries`, many a try_move is to be expected
  /// per move, of ops anywhere in the step. [thread-safe]
  [[nodiscard]] virtual std::unique_ptr<PlacementSequence> sequence(bool tries) = 0;
  /// Calls body(i) for i in [0, count), on the evaluator's threads.
  virtual void for_each(std::size_t count, const std::function<void(std::size_t)>& body) = 0;
  /// Adds to the evaluator's count what sequences or move evaluators did; they do not count by
  /// themselves.
  virtual void count(const SearchWork& work) noexcept = 0;
};

/// An evaluator that simulates on up to `threads` threads, at most one per core; 0 = one per core.
/// Throws Error(invalid_argument) for a negative number and for a null problem. A policy's own
/// threads are bounded by PlaceContext::threads.
[[nodiscard]] BERTH_EXPORT std::unique_ptr<Evaluator> make_simulation_evaluator(
    std::shared_ptr<const Problem> problem, int threads = 0);

/// An evaluator for the same problem with other groups, for policies that work with coarser ones.
/// It measures through `evaluator`, which must outlive it and whose count of evaluations includes
/// its own. Throws Error(invalid_argument) for groups that do not fit the problem.
[[nodiscard]] BERTH_EXPORT std::unique_ptr<Evaluator> make_regrouped_evaluator(
    Evaluator& evaluator, std::shared_ptr<const Groups> groups);

/// One device for all that it can run, a host for the rest (see one_device_placement): the device with the
/// smallest objective among those for which that is feasible.
struct SingleDevice {
  DeviceId device = kNoDevice;  ///< kNoDevice: it is feasible for none
  Placement placement;          ///< empty if there is none
  Evaluation evaluation;
  /// The device is a host, though the cluster has others: none of them holds the model.
  bool only_hosts_hold = false;
};
[[nodiscard]] BERTH_EXPORT SingleDevice best_single_device(Evaluator& evaluator);

/// The default placement of a framework: all that `device` can run and may hold on it, the rest on a
/// host or, where no host can run it, on the device that computes it fastest. What constraints keep
/// apart is apart. Memory is not asked. Throws Error(infeasible) where nothing keeps them apart.
/// The best of these placements is that of best_single_device.
[[nodiscard]] BERTH_EXPORT Placement one_device_placement(const Problem& problem, DeviceId device);

/// "gpu:0", or "gpu:0 for all that it can run, cpu:0 for 12 ops"; says where it is a host because no
/// other device holds the model. Not for kNoDevice.
[[nodiscard]] BERTH_EXPORT std::string single_device_text(const Problem& problem,
                                                          const SingleDevice& single);

}  // namespace berth
