#include "berth/outcome.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "berth/bound_effort.h"
#include "berth/error.h"
#include "berth/graph.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "evaluate/needed_bound.h"
#include "evaluate/sent_weights.h"
#include "support/units.h"

namespace berth {

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
  return gap_to(bound.us);
}

double Outcome::gap_to(double us) const {
  if (us > 0) return evaluation.objective_us / us - 1;
  // Nothing is below a step that takes no time.
  const bool none_below = !executed && evaluation.objective_us <= 0;
  return none_below ? 0 : std::numeric_limits<double>::infinity();
}

double Outcome::speed_up() const {
  if (best_single.device == kNoDevice || evaluation.objective_us <= 0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return best_single.evaluation.objective_us / evaluation.objective_us;
}

Outcome simulated_outcome(std::shared_ptr<const Problem> problem, Origin origin,
                          Placement placement) {
  return simulated_outcome(std::move(problem), std::move(origin), std::move(placement),
                           BoundEffort::strong);
}

Outcome simulated_outcome(std::shared_ptr<const Problem> problem, Origin origin,
                          Placement placement, BoundEffort effort) {
  problem->validate(placement);
  const auto evaluator = make_simulation_evaluator(problem, /*threads=*/1);
  Outcome outcome;
  outcome.evaluation = evaluator->evaluate(placement);
  outcome.trace = Simulator(problem).trace(placement);
  outcome.best_single = best_single_device(*evaluator);
  outcome.bound = needed_bound(*evaluator, outcome.evaluation, effort);
  outcome.placement = std::move(placement);
  outcome.problem = std::move(problem);
  outcome.origin = std::move(origin);
  show_sent_weights(outcome);
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
  outcome.search = SearchFigures{result.evaluations, result.simulated_ops, result.wall_s,
                                 result.end, std::move(result.notes)};
  outcome.notes = outcome.search->notes;
  outcome.problem = std::move(problem);
  outcome.origin = std::move(origin);
  outcome.learned = std::move(result.learned);
  if (outcome.learned) {
    outcome.origin.whose = outcome.learned->text();
    outcome.origin.weights = outcome.learned->weights_text();
  }
  show_sent_weights(outcome);
  return outcome;
}

Outcome own_outcome(Outcome outcome) {
  if (!outcome.learned) return outcome;
  LearnedFigures& learned = *outcome.learned;
  if (learned.own.empty()) {
    throw Error(ErrorCode::unsupported,
                cat("the time ended before it had placed all groups by itself; give it more (the "
                    "best that it saw, ",
                    format_us(learned.best_evaluation.objective_us), ", is not its own)"));
  }
  if (outcome.placement == learned.own) return outcome;
  outcome.placement = learned.own;
  outcome.evaluation = learned.own_evaluation;
  outcome.trace = Simulator(outcome.problem).trace(outcome.placement);
  show_sent_weights(outcome);
  outcome.origin.whose.clear();
  // The note about the best says whose that is, which is here another placement.
  const std::string about_best = "this placement is " + learned.text();
  const std::string best =
      cat("the best that it saw: ", format_us(learned.best_evaluation.objective_us), ", ",
          learned.source_text());
  for (std::vector<std::string>* notes : {&outcome.notes, &outcome.search->notes}) {
    std::replace(notes->begin(), notes->end(), about_best, best);
  }
  return outcome;
}

std::string device_name(const Outcome& outcome, DeviceId device) {
  return device == kNoDevice ? "all" : outcome.problem->cluster().device(device).name;
}

std::vector<std::string> device_names(const Cluster& cluster, std::span<const DeviceId> devices) {
  std::vector<std::string> names;
  for (const DeviceId device : devices) names.push_back(cluster.device(device).name);
  return names;
}

std::string excess_text(const Outcome& outcome) {
  const DeviceId id = outcome.evaluation.worst_device;
  const Device& device = outcome.problem->cluster().device(id);
  if (outcome.evaluation.excess_bytes == 0) {
    return cat("device ", device.name, " holds ops that are to be apart");
  }
  const std::string text =
      cat("device ", device.name, " needs ", format_bytes(outcome.evaluation.peak_bytes[at(id)]),
          ", ", format_bytes(outcome.evaluation.excess_bytes), " more than its ",
          format_bytes(outcome.problem->memory_bytes(id)));
  const OpId op = outcome.trace.devices[at(id)].peak_op;
  if (outcome.problem->options().objective != Objective::latency || op == kNoOp) {
    const std::int64_t steps = outcome.problem->options().in_flight;
    return cat(text, " for the parameters and ",
               steps == 1 ? "one step in flight" : cat(steps, " steps in flight"));
  }
  const Graph& graph = outcome.problem->graph();
  return cat(text, ", at op ", graph.op_name(op), " (", graph.op_type(op), ")");
}

}  // namespace berth
