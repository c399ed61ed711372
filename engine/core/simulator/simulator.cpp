#include "berth/simulator.h"

#include <algorithm>
#include <utility>

#include "berth/error.h"
#include "berth/support/index.h"
#include "simulator/conclude.h"
#include "simulator/load.h"
#include "simulator/memory.h"
#include "simulator/placeto_memory.h"
#include "simulator/plan.h"
#include "simulator/run.h"
#include "simulator/trace.h"
#include "simulator/workspace.h"

namespace berth {
namespace {

using simulator::NoObserver;
using simulator::StartsAnd;

}  // namespace

Simulator::Simulator(std::shared_ptr<const Problem> problem) {
  if (problem == nullptr) {
    throw Error(ErrorCode::invalid_argument, "a simulator of no problem; give one");
  }
  plan_ = std::make_unique<const Plan>(std::move(problem));
}
Simulator::~Simulator() = default;

const Problem& Simulator::problem() const noexcept {
  return *plan_->problem;
}

Simulator::Workspace::Workspace() : state_(std::make_unique<State>()) {}
Simulator::Workspace::~Workspace() = default;
Simulator::Workspace::Workspace(Workspace&&) noexcept = default;
Simulator::Workspace& Simulator::Workspace::operator=(Workspace&&) noexcept = default;

double Simulator::runtime_us(std::span<const DeviceId> placement, Workspace& workspace) const {
  simulator::Workspace& scratch = *workspace.state_;
  scratch.prepare(*plan_, placement);
  NoObserver observer;
  return plan_->placeto ? simulator::run_placeto(*plan_, scratch, observer)
                        : simulator::run_dataflow(*plan_, scratch, observer);
}

void Simulator::evaluate(std::span<const DeviceId> placement, Workspace& workspace,
                         Evaluation& out) const {
  evaluate_step<false>(placement, workspace, out, {});
}

void Simulator::evaluate(std::span<const DeviceId> placement, Workspace& workspace, Evaluation& out,
                         std::span<double> op_start_us) const {
  evaluate_step<true>(placement, workspace, out, op_start_us);
}

template <bool starts>
void Simulator::evaluate_step(std::span<const DeviceId> placement, Workspace& workspace,
                              Evaluation& out, std::span<double> op_start_us) const {
  simulator::Workspace& scratch = *workspace.state_;
  const simulator::Plan& plan = *plan_;
  if (plan.problem->options().objective == Objective::throughput) {
    simulator::step_loads(plan, placement, scratch, out.busy_us);
    simulator::resident_parameters(plan, placement, scratch.memory);
    scratch.device_of.resize(plan.op_count);
    for (simulator::Index i = 0; i < plan.op_count; ++i) {
      scratch.device_of[i] = static_cast<std::uint32_t>(placement[at(plan.ids[i])]);
    }
    scratch.stage.measure(plan, scratch.device_of, scratch.needs);
    out.peak_bytes.resize(plan.device_count);
    for (std::uint32_t d = 0; d < plan.device_count; ++d) {
      out.peak_bytes[d] = simulator::stage_bytes(scratch.memory.usage_bytes[d], scratch.needs[d],
                                                 plan.problem->options().in_flight);
    }
    out.runtime_us = 0;
    out.max_load_us = *std::max_element(out.busy_us.begin(), out.busy_us.end());
    for (const double us : scratch.channel_us) out.max_load_us = std::max(out.max_load_us, us);
    out.objective_us = out.max_load_us;
    std::fill(op_start_us.begin(), op_start_us.end(), 0.0);
    simulator::judge(*plan.problem, placement, out);
    return;
  }
  double runtime_us = 0;
  scratch.prepare(plan, placement);
  if (plan.placeto || starts) scratch.op_start_us.resize(plan.op_count);
  if (plan.placeto) {
    StartsAnd<NoObserver> observer(scratch);
    runtime_us = simulator::run_placeto(plan, scratch, observer);
    simulator::placeto_peaks(plan, scratch);
  } else {
    const auto log = [](std::uint32_t, double, std::int64_t) {};
    using Memory = simulator::DataflowMemory<decltype(log)>;
    if constexpr (starts) {
      StartsAnd<Memory> observer(scratch, plan, placement, scratch.state, scratch.memory, log);
      runtime_us = simulator::run_dataflow(plan, scratch, observer);
    } else {
      Memory observer(plan, placement, scratch.state, scratch.memory, log);
      runtime_us = simulator::run_dataflow(plan, scratch, observer);
    }
  }
  if constexpr (starts) {
    for (simulator::Index i = 0; i < plan.op_count; ++i) {
      op_start_us[at(plan.ids[i])] = scratch.op_start_us[i];
    }
  }
  simulator::conclude(plan, placement, scratch.memory, runtime_us, out);
}

StepTrace Simulator::trace(std::span<const DeviceId> placement) const {
  return simulator::trace_step(*plan_, placement);
}

}  // namespace berth
