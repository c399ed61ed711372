#include "outcome.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "berth/bounds.h"
#include "berth/graph.h"
#include "support/units.h"
#include "text_table.h"

namespace berth::command {

PathShares path_shares(const StepTrace& trace) {
  PathShares shares;
  for (const CriticalStep& step : trace.critical_path) {
    const double us = step.end_us - step.start_us;
    if (step.op == kNoOp) {
      shares.transfer_us += us;
      continue;
    }
    shares.compute_us += us;
    if (step.reason == CriticalStep::Reason::device_busy) shares.contended_us += us;
  }
  shares.pause_us = std::max(0.0, trace.runtime_us - shares.compute_us - shares.transfer_us);
  return shares;
}

Origin stored_origin(const std::string& model, const std::string& file) {
  Origin origin;
  origin.model = model;
  const auto document = nlohmann::json::parse(file);
  const auto provenance = document.find("provenance");
  if (provenance == document.end() || !provenance->is_object()) return origin;
  const auto policy = provenance->find("policy");
  if (policy != provenance->end() && policy->is_string()) origin.policy = *policy;
  const auto seed = provenance->find("seed");
  if (seed != provenance->end() && seed->is_number_unsigned()) origin.seed = *seed;
  return origin;
}

double Outcome::runtime_us() const {
  return executed ? evaluation.runtime_us : trace.runtime_us;
}

double Outcome::whole_us() const {
  const bool throughput = problem->options().objective == Objective::throughput;
  return throughput ? evaluation.max_load_us : trace.runtime_us;
}

double Outcome::mean_busy_devices() const {
  double busy_us = 0;
  for (const DeviceUsage& device : trace.devices) busy_us += device.busy_us;
  return trace.runtime_us > 0 ? busy_us / trace.runtime_us : 0;
}

double Outcome::gap() const {
  return bound.us > 0 ? evaluation.objective_us / bound.us - 1
                      : std::numeric_limits<double>::infinity();
}

void Outcome::add_bound(const LowerBound& known) {
  constexpr double kRounding = 1e-9;
  if (known.us <= bound.us) return;
  bound = known;
  if (search && evaluation.feasible && evaluation.objective_us <= bound.us * (1 + kRounding)) {
    search->end = SearchEnd::proven;
  }
}

double Outcome::speed_up() const {
  if (best_single.device == kNoDevice || evaluation.objective_us <= 0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return best_single.evaluation.objective_us / evaluation.objective_us;
}

Outcome simulated_outcome(std::shared_ptr<const Problem> problem, Origin origin,
                          Placement placement) {
  problem->validate(placement);
  const auto evaluator = make_simulation_evaluator(problem, /*threads=*/1);
  Outcome outcome;
  outcome.evaluation = evaluator->evaluate(placement);
  outcome.trace = Simulator(problem).trace(placement);
  outcome.best_single = best_single_device(*evaluator);
  outcome.bound = strong_lower_bound(*problem);
  outcome.placement = std::move(placement);
  outcome.problem = std::move(problem);
  outcome.origin = std::move(origin);
  return outcome;
}

Outcome searched_outcome(std::shared_ptr<const Problem> problem, Origin origin,
                         PlaceResult result) {
  Outcome outcome;
  outcome.trace = Simulator(problem).trace(result.placement);
  outcome.placement = std::move(result.placement);
  outcome.evaluation = std::move(result.evaluation);
  outcome.best_single = std::move(result.best_single);
  outcome.bound = std::move(result.bound);
  outcome.search =
      SearchFigures{result.evaluations, result.wall_s, result.end, std::move(result.notes)};
  outcome.problem = std::move(problem);
  outcome.origin = std::move(origin);
  return outcome;
}

std::string device_name(const Outcome& outcome, DeviceId device) {
  return device == kNoDevice ? "all" : outcome.problem->cluster().device(device).name;
}

std::string excess_text(const Outcome& outcome) {
  const DeviceId id = outcome.evaluation.worst_device;
  const Device& device = outcome.problem->cluster().device(id);
  if (outcome.evaluation.excess_bytes == 0) {
    return printable(fmt::format("device {} holds ops that are to be apart", device.name));
  }
  const auto index = static_cast<std::size_t>(id);
  std::string text = fmt::format("device {} needs {}, {} more than its {}", device.name,
                                 format_bytes(outcome.evaluation.peak_bytes[index]),
                                 format_bytes(outcome.evaluation.excess_bytes),
                                 format_bytes(outcome.problem->memory_bytes(id)));
  const OpId op = outcome.trace.devices[index].peak_op;
  if (outcome.problem->options().objective == Objective::latency && op != kNoOp) {
    const Graph& graph = outcome.problem->graph();
    text += fmt::format(", at op {} ({})", graph.op_name(op), graph.op_type(op));
  } else {
    text += " for the parameters";
  }
  return printable(text);
}

}  // namespace berth::command
