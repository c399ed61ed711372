#include <spdlog/fmt/fmt.h>

#include <nlohmann/json.hpp>

#include "berth/evaluator.h"
#include "berth/graph.h"
#include "berth/simplicity.h"
#include "outcome.h"

namespace berth::command {
namespace {

using Json = nlohmann::ordered_json;

Json options_json(const std::map<std::string, OptionValue, std::less<>>& options) {
  Json json = Json::object();
  for (const auto& [name, value] : options) {
    std::visit([&json, &name = name](const auto& plain) { json[name] = plain; }, value);
  }
  return json;
}

Json devices_json(const Outcome& outcome) {
  const Cluster& cluster = outcome.problem->cluster();
  const double whole_us = outcome.whole_us();
  std::vector<std::int64_t> ops(static_cast<std::size_t>(cluster.device_count()));
  for (const DeviceId device : outcome.placement) ++ops[static_cast<std::size_t>(device)];
  Json json = Json::array();
  for (DeviceId id = 0; id < cluster.device_count(); ++id) {
    const auto index = static_cast<std::size_t>(id);
    const Device& device = cluster.device(id);
    Json entry = {{"name", device.name},
                  {"kind", device.kind},
                  {"ops", ops[index]},
                  {"busy_us", outcome.evaluation.busy_us[index]},
                  {"idle_us", whole_us - outcome.evaluation.busy_us[index]},
                  {"peak_bytes", outcome.evaluation.peak_bytes[index]}};
    const std::int64_t memory = outcome.problem->memory_bytes(id);
    if (memory != kNoLimit) entry["memory_bytes"] = memory;
    json.push_back(std::move(entry));
  }
  return json;
}

Json links_json(const Outcome& outcome) {
  const Cluster& cluster = outcome.problem->cluster();
  Json json = Json::array();
  for (const LinkUsage& link : outcome.trace.links) {
    Json entry = {{"src", cluster.device(link.src).name}};
    if (link.dst != kNoDevice) entry["dst"] = cluster.device(link.dst).name;
    entry["transfers"] = link.transfers;
    entry["bytes"] = link.bytes;
    entry["busy_us"] = link.busy_us;
    json.push_back(std::move(entry));
  }
  return json;
}

Json path_json(const Outcome& outcome) {
  const PathShares shares = path_shares(outcome.trace);
  return {{"compute_us", shares.compute_us},
          {"transfer_us", shares.transfer_us},
          {"pause_us", shares.pause_us},
          {"contended_us", shares.contended_us},
          {"steps", outcome.trace.critical_path.size()}};
}

Json replicas_of(const Outcome& outcome) {
  const ReplicaFigures& figures = *outcome.replicas;
  const ReplicaTimes times = replica_times(outcome);
  Json replicas = Json::array();
  for (std::size_t r = 0; r < figures.replicas.size(); ++r) {
    replicas.push_back(
        {{"devices", device_names(outcome.problem->cluster(), figures.replicas[r].devices)},
         {"samples", figures.replicas[r].share},
         {"computed_us", times.computed_us[r]}});
  }
  return {{"plan", figures.plan},
          {"batch", figures.batch},
          {"replicas", std::move(replicas)},
          {"gradients", figures.gradients},
          {"gradient_bytes", figures.gradient_bytes},
          {"gathered_bytes", figures.gathered_bytes},
          {"buckets", figures.buckets},
          {"reduced_us", times.reduced_us},
          {"reduction_waits_us", times.waits_us}};
}

void add_comparison(const Outcome& outcome, Json& json) {
  if (outcome.bound.us > 0) {
    json["lower_bound_us"] = outcome.bound.us;
    json["lower_bound"] = outcome.bound.source;
    if (outcome.bound.cut_short) json["lower_bound_cut_short"] = true;
  }
  json["gap"] = outcome.gap();  // null where infinite
  if (outcome.certificate) {
    json["proof"] = {{"verdict", proven_text(outcome)},
                     {"bound_us", outcome.certificate->bound.us},
                     {"bound", outcome.certificate->bound.source},
                     {"rests_on", outcome.certificate->rests_on}};
  }
  if (outcome.best_single.device == kNoDevice) {
    json["best_single"] = nullptr;
    return;
  }
  const Cluster& cluster = outcome.problem->cluster();
  Json ops = Json::object();
  for (const DeviceId device : outcome.best_single.placement) {
    Json& count = ops[cluster.device(device).name];
    count = count.is_null() ? 1 : count.get<std::int64_t>() + 1;
  }
  json["best_single"] = {{"device", cluster.device(outcome.best_single.device).name},
                         {"ops", std::move(ops)},
                         {"text", single_device_text(*outcome.problem, outcome.best_single)},
                         {"objective_us", outcome.best_single.evaluation.objective_us},
                         {"speed_up", outcome.speed_up()}};
}

}  // namespace

void add_learned(const LearnedFigures& learned, Json& json) {
  // null: the time ended before there was one.
  json["own_us"] = learned.own.empty() ? Json() : Json(learned.own_evaluation.objective_us);
  json["best_us"] = learned.best_evaluation.objective_us;
  json["whose"] = whose_name(learned.whose);
  if (learned.weights) {
    json["weights"] = weights_name(*learned.weights);
    json["updates"] = learned.updates;
  }
  if (!learned.start) return;
  json["start_us"] = learned.start->objective_us;
  json["start"] = learned.start_name;
}

Json outcome_json(const Outcome& outcome) {
  const Problem& problem = *outcome.problem;
  Json json = {{"model", outcome.origin.model},
               {"graph", problem.graph().name()},
               {"cluster", problem.cluster().name()},
               {"costs", problem.costs().source()},
               {"objective", objective_name(problem.options().objective)},
               {"semantics", semantics_name(problem.options().semantics)}};
  if (!outcome.origin.policy.empty()) {
    json["policy"] = outcome.origin.policy;
    json["options"] = options_json(outcome.origin.options);
    json["seed"] = outcome.origin.seed;
    json["groups"] = problem.groups().count();
  }
  json["feasible"] = outcome.evaluation.feasible;
  json["evaluator"] = outcome.executed ? "measure" : "simulate";
  json["runtime_us"] = outcome.runtime_us();
  const Simplicity simplicity = simplicity_of(problem.graph(), outcome.placement);
  json["cuts"] = simplicity.cuts;
  json["transfers"] = simplicity.transfers;
  if (problem.options().objective == Objective::throughput) {
    json["max_load_us"] = outcome.evaluation.max_load_us;
  }
  add_comparison(outcome, json);
  json["devices"] = devices_json(outcome);
  json["links"] = links_json(outcome);
  json["critical_path"] = path_json(outcome);
  if (!outcome.evaluation.feasible) json["excess"] = excess_text(outcome);
  if (outcome.search) {
    json["evaluations"] = outcome.search->evaluations;
    json["simulated_ops"] = outcome.search->simulated_ops;
    json["wall_s"] = outcome.search->wall_s;
    json["ended"] = search_end_name(outcome.search->end);
  }
  if (outcome.learned) add_learned(*outcome.learned, json);
  if (outcome.replicas != nullptr) json["replicas"] = replicas_of(outcome);
  json["notes"] = outcome.notes;
  return json;
}

/// JSON escapes control characters below 0x20 alone; those from 0x7F on steer terminals as well.
std::string json_text(const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size() + 1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (byte == 0x7F) {
      safe += "\\u007f";
    } else if (byte == 0xC2 && next < 0xA0) {
      safe += fmt::format("\\u{:04x}", next);
      ++i;
    } else {
      safe += text[i];
    }
  }
  return safe + '\n';
}

}  // namespace berth::command
