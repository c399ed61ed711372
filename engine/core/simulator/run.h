// Simulates one step by the problem's semantics, with the event set for its devices and engines.
#pragma once

#include <span>
#include <utility>

#include "simulator/dataflow.h"
#include "simulator/placeto.h"
#include "simulator/workspace.h"

namespace berth::simulator {

/// Calls run(events) with the set of `workspace` for `plan`'s devices and engines.
template <typename Run>
auto with_events(const Plan& plan, Workspace& workspace, Run&& run) {
  const std::uint32_t sources = plan.device_count + plan.engine_count;
  if (sources <= 8) return run(workspace.events_4);
  if (sources <= 16) return run(workspace.events_8);
  if (sources <= 32) return run(workspace.events_16);
  return run(workspace.events_many);
}

/// The runtime. `workspace` has been prepared with the placement.
template <typename Observer>
double run_placeto(const Plan& plan, Workspace& workspace, Observer& observer) {
  return with_events(plan, workspace, [&](auto& events) {
    return PlacetoStep(plan, plan, workspace, events, observer).run();
  });
}

template <typename Observer>
double run_dataflow(const Plan& plan, Workspace& workspace, Observer& observer) {
  return with_events(plan, workspace, [&](auto& events) {
    return DataflowStep(plan, plan, workspace, events, observer).run();
  });
}

/// Records when each op starts, in addition to what another observer does.
template <typename Observer>
struct StartsAnd : Observer {
  template <typename... Arguments>
  explicit StartsAnd(Workspace& workspace, Arguments&&... arguments)
      : Observer(std::forward<Arguments>(arguments)...), starts_us(workspace.op_start_us) {}
  void op_started(Index op, std::uint32_t device, double start_us, double end_us) {
    starts_us[op] = start_us;
    Observer::op_started(op, device, start_us, end_us);
  }
  std::vector<double>& starts_us;
};

}  // namespace berth::simulator
