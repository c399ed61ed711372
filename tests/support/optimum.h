// The optimum of a tiny problem, by trying every placement.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "berth/problem.h"
#include "berth/simulator.h"

namespace berth::test {

/// Calls visit(placement) for every way to place the finest groups of `problem` on devices that can run them.
template <typename Visit>
void for_all_placements(const Problem& problem, const Visit& visit) {
  const auto groups = problem.finest_groups();
  const auto can_run = [&](const Placement& placement) {
    for (OpId op = 0; op < problem.graph().op_count(); ++op) {
      if (problem.cost_us(op, placement[static_cast<std::size_t>(op)]) == kCannotRun) return false;
    }
    return true;
  };
  std::vector<DeviceId> devices(static_cast<std::size_t>(groups->count()), 0);
  while (true) {
    const Placement placement = groups->expand(GroupPlacement(devices));
    if (can_run(placement)) visit(placement);
    std::size_t digit = 0;
    while (digit < devices.size() && ++devices[digit] == problem.cluster().device_count()) {
      devices[digit++] = 0;
    }
    if (digit == devices.size()) return;
  }
}

/// The least objective of all feasible placements; infinity if there is none.
inline double optimum_us(const std::shared_ptr<const Problem>& problem) {
  const Simulator simulator(problem);
  Simulator::Workspace workspace;
  Evaluation evaluation;
  double best_us = std::numeric_limits<double>::infinity();
  for_all_placements(*problem, [&](const Placement& placement) {
    simulator.evaluate(placement, workspace, evaluation);
    if (evaluation.feasible) best_us = std::min(best_us, evaluation.objective_us);
  });
  return best_us;
}

}  // namespace berth::test
