#include "auto/idleness.h"

#include <algorithm>
#include <numeric>

#include "berth/support/index.h"

namespace berth::policies::auto_policy {
namespace {

/// How long before a gap what may close it starts, as a share of the step.
constexpr double kBefore = 0.03;

/// An op that has its inputs and waits for its device.
struct Wait {
  double begin_us;
  double end_us;
  OpId op;
};

/// Waits, sorted by begin.
std::vector<Wait> waits_of(const Problem& problem, const Units& units, const StepTrace& trace) {
  std::vector<Wait> waits;
  for (OpId op = 0; op < problem.graph().op_count(); ++op) {
    if (units.devices(units.of(op)).size() < 2) continue;
    double ready_us = 0;
    for (const Edge& edge : problem.graph().in_edges(op)) {
      ready_us = std::max(ready_us, trace.op_end_us[at(edge.src)]);
    }
    if (trace.op_start_us[at(op)] > ready_us) {
      waits.push_back({ready_us, trace.op_start_us[at(op)], op});
    }
  }
  std::sort(waits.begin(), waits.end(),
            [](const Wait& a, const Wait& b) { return a.begin_us < b.begin_us; });
  return waits;
}

}  // namespace

std::vector<Gap> gaps_of(const Problem& problem, std::span<const DeviceId> placement,
                         const StepTrace& trace) {
  const ProblemOptions& options = problem.options();
  const double pause_us = options.semantics == Semantics::placeto ? options.device_gap_us : 0;
  std::vector<OpId> order(placement.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](OpId a, OpId b) { return trace.op_start_us[at(a)] < trace.op_start_us[at(b)]; });
  std::vector<Gap> gaps;
  std::vector<double> free_us(at(problem.cluster().device_count()), 0);
  for (const OpId op : order) {
    double& free = free_us[at(placement[at(op)])];
    const double start = trace.op_start_us[at(op)];
    if (start > free + pause_us) gaps.push_back({placement[at(op)], free, start - free});
    free = std::max(free, trace.op_end_us[at(op)] + pause_us);
  }
  for (DeviceId d = 0; d < problem.cluster().device_count(); ++d) {
    const double left_us = trace.runtime_us - free_us[at(d)];
    if (left_us > 0) gaps.push_back({d, free_us[at(d)], left_us});
  }
  std::sort(gaps.begin(), gaps.end(),
            [](const Gap& a, const Gap& b) { return a.begin_us < b.begin_us; });
  return gaps;
}

std::vector<Fill> fills_of(const Problem& problem, const Units& units,
                           std::span<const DeviceId> placement, const StepTrace& trace,
                           std::span<const Gap> gaps) {
  const std::vector<Wait> waits = waits_of(problem, units, trace);
  std::vector<Fill> fills;
  std::vector<Wait> now;
  auto next = waits.begin();
  for (const Gap& gap : gaps) {
    for (; next != waits.end() && next->begin_us <= gap.begin_us; ++next) now.push_back(*next);
    now.erase(std::remove_if(now.begin(), now.end(),
                             [&](const Wait& wait) { return wait.end_us <= gap.begin_us; }),
              now.end());
    for (const Wait& wait : now) {
      if (placement[at(wait.op)] != gap.device) fills.push_back({units.of(wait.op), gap.device});
    }
  }
  return fills;
}

std::vector<bool> settled_units(const Units& units, const StepTrace& trace,
                                std::span<const Gap> gaps, double share) {
  double left_us = 0;
  for (const Gap& gap : gaps) left_us += share * gap.us;
  double until_us = 0;
  for (const Gap& gap : gaps) {
    until_us = gap.begin_us;
    left_us -= gap.us;
    if (left_us < 0) break;
  }
  until_us -= kBefore * trace.runtime_us;
  std::vector<bool> settled;
  for (UnitId unit = 0; unit < units.count(); ++unit) {
    settled.push_back(std::any_of(units.ops(unit).begin(), units.ops(unit).end(),
                                  [&](OpId op) { return trace.op_start_us[at(op)] < until_us; }));
  }
  return settled;
}

std::vector<bool> settled_units(const Simulator& simulator, const Units& units,
                                std::span<const DeviceId> placement, double share) {
  const StepTrace trace = simulator.trace(placement);
  return settled_units(units, trace, gaps_of(simulator.problem(), placement, trace), share);
}

}  // namespace berth::policies::auto_policy
