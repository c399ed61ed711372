// The time that an op keeps its device busy.
#pragma once

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

}  // namespace berth
