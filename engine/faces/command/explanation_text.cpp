#include "explanation_text.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "berth/graph.h"
#include "berth/support/index.h"
#include "outcome.h"
#include "reports/drawable.h"
#include "support/units.h"
#include "text_table.h"

namespace berth::command {
namespace {

using Json = nlohmann::ordered_json;
using Align = TextTable::Align;

constexpr std::size_t kStretches = 20;
constexpr std::size_t kTransfers = 5;

std::string op_name(const Outcome& outcome, OpId op) {
  return printable(outcome.problem->graph().op_name(op));
}

std::string stretch_text(const Outcome& outcome, const Stretch& stretch) {
  if (stretch.transfer >= 0) {
    const Transfer& transfer = outcome.trace.transfers[at(stretch.transfer)];
    std::string text = fmt::format(
        "{} -> {}: sends the {} of {}, {}", device_name(outcome, stretch.device),
        device_name(outcome, stretch.receiver),
        sends_weights(outcome.problem->cluster(), transfer) ? "weights" : "output",
        op_name(outcome, stretch.first),
        transfer.tensor == kNoTensor ? "a control signal" : format_bytes(transfer.bytes));
    if (stretch.waited_us > 0) {
      text += fmt::format(", after {} of waiting for the link", format_us(stretch.waited_us));
    }
    return text;
  }
  if (stretch.ops == 1) {
    return fmt::format("{} runs {}", device_name(outcome, stretch.device),
                       op_name(outcome, stretch.first));
  }
  return fmt::format("{} runs {} ops, from {} to {}", device_name(outcome, stretch.device),
                     format_count(stretch.ops), op_name(outcome, stretch.first),
                     op_name(outcome, stretch.last));
}

/// The longest stretches in time order; runs of shorter ones between them in one line each.
std::string path_text(const Outcome& outcome, const std::vector<Stretch>& path) {
  std::vector<double> durations;
  for (const Stretch& stretch : path) durations.push_back(stretch.end_us - stretch.start_us);
  double shortest = 0;
  if (durations.size() > kStretches) {
    std::nth_element(durations.begin(), durations.begin() + kStretches - 1, durations.end(),
                     std::greater<>());
    shortest = durations[kStretches - 1];
  }
  TextTable table({{"from", Align::right}, {"for", Align::right}, {""}});
  std::size_t skipped = 0;
  std::size_t shown = 0;
  double skipped_us = 0;
  double skipped_from_us = 0;
  const auto flush = [&] {
    if (skipped == 0) return;
    table.add_row({format_us(skipped_from_us), format_us(skipped_us),
                   fmt::format("{} shorter stretch{}", format_count(static_cast<int>(skipped)),
                               skipped == 1 ? "" : "es")});
    skipped = 0;
    skipped_us = 0;
  };
  for (const Stretch& stretch : path) {
    const double us = stretch.end_us - stretch.start_us;
    if (us < shortest || shown >= kStretches) {
      if (skipped++ == 0) skipped_from_us = stretch.start_us;
      skipped_us += us;
      continue;
    }
    flush();
    ++shown;
    table.add_row({format_us(stretch.start_us), format_us(us), stretch_text(outcome, stretch)});
  }
  flush();
  return table.text(2);
}

std::string transfers_text(const Outcome& outcome, const std::vector<Stretch>& path) {
  const std::vector<Stretch> transfers = hurting_transfers(path);
  if (transfers.empty()) return "No transfer is on the critical path.\n";
  std::string text = "Transfers that the step waits for, the longest first:\n";
  TextTable table({{"for", Align::right}, {""}});
  double more_us = 0;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const double us = transfers[i].end_us - transfers[i].start_us;
    if (i < kTransfers) {
      table.add_row({format_us(us), stretch_text(outcome, transfers[i])});
    } else {
      more_us += us;
    }
  }
  text += table.text(2);
  if (transfers.size() > kTransfers) {
    text += fmt::format("  ... and {} more, {} together\n", transfers.size() - kTransfers,
                        format_us(more_us));
  }
  return text;
}

/// Said before anything else: figures of a step that cannot run mislead.
std::string fit_text(const Outcome& outcome) {
  if (outcome.evaluation.feasible) return {};
  return fmt::format("DOES NOT FIT: {}.\n", excess_text(outcome));
}

std::string memory_limits_text(const Outcome& outcome) {
  std::string text;
  for (const DeviceId device : full_devices(outcome)) {
    const std::int64_t peak = outcome.evaluation.peak_bytes[at(device)];
    const std::int64_t memory = outcome.problem->memory_bytes(device);
    text += fmt::format(
        "  {} {}: {} of {}; with more memory there, {}.\n", device_name(outcome, device),
        peak > memory ? "does not hold what is on it" : "is full", format_bytes(peak),
        format_bytes(memory), peak > memory ? "it would" : "other placements would fit");
  }
  return text.empty() ? "  No device's memory is near its limit.\n" : text;
}

std::string signed_us(double us) {
  return us < 0 ? "-" + format_us(-us) : "+" + format_us(us);
}

std::string worth_text(const Outcome& outcome, const Evaluation& evaluation) {
  std::string text =
      fmt::format("{} ({})", format_us(evaluation.objective_us),
                  signed_us(evaluation.objective_us - outcome.evaluation.objective_us));
  if (!evaluation.feasible) {
    text += evaluation.excess_bytes > 0 ? fmt::format(", does not fit: {} lacks {}",
                                                      device_name(outcome, evaluation.worst_device),
                                                      format_bytes(evaluation.excess_bytes))
                                        : ", shares the device with an op that must be apart";
  }
  return text;
}

Json evaluation_json(const Outcome& outcome, const Evaluation& evaluation) {
  return {{"objective_us", evaluation.objective_us},
          {"change_us", evaluation.objective_us - outcome.evaluation.objective_us},
          {"feasible", evaluation.feasible},
          {"excess_bytes", evaluation.excess_bytes}};
}

Json stretch_json(const Outcome& outcome, const Stretch& stretch) {
  Json json = {{"start_us", stretch.start_us}, {"end_us", stretch.end_us}};
  if (stretch.transfer >= 0) {
    json["transfer"] = {{"producer", outcome.problem->graph().op_name(stretch.first)},
                        {"src", device_name(outcome, stretch.device)},
                        {"dst", device_name(outcome, stretch.receiver)},
                        {"bytes", outcome.trace.transfers[at(stretch.transfer)].bytes},
                        {"waited_us", stretch.waited_us}};
  } else {
    json["device"] = device_name(outcome, stretch.device);
    json["ops"] = stretch.ops;
    json["first"] = outcome.problem->graph().op_name(stretch.first);
    json["last"] = outcome.problem->graph().op_name(stretch.last);
  }
  return json;
}

}  // namespace

std::string placement_explanation_text(const Outcome& outcome) {
  const std::vector<Stretch> path = stretches(outcome);
  return fit_text(outcome) +
         fmt::format("The critical path of one step, {}:\n", format_us(outcome.trace.runtime_us)) +
         path_text(outcome, path) + transfers_text(outcome, path) + "What limits it:\n" +
         memory_limits_text(outcome) + why_text(outcome);
}

Json placement_explanation_json(const Outcome& outcome) {
  const std::vector<Stretch> path = stretches(outcome);
  const PathShares shares = path_shares(outcome.trace);
  Json json = {{"objective_us", outcome.evaluation.objective_us},
               {"feasible", outcome.evaluation.feasible},
               {"runtime_us", outcome.trace.runtime_us},
               {"waits_us",
                {{"compute", shares.compute_us},
                 {"transfers", shares.transfer_us},
                 {"pauses", shares.pause_us}}}};
  if (outcome.bound.us > 0) json["lower_bound_us"] = outcome.bound.us;
  json["critical_path"] = Json::array();
  for (const Stretch& stretch : path) {
    json["critical_path"].push_back(stretch_json(outcome, stretch));
  }
  json["hurting_transfers"] = Json::array();
  for (const Stretch& stretch : hurting_transfers(path)) {
    json["hurting_transfers"].push_back(stretch_json(outcome, stretch));
  }
  json["full_devices"] = Json::array();
  for (const DeviceId device : full_devices(outcome)) {
    json["full_devices"].push_back(device_name(outcome, device));
  }
  return json;
}

std::string op_explanation_text(const Outcome& outcome, const OpExplanation& op) {
  std::string text = fit_text(outcome);
  text += fmt::format("{} ({}) is on {}, from {} to {}, {} the critical path.\n",
                      op_name(outcome, op.op), printable(outcome.problem->graph().op_type(op.op)),
                      device_name(outcome, op.device), format_us(op.start_us), format_us(op.end_us),
                      op.critical ? "on" : "off");
  text += fmt::format("  bound by {}\n", bound_text(op.bound));
  if (op.together.size() > 1) {
    text += fmt::format(
        "  shares its device with {} co-located ops, such as {}\n", op.together.size() - 1,
        op_name(outcome, op.together.front() == op.op ? op.together.back() : op.together.front()));
  }
  for (const std::string& rule : op.rules) text += "  constraint " + printable(rule) + "\n";
  const bool throughput = outcome.problem->options().objective == Objective::throughput;
  text += fmt::format("\n{} now: {}; with this op{} elsewhere:\n",
                      throughput ? "Largest load" : "Runtime",
                      format_us(outcome.evaluation.objective_us),
                      op.together.size() > 1 ? " and what is co-located" : "");
  TextTable table({{"device"}, {""}});
  for (const Alternative& other : op.alternatives) {
    std::string worth = other.refused.empty() ? worth_text(outcome, other.evaluation)
                                              : "not possible: " + printable(other.refused);
    if (other.device == op.runner_up) worth += ", the runner-up";
    if (other.has_group) {
      worth += "; with its whole group " + worth_text(outcome, other.group_evaluation);
    }
    table.add_row({device_name(outcome, other.device), worth});
  }
  return text + table.text(2);
}

Json op_explanation_json(const Outcome& outcome, const OpExplanation& op) {
  const Graph& graph = outcome.problem->graph();
  Json json = {{"op", graph.op_name(op.op)},
               {"type", graph.op_type(op.op)},
               {"device", device_name(outcome, op.device)},
               {"start_us", op.start_us},
               {"end_us", op.end_us},
               {"on_critical_path", op.critical},
               {"bound_by", bound_name(op.bound)},
               {"constraints", op.rules},
               {"objective_us", outcome.evaluation.objective_us}};
  json["colocated"] = Json::array();
  for (const OpId other : op.together) {
    if (other != op.op) json["colocated"].push_back(graph.op_name(other));
  }
  json["runner_up"] = op.runner_up == kNoDevice ? Json() : Json(device_name(outcome, op.runner_up));
  json["alternatives"] = Json::array();
  for (const Alternative& other : op.alternatives) {
    Json entry = {{"device", device_name(outcome, other.device)}};
    if (other.refused.empty()) {
      entry.update(evaluation_json(outcome, other.evaluation));
      if (other.has_group) entry["group"] = evaluation_json(outcome, other.group_evaluation);
    } else {
      entry["refused"] = other.refused;
    }
    json["alternatives"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace berth::command
