// Large lists are columns of numbers, and names stand once, so that the page stays small.
//
//   graph_json       scopes, ops, edges: the same for all placements
//   placement_json   where and when, why, memory, transfers, constraints, elsewhere
//   policies_json    the table of policies
#include "reports/report_data.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "berth/constraints.h"
#include "berth/evaluator.h"
#include "berth/explanation.h"
#include "berth/graph.h"
#include "berth/simplicity.h"
#include "berth/support/index.h"
#include "berth/version.h"
#include "problem/op_time.h"
#include "reports/elsewhere.h"
#include "reports/peak_memory.h"
#include "reports/scopes.h"

namespace berth::reports {
namespace {

using Json = nlohmann::ordered_json;

/// Samples of a device's memory on the page; more would not be visible.
constexpr std::size_t kMostSamples = 600;
constexpr std::size_t kMostHoldings = 12;
constexpr std::size_t kMostStretches = 20;

/// null where it is no number. 0 is shorter than 0.0, and there are thousands of them.
Json number(double value) {
  constexpr double kExact = 1e15;
  if (!std::isfinite(value)) return {};
  const bool whole = value == std::floor(value) && std::abs(value) < kExact;
  return whole ? Json(static_cast<std::int64_t>(value)) : Json(value);
}

/// A tenth of a nanosecond in short steps, six digits in long ones.
Json rounded(double us) {
  const double unit = us < 1e3 ? 1e4 : us < 1e6 ? 1e2 : 10;
  return number(std::round(us * unit) / unit);
}

Json devices_json(const Problem& problem) {
  Json devices = Json::array();
  for (DeviceId d = 0; d < problem.cluster().device_count(); ++d) {
    const Device& device = problem.cluster().device(d);
    Json entry = {{"name", device.name}, {"kind", problem.cluster().kind_of(d)}};
    if (problem.memory_bytes(d) != kNoLimit) entry["memory"] = problem.memory_bytes(d);
    devices.push_back(std::move(entry));
  }
  return devices;
}

Json kinds_json(const Cluster& cluster) {
  Json kinds = Json::array();
  for (KindId kind = 0; kind < cluster.kind_count(); ++kind)
    kinds.push_back(cluster.kind_name(kind));
  return kinds;
}

Json scopes_json(const ScopeTree& tree) {
  return {{"parent", tree.parent}, {"name", tree.name}};
}

/// The producers of each op with the bytes of each edge: [producer, bytes, ...]; -1 bytes = control.
Json inputs_json(const Graph& graph) {
  Json inputs = Json::array();
  for (OpId op = 0; op < graph.op_count(); ++op) {
    Json of_op = Json::array();
    for (const Edge& edge : graph.in_edges(op)) {
      of_op.push_back(edge.src);
      of_op.push_back(edge.tensor == kNoTensor ? -1 : graph.bytes(edge.tensor));
    }
    inputs.push_back(std::move(of_op));
  }
  return inputs;
}

Json graph_json(const Problem& problem) {
  const Graph& graph = problem.graph();
  const ScopeTree tree = make_scopes(graph);
  std::map<std::string, std::size_t> number_of_type;
  Json types = Json::array();
  Json type_of = Json::array();
  Json params = Json::array();
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const auto [type, added] = number_of_type.emplace(graph.op_type(op), number_of_type.size());
    if (added) types.push_back(graph.op_type(op));
    type_of.push_back(type->second);
    params.push_back(graph.param_bytes(op));
  }
  Json costs = Json::array();
  for (KindId kind = 0; kind < problem.costs().kind_count(); ++kind) {
    Json of_kind = Json::array();
    for (OpId op = 0; op < graph.op_count(); ++op) {
      of_kind.push_back(rounded(busy_us(problem, op, kind)));
    }
    costs.push_back(std::move(of_kind));
  }
  return {{"scopes", scopes_json(tree)},
          {"types", std::move(types)},
          {"op",
           {{"name", tree.op_label},
            {"scope", tree.of_op},
            {"type", std::move(type_of)},
            {"param", std::move(params)},
            {"order", graph.topological_order()},
            {"cost", std::move(costs)},
            {"inputs", inputs_json(graph)}}}};
}

// --- a placement ---------------------------------------------------------------------------------

void add_simplicity(const Outcome& outcome, Json& json) {
  const Simplicity simplicity = simplicity_of(outcome.problem->graph(), outcome.placement);
  json["cuts"] = simplicity.cuts;
  json["transfers"] = simplicity.transfers;
}

Json figures_json(const Outcome& outcome) {
  const Problem& problem = *outcome.problem;
  Json json = {{"runtime", outcome.runtime_us()}, {"objective", outcome.evaluation.objective_us},
               {"executed", outcome.executed},    {"feasible", outcome.evaluation.feasible},
               {"gap_text", gap_text(outcome)},   {"gap", number(outcome.gap())},
               {"waits", waits_text(outcome)},    {"advice", advice_text(outcome)}};
  if (outcome.trace.links.empty()) json["no_transfers"] = no_transfers_text(outcome);
  if (outcome.bound.us > 0) json["bound"] = outcome.bound.us;
  add_simplicity(outcome, json);
  if (!outcome.evaluation.feasible) json["excess"] = excess_text(outcome);
  if (outcome.best_single.device != kNoDevice) {
    json["single"] = {{"text", single_device_text(problem, outcome.best_single)},
                      {"objective", outcome.best_single.evaluation.objective_us},
                      {"speed_up", number(outcome.speed_up())}};
  }
  json["full"] = full_devices(outcome);
  if (!outcome.origin.policy.empty()) {
    json["policy"] = outcome.origin.policy;
    json["seed"] = outcome.origin.seed;
  }
  if (outcome.search) {
    json["tried"] = outcome.search->evaluations;
    json["wall_s"] = outcome.search->wall_s;
    json["ended"] = search_end_name(outcome.search->end);
  }
  if (outcome.learned) {
    if (!outcome.learned->own.empty()) json["own"] = outcome.learned->own_evaluation.objective_us;
    json["best"] = outcome.learned->best_evaluation.objective_us;
    if (outcome.learned->start) json["start"] = outcome.learned->start->objective_us;
    json["whose"] = outcome.learned->source_text();
  }
  if (!outcome.notes.empty()) json["notes"] = outcome.notes;
  return json;
}

Json usage_json(const Outcome& outcome) {
  const Problem& problem = *outcome.problem;
  // Memory is as the simulator has it, without weights on their way (show_sent_weights).
  const auto peaks = problem.cluster().has_keepers()
                         ? holdings_at_peaks(problem, outcome.placement,
                                             Simulator(outcome.problem).trace(outcome.placement))
                         : holdings_at_peaks(problem, outcome.placement, outcome.trace);
  Json devices = Json::array();
  for (DeviceId d = 0; d < problem.cluster().device_count(); ++d) {
    const DeviceUsage& usage = outcome.trace.devices[at(d)];
    const PeakHoldings& peak = peaks[at(d)];
    Json held = Json::array();
    for (std::size_t i = 0; i < std::min(kMostHoldings, peak.holdings.size()); ++i) {
      const Holding& holding = peak.holdings[i];
      held.push_back({holding.op, holding.bytes, static_cast<int>(holding.what)});
    }
    devices.push_back({{"busy", rounded(outcome.evaluation.busy_us[at(d)])},
                       {"peak", outcome.evaluation.peak_bytes[at(d)]},
                       {"peak_at", rounded(usage.peak_us)},
                       {"params", usage.param_bytes},
                       {"held", std::move(held)},
                       {"held_count", peak.holdings.size()}});
  }
  return devices;
}

/// Memory by device, [us, bytes, ...]; many samples are reduced to the largest of every stretch of time.
Json memory_json(const Outcome& outcome) {
  const auto devices = at(outcome.problem->cluster().device_count());
  std::vector<std::vector<MemorySample>> samples(devices);
  const double width_us = outcome.trace.runtime_us / (kMostSamples - 1);
  for (const MemorySample& sample : outcome.trace.memory) {
    auto& of_device = samples[at(sample.device)];
    const auto slot = [&](double us) { return width_us > 0 ? std::floor(us / width_us) : 0; };
    if (!of_device.empty() && slot(of_device.back().us) == slot(sample.us)) {
      if (sample.bytes > of_device.back().bytes) of_device.back().bytes = sample.bytes;
    } else {
      of_device.push_back(sample);
    }
  }
  Json json = Json::array();
  for (const auto& of_device : samples) {
    Json flat = Json::array();
    for (const MemorySample& sample : of_device) {
      flat.push_back(rounded(sample.us));
      flat.push_back(sample.bytes);
    }
    json.push_back(std::move(flat));
  }
  return json;
}

/// The transfers that are shown, by their number in the trace: all of the critical path, and the
/// longest.
std::vector<std::size_t> shown_transfers(const StepTrace& trace, std::size_t most) {
  std::vector<std::size_t> shown(trace.transfers.size());
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  if (shown.size() <= most) return shown;
  std::vector<bool> critical(shown.size());
  for (const CriticalStep& step : trace.critical_path) {
    if (step.op == kNoOp) critical[at(step.transfer)] = true;
  }
  const auto us = [&](std::size_t i) {
    return trace.transfers[i].end_us - trace.transfers[i].start_us;
  };
  std::stable_sort(shown.begin(), shown.end(), [&](std::size_t a, std::size_t b) {
    return critical[a] != critical[b] ? critical[a] : us(a) > us(b);
  });
  shown.resize(most);
  std::sort(shown.begin(), shown.end());
  return shown;
}

Json transfers_json(const StepTrace& trace, const std::vector<std::size_t>& shown) {
  Json op = Json::array();
  Json src = Json::array();
  Json dst = Json::array();
  Json bytes = Json::array();
  Json queued = Json::array();
  Json start = Json::array();
  Json lasts = Json::array();
  for (const std::size_t i : shown) {
    const Transfer& transfer = trace.transfers[i];
    op.push_back(transfer.producer);
    src.push_back(transfer.src);
    dst.push_back(transfer.dst);
    bytes.push_back(transfer.tensor == kNoTensor ? -1 : transfer.bytes);
    queued.push_back(rounded(transfer.queued_us));
    start.push_back(rounded(transfer.start_us));
    lasts.push_back(rounded(transfer.end_us - transfer.start_us));
  }
  return {{"total", trace.transfers.size()}, {"op", std::move(op)},       {"src", std::move(src)},
          {"dst", std::move(dst)},           {"bytes", std::move(bytes)}, {"queued", queued},
          {"start", std::move(start)},       {"lasts", std::move(lasts)}};
}

Json links_json(const StepTrace& trace) {
  Json links = Json::array();
  for (const LinkUsage& link : trace.links) {
    links.push_back({{"src", link.src},
                     {"dst", link.dst},
                     {"transfers", link.transfers},
                     {"bytes", link.bytes},
                     {"busy", rounded(link.busy_us)}});
  }
  return links;
}

/// Steps of the critical path in time, [what, why it started then, ...]: an op's number, or -1 less a transfer's among those
/// shown.
Json path_json(const StepTrace& trace, const std::vector<std::size_t>& shown) {
  Json path = Json::array();
  for (const CriticalStep& step : trace.critical_path) {
    if (step.op != kNoOp) {
      path.push_back(step.op);
    } else {
      const auto found = std::lower_bound(shown.begin(), shown.end(), at(step.transfer));
      if (found == shown.end() || *found != at(step.transfer)) continue;
      path.push_back(-1 - (found - shown.begin()));
    }
    path.push_back(static_cast<int>(step.reason));
  }
  return path;
}

/// Stretches of the path, as `berth explain` tells them.
Json stretches_json(const std::vector<Stretch>& path, const std::vector<std::size_t>& shown) {
  Json json = Json::array();
  for (const Stretch& stretch : path) {
    Json entry = {{"start", rounded(stretch.start_us)},
                  {"lasts", rounded(stretch.end_us - stretch.start_us)},
                  {"first", stretch.first}};
    if (stretch.transfer >= 0) {
      const auto found = std::lower_bound(shown.begin(), shown.end(), at(stretch.transfer));
      if (found == shown.end() || *found != at(stretch.transfer)) continue;
      entry["transfer"] = found - shown.begin();
      entry["waited"] = rounded(stretch.waited_us);
    } else {
      entry["device"] = stretch.device;
      entry["last"] = stretch.last;
      entry["ops"] = stretch.ops;
    }
    json.push_back(std::move(entry));
  }
  return json;
}

/// The longest of them, in the order in which they came.
std::vector<Stretch> longest(std::vector<Stretch> path) {
  if (path.size() <= kMostStretches) return path;
  std::vector<double> durations;
  for (const Stretch& stretch : path) durations.push_back(stretch.end_us - stretch.start_us);
  const auto last = durations.begin() + kMostStretches - 1;
  std::nth_element(durations.begin(), last, durations.end(), std::greater<>());
  const double shortest = *last;
  std::vector<Stretch> kept;
  for (const Stretch& stretch : path) {
    const bool shown = stretch.end_us - stretch.start_us >= shortest;
    if (shown && kept.size() < kMostStretches) kept.push_back(stretch);
  }
  return kept;
}

/// The first of them.
std::vector<Stretch> worst(std::vector<Stretch> transfers) {
  transfers.resize(std::min(transfers.size(), kMostStretches));
  return transfers;
}

bool on_one_device(const Placement& placement, std::span<const OpId> ops) {
  return std::all_of(ops.begin(), ops.end(),
                     [&](OpId op) { return placement[at(op)] == placement[at(ops.front())]; });
}

/// Whether the placement keeps a rule, asked of the placement itself.
bool holds(const Outcome& outcome, std::size_t index) {
  const Problem& problem = *outcome.problem;
  const Constraints& constraints = *problem.constraints();
  const auto ops = constraints.ops_of(index);
  switch (constraints.rules()[index].kind) {
    case ConstraintRule::Kind::memory_margin:
      for (DeviceId d = 0; d < problem.cluster().device_count(); ++d) {
        if (outcome.evaluation.peak_bytes[at(d)] > problem.memory_bytes(d)) return false;
      }
      return true;
    case ConstraintRule::Kind::colocate:
      return on_one_device(outcome.placement, ops);
    case ConstraintRule::Kind::separate:
      return problem.crowded_device(outcome.placement) == kNoDevice;
    case ConstraintRule::Kind::pin:
    case ConstraintRule::Kind::forbid:
    case ConstraintRule::Kind::respect_devices:
      break;
  }
  return std::all_of(ops.begin(), ops.end(),
                     [&](OpId op) { return problem.allowed(op, outcome.placement[at(op)]); });
}

Json constraints_json(const Outcome& outcome) {
  Json json = Json::array();
  const Constraints* const constraints = outcome.problem->constraints().get();
  if (constraints == nullptr) return json;
  for (std::size_t i = 0; i < constraints->rules().size(); ++i) {
    const ConstraintRule& rule = constraints->rules()[i];
    const auto ops = constraints->ops_of(i);
    Json entry = {{"text", rule.text.empty() ? to_text(rule) : rule.text},
                  {"holds", holds(outcome, i)},
                  {"count", ops.size()}};
    entry["ops"] = std::vector<OpId>(
        ops.begin(), ops.begin() + std::min<std::size_t>(ops.size(), kMostHoldings));
    json.push_back(std::move(entry));
  }
  return json;
}

/// The alternatives of a unit. "ops": all that move together; "devices": by device, null = it is there, a number = the
/// objective, [objective, lacking bytes] = it does not fit, a text = the refusal.
Json elsewhere_json(const Outcome& outcome, const std::function<bool()>& should_stop) {
  const UnitsElsewhere computed = units_elsewhere(outcome, should_stop);
  Json units = Json::array();
  for (const Unit& unit : computed.units) {
    Json by_device(std::vector<Json>(at(outcome.problem->cluster().device_count())));
    for (const Elsewhere& other : unit.elsewhere) {
      Json& entry = by_device[at(other.device)];
      if (!other.possible()) {
        entry = other.refused;
      } else if (other.excess_bytes > 0) {
        entry = {rounded(other.worth.objective_us), other.excess_bytes};
      } else {
        entry = rounded(other.worth.objective_us);
      }
    }
    units.push_back({{"ops", unit.ops},
                     {"by", unit.bound ? bound_text(*unit.bound)
                                       : "communication, contention or order: elsewhere the "
                                         "step would be longer; which it is was not "
                                         "simulated"},
                     {"devices", std::move(by_device)}});
  }
  return {{"now", computed.now_us}, {"all", computed.all}, {"units", std::move(units)}};
}

Json placement_json(const ReportedPlacement& reported, std::size_t most_transfers,
                    const std::function<bool()>& should_stop) {
  const Outcome& outcome = reported.outcome;
  const StepTrace& trace = outcome.trace;
  Json start = Json::array();
  Json lasts = Json::array();
  for (std::size_t i = 0; i < outcome.placement.size(); ++i) {
    start.push_back(rounded(trace.op_start_us[i]));
    lasts.push_back(rounded(trace.op_end_us[i] - trace.op_start_us[i]));
  }
  const std::vector<std::size_t> shown = shown_transfers(trace, most_transfers);
  const std::vector<Stretch> path = stretches(outcome);
  Json json = {{"label", reported.label},
               {"step", trace.runtime_us},
               {"figures", figures_json(outcome)},
               {"device", outcome.placement},
               {"start", std::move(start)},
               {"lasts", std::move(lasts)},
               {"devices", usage_json(outcome)},
               {"memory", memory_json(outcome)},
               {"transfers", transfers_json(trace, shown)},
               {"links", links_json(trace)},
               {"path", path_json(trace, shown)},
               {"stretches", stretches_json(longest(path), shown)},
               {"stretch_count", path.size()},
               {"waits", stretches_json(worst(hurting_transfers(path)), shown)},
               {"constraints", constraints_json(outcome)},
               {"elsewhere", elsewhere_json(outcome, should_stop)}};
  const Cluster& cluster = outcome.problem->cluster();
  if (!cluster.has_keepers()) return json;
  // Ops run elsewhere than their weights are.
  Placement runs = outcome.placement;
  for (DeviceId& device : runs) device = cluster.works_in(device);
  json["runs"] = std::move(runs);
  return json;
}

Json policies_json(const Report& report) {
  Json rows = Json::array();
  for (const ReportedPolicy& policy : report.policies) {
    Json row = {{"name", policy.name}};
    if (policy.outcome == nullptr) {
      row["failure"] = policy.failure;
    } else {
      const Outcome& outcome = *policy.outcome;
      row["objective"] = outcome.evaluation.objective_us;
      row["gap"] = number(outcome.gap());
      row["speed_up"] = number(outcome.speed_up());
      row["devices"] =
          std::set<DeviceId>(outcome.placement.begin(), outcome.placement.end()).size();
      add_simplicity(outcome, row);
      if (outcome.search) row["wall_s"] = outcome.search->wall_s;
      if (outcome.learned && outcome.learned->whose != Whose::own) {
        row["best"] = outcome.learned->best_evaluation.objective_us;
        row["whose"] = outcome.learned->source_text();
      }
      if (!outcome.evaluation.feasible) row["failure"] = "does not fit: " + excess_text(outcome);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

Json report_data(const Report& report, const std::function<bool()>& should_stop) {
  const Problem& problem = *report.placements.front().outcome.problem;
  Json placements = Json::array();
  for (const ReportedPlacement& each : report.placements) {
    placements.push_back(
        placement_json(each, kMostTransfers / report.placements.size(), should_stop));
  }
  return {{"version", BERTH_VERSION_STRING},
          {"model", report.placements.front().outcome.origin.model},
          {"graph_name", problem.graph().name()},
          {"machine", problem.cluster().name()},
          {"costs", problem.costs().source()},
          {"objective", objective_name(problem.options().objective)},
          {"semantics", semantics_name(problem.options().semantics)},
          {"groups", problem.groups().count()},
          {"parameters", problem.graph().total_param_bytes()},
          {"devices", devices_json(problem)},
          {"kinds", kinds_json(problem.cluster())},
          {"graph", graph_json(problem)},
          {"placements", std::move(placements)},
          {"policies", policies_json(report)}};
}

}  // namespace berth::reports
