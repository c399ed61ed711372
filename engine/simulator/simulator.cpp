#include "berth/simulator.h"

#include <algorithm>
#include <utility>

#include "simulator/load.h"
#include "simulator/memory.h"
#include "simulator/plan.h"
#include "simulator/run.h"
#include "simulator/trace.h"
#include "simulator/workspace.h"

namespace berth {
namespace {

using simulator::NoObserver;
using simulator::StartsAnd;

/// Feasibility: out.peak_bytes against the devices' memory, and what is to be apart.
void judge(const Problem& problem, std::span<const DeviceId> placement, Evaluation& out) {
  out.feasible = true;
  out.worst_device = kNoDevice;
  out.excess_bytes = 0;
  for (DeviceId d = 0; d < problem.cluster().device_count(); ++d) {
    const std::int64_t peak = out.peak_bytes[static_cast<std::size_t>(d)];
    const std::int64_t memory = problem.memory_bytes(d);
    if (peak <= memory || peak - memory <= out.excess_bytes) continue;
    out.feasible = false;
    out.worst_device = d;
    out.excess_bytes = peak - memory;
  }
  if (!out.feasible || problem.separations().empty()) return;
  out.worst_device = problem.crowded_device(placement);
  out.feasible = out.worst_device == kNoDevice;
}

}  // namespace

Simulator::Simulator(std::shared_ptr<const Problem> problem)
    : plan_(std::make_unique<const Plan>(std::move(problem))) {}
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
  out.runtime_us = 0;
  out.max_load_us = 0;
  out.peak_bytes.resize(plan.device_count);
  if (plan.problem->options().objective == Objective::throughput) {
    simulator::device_loads(plan, placement, scratch, out.busy_us);
    simulator::resident_parameters(plan, placement, scratch.memory);
    std::copy(scratch.memory.usage_bytes.begin(), scratch.memory.usage_bytes.end(),
              out.peak_bytes.begin());
    out.max_load_us = *std::max_element(out.busy_us.begin(), out.busy_us.end());
    out.objective_us = out.max_load_us;
    std::fill(op_start_us.begin(), op_start_us.end(), 0.0);
    judge(*plan.problem, placement, out);
    return;
  }
  scratch.prepare(plan, placement);
  if (plan.placeto || starts) scratch.op_start_us.resize(plan.op_count);
  if (plan.placeto) {
    StartsAnd<NoObserver> observer(scratch);
    out.runtime_us = simulator::run_placeto(plan, scratch, observer);
    simulator::placeto_peaks(plan, scratch);
  } else {
    const auto log = [](std::uint32_t, double, std::int64_t) {};
    using Memory = simulator::DataflowMemory<decltype(log)>;
    if constexpr (starts) {
      StartsAnd<Memory> observer(scratch, plan, placement, scratch.state, scratch.memory, log);
      out.runtime_us = simulator::run_dataflow(plan, scratch, observer);
    } else {
      Memory observer(plan, placement, scratch.state, scratch.memory, log);
      out.runtime_us = simulator::run_dataflow(plan, scratch, observer);
    }
  }
  if constexpr (starts) {
    for (simulator::Index i = 0; i < plan.op_count; ++i) {
      op_start_us[static_cast<std::size_t>(plan.ids[i])] = scratch.op_start_us[i];
    }
  }
  simulator::device_compute(plan, placement, out.busy_us);
  std::transform(scratch.memory.peaks.begin(), scratch.memory.peaks.end(), out.peak_bytes.begin(),
                 [](const simulator::Peak& peak) { return peak.bytes; });
  out.objective_us = out.runtime_us;
  judge(*plan.problem, placement, out);
}

StepTrace Simulator::trace(std::span<const DeviceId> placement) const {
  return simulator::trace_step(*plan_, placement);
}

}  // namespace berth
