// Lower bounds on completions of a partial placement.
#pragma once

#include "exact/model.h"

namespace berth::policies::exact {

/// [thread-compatible]
class Bound {
 public:
  virtual ~Bound() = default;

  /// Takes devices from `domains` that no completion below `limit_us` uses, and gives a lower bound
  /// of the objective over all feasible completions that are below the limit; infinity if there
  /// is none. What it says of a partial placement it says of every exchange of devices that are
  /// alike.
  virtual double tighten(Domains& domains, double limit_us) = 0;

  /// A group that is not fixed and whose device decides much; kNoGroup if all are fixed.
  [[nodiscard]] virtual GroupId choose(const Domains& domains) const = 0;
};

}  // namespace berth::policies::exact
