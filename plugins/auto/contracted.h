// A smaller problem whose steps are much like another's, in a fraction of the time to simulate.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "auto/structure.h"
#include "berth/problem.h"
#include "berth/simulator.h"
#include "berth/support/index.h"

namespace berth::policies::auto_policy {

/// The ops of a problem in parts that no cycle leads through, by op; dense from 0. Every part lies
/// within one of `units` and has ops whose times `start_us` are at most `window_us` apart; no op is
/// added to a part that takes `limit_us`. Units that are long, or that cycles lead through, as they
/// do where ops and their gradients share one, have several parts.
[[nodiscard]] std::vector<OpId> acyclic_parts(const Problem& problem, const Groups& units,
                                              std::span<const double> start_us, double window_us,
                                              double limit_us);

/// A problem with one op per part of acyclic_parts; the parts of a unit are co-located. An op of it
/// starts when all that its part waits for has come, and sends when all of its part is done. What a
/// part sends to the same others is one tensor. So its runtimes and its memory are estimates of the
/// original's, best near the placement that it was made for. [thread-safe: immutable]
class Contracted {
 public:
  /// `units` cut by the devices of `placement`, with parts of what its step does one after the
  /// other. Requires that every unit has a device that can run it, and that nothing is to be kept
  /// apart.
  Contracted(const Simulator& simulator, const Groups& units, std::span<const DeviceId> placement);
  /// With a part for every unit, whatever the step, and more where cycles force it.
  Contracted(const Problem& problem, const Groups& units);

  [[nodiscard]] const std::shared_ptr<const Problem>& problem() const noexcept { return problem_; }
  /// The part that an op of the original belongs to.
  [[nodiscard]] OpId part_of(OpId op) const noexcept { return part_of_[at(op)]; }
  /// The original's placement that one of this problem stands for.
  [[nodiscard]] Placement expand(std::span<const DeviceId> placement) const;
  /// The other way: the device of any op of a part.
  [[nodiscard]] Placement shrink(std::span<const DeviceId> placement) const;
  /// Groups of the original's ops, none of which cuts a part, as groups of this problem's.
  [[nodiscard]] std::shared_ptr<const Groups> shrink(const Groups& groups) const;
  /// Every part has the colour of its longest op, and is in that one's layer.
  [[nodiscard]] Structure shrink(const Structure& structure) const;

 private:
  void build(const Problem& problem, const Groups& units);
  [[nodiscard]] std::shared_ptr<const Graph> contract(const Problem& problem, const Groups& units,
                                                      std::span<const std::int32_t> types) const;
  [[nodiscard]] std::shared_ptr<const Costs> sum_costs(const Problem& problem) const;

  std::vector<OpId> part_of_;     // by op
  std::vector<OpId> first_of_;    // by part: one op of it
  std::vector<OpId> longest_of_;  // by part
  std::shared_ptr<const Problem> problem_;
};

/// One device for every group: where it has most of its compute time.
[[nodiscard]] Placement gather(const Problem& problem, const Groups& groups,
                               std::span<const DeviceId> placement);

}  // namespace berth::policies::auto_policy
