// The time that an op keeps its device busy.
#pragma once

#include <span>

#include "berth/problem.h"

namespace berth {

/// Time from the start of `op` to its end on a device of `kind`: its cost, with the device's per-op
/// overhead in `dataflow` semantics; 0 where the cost is 0, kCannotRun where the kind cannot run it.
/// Constraints are not considered.
[[nodiscard]] inline double busy_us(const Problem& problem, OpId op, KindId kind) {
  const double cost_us = problem.costs().op_us(op, kind);
  const bool overhead = problem.options().semantics == Semantics::dataflow && cost_us != 0;
  return overhead ? cost_us + problem.cluster().kind_device(kind).op_overhead_us : cost_us;
}

/// The sum of busy_us of `ops` on one device, which runs them one after the other.
[[nodiscard]] inline double ops_us(const Problem& problem, std::span<const OpId> ops,
                                   DeviceId device) {
  double us = 0;
  for (const OpId op : ops) us += busy_us(problem, op, problem.cluster().kind_of(device));
  return us;
}

}  // namespace berth
