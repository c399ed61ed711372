// Branch and bound over partial placements.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "berth/evaluator.h"
#include "exact/bound.h"
#include "exact/model.h"

namespace berth::policies::exact {

/// The best feasible placement known.
struct Incumbent {
  GroupPlacement placement;  ///< empty: none
  double us = std::numeric_limits<double>::infinity();
};

/// Depth first, with the smallest bound first. Of devices that are alike for all groups, only one
/// is tried for a group: the others give the same placements with devices exchanged. Those may
/// still differ in runtime, because the order of events at one instant depends on the device. So at
/// a leaf all exchanges are evaluated.
class Search {
 public:
  struct Limits {
    std::int64_t nodes;                 ///< placements, partial or whole, to look at
    std::function<bool()> should_stop;  ///< may be empty
  };

  /// Placements within this of each other, relative, count as equal: the bounds add up in another
  /// order than the simulator.
  static constexpr double kRounding = 1e-9;

  /// Keeps references. `improved` is called with every better placement; may be empty.
  Search(const ExactModel& model, Evaluator& evaluator, Bound& bound, Limits limits,
         std::function<void(const Incumbent&)> improved);

  /// Improves `incumbent` until nothing better is left or a limit is reached.
  void run(Incumbent& incumbent);

  /// Whether nothing better is left.
  [[nodiscard]] bool exhausted() const noexcept { return !stopped_; }
  /// No feasible placement of the groups is below this; infinity if there is none at all.
  [[nodiscard]] double bound_us() const noexcept { return bound_us_; }
  [[nodiscard]] std::int64_t nodes() const noexcept { return nodes_; }

 private:
  struct Child {
    double bound_us;
    Domains domains;
  };

  /// Looks for the largest limit below which the bounds alone leave no placement: as a limit they
  /// say more than as a sum. `low_us`: one that is known.
  void refute(double low_us);
  /// `bound_us`: of the completions of `domains`.
  void descend(const Domains& domains, double bound_us);
  [[nodiscard]] std::vector<Child> children(const Domains& domains, GroupId group);
  /// Whether no group that is to be apart from `group` is fixed to the device.
  [[nodiscard]] bool apart(const Domains& domains, GroupId group, DeviceId device) const;
  [[nodiscard]] bool same_as_earlier(const Domains& domains, DeviceId device) const;
  /// False where a limit ended it before all exchanges were evaluated.
  bool evaluate_leaf(const Domains& domains, double bound_us);
  bool evaluate_exchanges(const std::vector<DeviceId>& used, std::vector<DeviceId>& image,
                          const GroupPlacement& leaf, double bound_us);
  void evaluate(const GroupPlacement& placement);
  [[nodiscard]] bool stop();
  [[nodiscard]] double limit_us() const noexcept { return incumbent_->us * (1 - kRounding); }

  const ExactModel& model_;
  Evaluator& evaluator_;
  Bound& bound_;
  Limits limits_;
  std::function<void(const Incumbent&)> improved_;
  Incumbent* incumbent_ = nullptr;
  double bound_us_ = 0;
  double open_us_ = std::numeric_limits<double>::infinity();  // the least bound left unexplored
  double refuted_us_ = 0;
  std::int64_t nodes_ = 0;
  bool stopped_ = false;
};

}  // namespace berth::policies::exact
