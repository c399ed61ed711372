#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "berth/export.h"
#include "berth/problem.h"
#include "berth/simulator.h"

namespace berth {

/// Turns placements into results. Whether it simulates or executes, a policy cannot tell.
/// [thread-compatible: one caller at a time; the batch inside may run on many threads]
class BERTH_EXPORT Evaluator {
 public:
  virtual ~Evaluator();

  [[nodiscard]] virtual const Problem& problem() const noexcept = 0;

  /// `out.size() == placements.size()`. Throws Error(invalid_argument) for a placement that
  /// Problem::validate_but_separations refuses, before anything is evaluated. The result of a
  /// placement does not depend on the rest of the batch or on the number of threads.
  virtual void evaluate(std::span<const Placement> placements, std::span<Evaluation> out) = 0;

  /// Placements evaluated so far.
  [[nodiscard]] virtual std::int64_t evaluations() const noexcept = 0;

  /// A batch of one.
  [[nodiscard]] Evaluation evaluate(const Placement& placement);
};

/// Evaluates with the simulator. `threads` 0 = all cores, which are also the most it uses. Throws
/// Error(invalid_argument) for a negative number.
[[nodiscard]] BERTH_EXPORT std::unique_ptr<Evaluator> make_simulation_evaluator(
    std::shared_ptr<const Problem> problem, int threads = 0);

/// The measurements of `evaluator`, which must outlive it and counts them as its own, for the same
/// problem with other groups: a policy that works on a coarser grain. Throws
/// Error(invalid_argument) where the groups do not fit the problem.
[[nodiscard]] BERTH_EXPORT std::unique_ptr<Evaluator> make_regrouped_evaluator(
    Evaluator& evaluator, std::shared_ptr<const Groups> groups);

/// One proven lower bound of the problem's objective over all feasible placements.
struct LowerBound {
  double us = 0;
  /// Which argument gives it: "critical path", "total work", "memory-forced spread", ...
  std::string source;
};

/// The largest of the bounds that hold for this problem's objective and semantics.
[[nodiscard]] BERTH_EXPORT LowerBound lower_bound(const Problem& problem);
/// All of them, largest first.
[[nodiscard]] BERTH_EXPORT std::vector<LowerBound> lower_bounds(const Problem& problem);

/// The best single device: the feasible one with the smallest objective.
struct SingleDevice {
  DeviceId device = kNoDevice;  ///< kNoDevice: no device can run and hold everything
  Placement placement;          ///< empty where there is none
  Evaluation evaluation;
};
[[nodiscard]] BERTH_EXPORT SingleDevice best_single_device(Evaluator& evaluator);

}  // namespace berth
