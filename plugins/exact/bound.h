// Lower bounds on completions of a partial placement.
#pragma once

#include <bit>
#include <utility>
#include <vector>

#include "berth/support/index.h"
#include "exact/model.h"

namespace berth::policies::exact {

/// [thread-compatible]
class Bound {
 public:
  virtual ~Bound() = default;

  /// Takes devices from `domains` that no completion below `limit_us` uses, or none whose parameters
  /// have room, and gives a lower bound
  /// of the objective over all feasible completions that are below the limit; infinity if there
  /// is none. What it says of a partial placement it says of every exchange of devices that are
  /// alike.
  virtual double tighten(Domains& domains, double limit_us) = 0;

  /// A group that is not fixed: of those with the fewest devices left, the one whose device decides
  /// most; kNoGroup if all are fixed.
  [[nodiscard]] GroupId choose(const Domains& domains) const {
    GroupId chosen = kNoGroup;
    int fewest = 0;
    for (const GroupId group : order_) {
      const int count = std::popcount(domains[at(group)]);
      if (count == 1 || (chosen != kNoGroup && count >= fewest)) continue;
      chosen = group;
      fewest = count;
    }
    return chosen;
  }

 protected:
  /// `order`: all groups, those whose device decides much first.
  explicit Bound(std::vector<GroupId> order) : order_(std::move(order)) {}
  [[nodiscard]] const std::vector<GroupId>& order() const noexcept { return order_; }

 private:
  std::vector<GroupId> order_;
};

}  // namespace berth::policies::exact
