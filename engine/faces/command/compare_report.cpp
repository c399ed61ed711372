#include "compare_report.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "berth/evaluator.h"
#include "berth/simplicity.h"
#include "support/units.h"
#include "text_table.h"

namespace berth::command {
namespace {

using Json = nlohmann::ordered_json;
using Align = TextTable::Align;

/// Ranks what fits before what does not before what failed.
int rank(const ComparedPolicy& row) {
  return row.fits() ? 0 : row.outcome ? 1 : 2;
}

std::size_t devices_used(const Outcome& outcome) {
  return std::set<DeviceId>(outcome.placement.begin(), outcome.placement.end()).size();
}

std::string verdict_text(const std::string& policy, const Outcome& best) {
  const bool throughput = best.problem->options().objective == Objective::throughput;
  std::string text = fmt::format("Best: {}, {}{}", policy, format_us(best.evaluation.objective_us),
                                 throughput ? " for the largest load" : " per step");
  if (best.best_single.device != kNoDevice) {
    const std::string single =
        fmt::format("{} ({})", single_device_text(*best.problem, best.best_single),
                    format_us(best.best_single.evaluation.objective_us));
    if (best.speed_up() > kFaster) {
      text += fmt::format(", {} as fast as the best single device, {}",
                          format_factor(best.speed_up()), single);
    } else {
      text += fmt::format("; no policy beats the best single device, {}", single);
    }
  } else {
    text += "; no single device can hold the model";
  }
  return printable(text) + ".\n";
}

/// Says what the figures of a row leave out.
std::string remark(const Outcome& outcome) {
  std::string text = outcome.evaluation.feasible ? "" : "does not fit: " + excess_text(outcome);
  if (!outcome.learned) return text;
  const LearnedFigures& learned = *outcome.learned;
  const auto add = [&text](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
  if (const std::string weights = learned.weights_text(); !weights.empty()) {
    add("weights: " + weights);
  }
  if (learned.whose == Whose::own) return text;
  if (learned.own == learned.best) {
    add("moved nothing: " + learned.source_text());
  } else {
    add(fmt::format("saw {}: {}", format_us(learned.best_evaluation.objective_us),
                    learned.source_text()));
  }
  return text;
}

std::vector<std::string> row_cells(const ComparedPolicy& row) {
  if (!row.outcome) return {row.policy, row.failure};
  const Outcome& outcome = *row.outcome;
  const Simplicity simplicity = simplicity_of(outcome.problem->graph(), outcome.placement);
  return {row.policy,
          format_us(outcome.evaluation.objective_us),
          format_percent(outcome.gap()),
          format_factor(outcome.speed_up()),
          std::to_string(devices_used(outcome)),
          format_count(simplicity.cuts),
          format_count(simplicity.transfers),
          format_count(outcome.search->evaluations),
          format_count(outcome.search->simulated_ops),
          format_us(outcome.search->wall_s * 1e6),
          remark(outcome)};
}

std::string csv_cell(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return {};
  if (!found->is_string()) {
    // JSON writes a non-finite number as null; so does this.
    return found->is_number_float() && !std::isfinite(found->get<double>()) ? "" : found->dump();
  }
  const std::string text = printable(found->get<std::string>());
  std::string quoted = "\"";
  // To a spreadsheet this is a text, not something to compute; an apostrophe of its own stays one.
  if (!text.empty() && std::string_view("'=+-@").find(text.front()) != std::string_view::npos) {
    quoted += '\'';
  }
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

void sort_rows(std::vector<ComparedPolicy>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const ComparedPolicy& a, const ComparedPolicy& b) {
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    return a.outcome && a.outcome->evaluation.objective_us < b.outcome->evaluation.objective_us;
  });
}

std::string compare_text(const std::vector<ComparedPolicy>& rows) {
  const ComparedPolicy& best = rows.front();
  const Outcome* const any = best.outcome ? &*best.outcome : nullptr;
  const bool throughput =
      any != nullptr && any->problem->options().objective == Objective::throughput;
  std::string text = any == nullptr ? "" : problem_text(any->origin.model, *any->problem);
  if (best.outcome && best.outcome->bound.us > 0) {
    text += fmt::format("no placement can have a {} below {} ({})\n",
                        throughput ? "largest load" : "runtime", format_us(best.outcome->bound.us),
                        best.outcome->bound.source);
  }
  TextTable table({{"policy"},
                   {throughput ? "largest load" : "runtime", Align::right},
                   {"above bound", Align::right},
                   {"vs one device", Align::right},
                   {"devices", Align::right},
                   {"cuts", Align::right},
                   {"transfers", Align::right},
                   {"tried", Align::right},
                   {"ops simulated", Align::right},
                   {"search", Align::right},
                   {""}});
  for (const ComparedPolicy& row : rows) table.add_row(row_cells(row));
  text += "\n" + table.text(2);
  if (best.fits()) {
    text += "\n" + verdict_text(best.policy, *best.outcome) + why_text(*best.outcome);
  }
  if (interrupted(rows)) text += "\nInterrupted: the policies had unequal times.\n";
  return text;
}

bool interrupted(std::span<const ComparedPolicy> rows) {
  return std::any_of(rows.begin(), rows.end(), [](const ComparedPolicy& row) {
    return row.outcome ? row.outcome->search->end == SearchEnd::cancelled
                       : row.code == ErrorCode::cancelled;
  });
}

Json compare_json(const std::vector<ComparedPolicy>& rows) {
  Json json =
      rows.front().outcome ? outcome_json(*rows.front().outcome) : Json{{"feasible", false}};
  json["interrupted"] = interrupted(rows);
  json["policies"] = Json::array();
  for (const ComparedPolicy& row : rows) json["policies"].push_back(row_json(row));
  return json;
}

Json row_json(const ComparedPolicy& row) {
  Json json = {{"policy", row.policy}};
  if (!row.outcome) {
    json["error"] = row.failure;
    return json;
  }
  const Outcome& outcome = *row.outcome;
  json["feasible"] = outcome.evaluation.feasible;
  json["runtime_us"] = outcome.runtime_us();
  if (outcome.problem->options().objective == Objective::throughput) {
    json["max_load_us"] = outcome.evaluation.max_load_us;
  }
  json["gap"] = outcome.gap();            // null where infinite
  json["speed_up"] = outcome.speed_up();  // null if no single device holds the model
  json["devices_used"] = devices_used(outcome);
  const Simplicity simplicity = simplicity_of(outcome.problem->graph(), outcome.placement);
  json["cuts"] = simplicity.cuts;
  json["transfers"] = simplicity.transfers;
  json["evaluations"] = outcome.search->evaluations;
  json["simulated_ops"] = outcome.search->simulated_ops;
  json["wall_s"] = outcome.search->wall_s;
  json["ended"] = search_end_name(outcome.search->end);
  if (outcome.learned) add_learned(*outcome.learned, json);
  if (!outcome.evaluation.feasible) json["excess"] = excess_text(outcome);
  return json;
}

std::string csv_text(const std::vector<Json>& objects, std::vector<std::string> columns) {
  columns.insert(columns.end(),
                 {"policy",        "feasible",     "runtime_us", "max_load_us", "gap",
                  "speed_up",      "devices_used", "cuts",       "transfers",   "evaluations",
                  "simulated_ops", "wall_s",       "own_us",     "best_us",     "start_us",
                  "whose",         "weights",      "updates",    "excess",      "error"});
  std::string csv;
  for (const std::string& column : columns) csv += (csv.empty() ? "" : ",") + column;
  for (const Json& object : objects) {
    csv += "\r\n";
    for (const std::string& column : columns) {
      if (&column != &columns.front()) csv += ',';
      csv += csv_cell(object, column.c_str());
    }
  }
  return csv + "\r\n";
}

std::string compare_csv(const std::vector<ComparedPolicy>& rows) {
  std::vector<Json> objects;
  for (const ComparedPolicy& row : rows) objects.push_back(row_json(row));
  return csv_text(objects);
}

}  // namespace berth::command
