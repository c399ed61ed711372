/// @file
/// Evaluators turn placements into results. Also: lower bounds and the best single device.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "berth/export.h"
#include "berth/problem.h"
#include "berth/simulator.h"

namespace berth {

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

  /// Number of placements evaluated so far.
  [[nodiscard]] virtual std::int64_t evaluations() const noexcept = 0;

  /// Evaluates a batch of one.
  [[nodiscard]] Evaluation evaluate(const Placement& placement);
};

/// An evaluator that simulates on up to `threads` threads, at most one per core; 0 = one per core.
/// Throws Error(invalid_argument) for a negative number.
[[nodiscard]] BERTH_EXPORT std::unique_ptr<Evaluator> make_simulation_evaluator(
    std::shared_ptr<const Problem> problem, int threads = 0);

/// An evaluator for the same problem with other groups, for policies that work with coarser ones.
/// It measures through `evaluator`, which must outlive it and whose count of evaluations includes
/// its own. Throws Error(invalid_argument) for groups that do not fit the problem.
[[nodiscard]] BERTH_EXPORT std::unique_ptr<Evaluator> make_regrouped_evaluator(
    Evaluator& evaluator, std::shared_ptr<const Groups> groups);

/// A proven lower bound of the problem's objective over all feasible placements.
struct LowerBound {
  double us = 0;
  /// The argument that gives it: "critical path", "total work", "memory-forced spread", ...
  std::string source;
};

/// The largest bound that holds for the problem's objective and semantics.
[[nodiscard]] BERTH_EXPORT LowerBound lower_bound(const Problem& problem);
/// All bounds, largest first.
[[nodiscard]] BERTH_EXPORT std::vector<LowerBound> lower_bounds(const Problem& problem);

/// One device for all that it can run, a host for the rest (see one_device.h): the device with the
/// smallest objective among those for which that is feasible.
struct SingleDevice {
  DeviceId device = kNoDevice;  ///< kNoDevice: it is feasible for none
  Placement placement;          ///< empty if there is none
  Evaluation evaluation;
};
[[nodiscard]] BERTH_EXPORT SingleDevice best_single_device(Evaluator& evaluator);

}  // namespace berth
