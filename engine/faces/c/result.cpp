#include <cstddef>

#include "berth/evaluator.h"
#include "berth/explanation.h"
#include "berth/files.h"
#include "berth/outcome.h"
#include "berth/plan_writers.h"
#include "berth/report.h"
#include "berth/tools.h"
#include "objects.h"
#include "support/units.h"

using namespace berth;

namespace {

static_assert(std::is_same_v<DeviceId, std::int32_t>, "devices are given out as they are");

// The figures of both enumerations are those of the ABI; what a policy does not learn is nobody's.
static_assert(static_cast<int32_t>(SearchEnd::gave_up) == BERTH_END_GAVE_UP);
static_assert(static_cast<int32_t>(Whose::repaired) + 1 == BERTH_WHOSE_REPAIRED);

std::string lines(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += c::one_line(sentence) + "\n";
  return text;
}

std::string report(const Outcome& outcome) {
  std::string text = cat("one step: ", format_us(outcome.runtime_us()));
  if (!outcome.evaluation.feasible) text += cat("\n", excess_text(outcome));
  text += "\n";
  if (outcome.best_single.device != kNoDevice) {
    text += cat("best single device: ", format_us(outcome.best_single.evaluation.objective_us),
                " (", single_device_text(*outcome.problem, outcome.best_single), ")\n");
  }
  for (const std::string& sentence :
       {gap_text(outcome), waits_text(outcome), advice_text(outcome)}) {
    if (!sentence.empty()) text += sentence + "\n";
  }
  return text;
}

std::string placement_text(const Outcome& outcome) {
  return placement_json(outcome.problem->graph(), outcome.problem->cluster(), outcome.placement,
                        &outcome.evaluation,
                        outcome.origin.policy.empty() ? nullptr : &outcome.origin);
}

std::string text_of(const Outcome& outcome, int32_t kind) {
  switch (kind) {
    case BERTH_TEXT_POLICY:
      return outcome.origin.policy;
    case BERTH_TEXT_NOTES:
      return lines(outcome.notes);
    case BERTH_TEXT_PLACEMENT:
      return placement_text(outcome);
    case BERTH_TEXT_TRACE:
      return trace_json(*outcome.problem, outcome.placement, outcome.trace);
    case BERTH_TEXT_SVG:
      return timeline_svg(*outcome.problem, outcome.placement, outcome.trace);
    case BERTH_TEXT_REPORT:
      return report(outcome);
    case BERTH_TEXT_BOUND_SOURCE:
      return outcome.bound.source;
    case BERTH_TEXT_PLAN:
      if (outcome.tool == nullptr) return {};
      return plan_text(*outcome.tool, outcome.problem->graph(), outcome.problem->cluster(),
                       outcome.placement);
    case BERTH_TEXT_REPLICAS:
      return replicas_json(outcome);
    default:
      throw Error(ErrorCode::invalid_argument,
                  cat("no text of kind ", kind, "; use one of BERTH_TEXT_..."));
  }
}

std::string explained(const Outcome& outcome, OpId op) {
  const OpExplanation found = explain_op(outcome, op);
  const Graph& graph = outcome.problem->graph();
  std::string text =
      cat(graph.op_name(op), " is on ", device_name(outcome, found.device), ", from ",
          format_us(found.start_us), " to ", format_us(found.end_us), ", ",
          found.critical ? "on" : "off", " the critical path: ", bound_text(found.bound), "\n");
  if (found.together.size() > 1) {
    text += cat("it shares its device with ", found.together.size() - 1, " co-located ops\n");
  }
  for (const std::string& rule : found.rules) text += cat("constraint ", rule, "\n");
  for (const Alternative& other : found.alternatives) {
    text += cat("on ", device_name(outcome, other.device), ": ");
    if (!other.refused.empty()) {
      text += other.refused + "\n";
      continue;
    }
    text += format_us(other.evaluation.objective_us);
    if (!other.evaluation.feasible) text += ", does not fit";
    text += "\n";
  }
  return text;
}

/// How to get a plan that has the form, where a tool takes it that has it to itself: tables have any placement.
std::string advice(const Outcome& outcome, std::string_view form) {
  const bool searched = outcome.tool != nullptr && outcome.tool->form == form;
  if (searched || form == "csv") return {};
  for (const Tool& each : tools()) {
    if (each.form != form) continue;
    return cat("; a search with the setting \"tool\": \"", each.name,
               "\" looks for a plan that it can run");
  }
  return {};
}

}  // namespace

berth_status berth_result_summary(const berth_result* result, berth_summary* summary) {
  return c::guarded([&] {
    const Outcome& outcome = c::get(result).outcome;
    berth_summary known = {};
    known.size = sizeof known;
    known.feasible = outcome.evaluation.feasible ? 1 : 0;
    known.objective_us = outcome.evaluation.objective_us;
    known.runtime_us = outcome.trace.runtime_us;
    known.bound_us = outcome.bound.us;
    known.best_single_device = outcome.best_single.device;
    if (outcome.best_single.device != kNoDevice) {
      known.best_single_us = outcome.best_single.evaluation.objective_us;
    }
    known.worst_device = outcome.evaluation.worst_device;
    known.excess_bytes = outcome.evaluation.excess_bytes;
    if (outcome.search) {
      known.end = static_cast<int32_t>(outcome.search->end);
      known.evaluations = outcome.search->evaluations;
      known.wall_s = outcome.search->wall_s;
    }
    if (outcome.learned) {
      const LearnedFigures& learned = *outcome.learned;
      if (!learned.own.empty()) known.own_us = learned.own_evaluation.objective_us;
      known.best_us = learned.best_evaluation.objective_us;
      if (learned.start) known.start_us = learned.start->objective_us;
      known.whose = static_cast<int32_t>(learned.whose) + 1;
    }
    known.transfer_count = static_cast<std::int64_t>(outcome.trace.transfers.size());
    for (const Transfer& transfer : outcome.trace.transfers) {
      known.transfer_bytes += transfer.bytes;
    }
    c::give_options(&known, sizeof known, summary, offsetof(berth_summary, own_us),
                    "berth_summary");
  });
}

const int32_t* berth_result_devices(const berth_result* result, size_t* count) {
  const int32_t* devices = nullptr;
  static_cast<void>(c::guarded([&] {
    const Placement& placement = c::get(result).outcome.placement;
    devices = placement.data();
    if (count != nullptr) *count = placement.size();
  }));
  return devices;
}

berth_status berth_result_text(const berth_result* result, int32_t kind, berth_text* text) {
  return c::guarded([&] {
    const Outcome& outcome = c::get(result).outcome;
    c::required(text, "text") = c::give(text_of(outcome, kind));
  });
}

berth_status berth_result_explain(const berth_result* result, int32_t op, berth_text* text) {
  return c::guarded([&] {
    const Outcome& outcome = c::get(result).outcome;
    const OpId count = outcome.problem->graph().op_count();
    if (op < 0 || op >= count) {
      throw Error(ErrorCode::invalid_argument,
                  cat("op #", op, " of a graph of ", count, "; ids are dense, from 0"));
    }
    c::required(text, "text") = c::give(explained(outcome, op));
  });
}

berth_status berth_result_array(const berth_result* result, berth_text name, berth_array* array) {
  return c::guarded([&] {
    const Outcome& outcome = c::get(result).outcome;
    c::give_array({{"devices", c::rows(outcome.placement)},
                   {"op_start_us", c::rows(outcome.trace.op_start_us)},
                   {"op_end_us", c::rows(outcome.trace.op_end_us)},
                   {"busy_us", c::rows(outcome.evaluation.busy_us)},
                   {"peak_bytes", c::rows(outcome.evaluation.peak_bytes)}},
                  name, array);
  });
}

berth_status berth_result_plan(const berth_result* result, berth_text form, berth_text* text) {
  return c::guarded([&] {
    const Outcome& outcome = c::get(result).outcome;
    const PlanWriter& writer = plan_writer(c::view(form));
    const Problem& problem = *outcome.problem;
    berth_text& out = c::required(text, "text");
    try {
      out = c::give(writer.text(problem.graph(), problem.cluster(), outcome.placement));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      throw Error(error.code(), error.what() + advice(outcome, writer.name));
    }
  });
}

berth_status berth_report(const berth_result* const* results, size_t count, berth_text* html) {
  return c::guarded([&] {
    Report page;
    for (const berth_result* const each : c::array(results, count, "results")) {
      const Outcome& outcome = c::get(each).outcome;
      const std::string& policy = outcome.origin.policy;
      const std::string label = policy.empty() ? "given" : policy;
      if (page.placements.empty()) page.placements.push_back({label, outcome});
      if (count > 1) page.policies.push_back({label, &outcome, ""});
    }
    c::required(html, "html") = c::give(report_html(page));
  });
}

berth_status berth_result_transfers(const berth_result* result, size_t entry_size,
                                    berth_transfer* out, size_t capacity, size_t* count) {
  return c::guarded([&] {
    const std::vector<Transfer>& transfers = c::get(result).outcome.trace.transfers;
    if (entry_size < sizeof(berth_transfer)) {
      throw Error(ErrorCode::invalid_argument,
                  cat("entries of ", entry_size, " bytes; give sizeof(berth_transfer)"));
    }
    auto* entry = reinterpret_cast<unsigned char*>(out);
    for (std::size_t i = 0; out != nullptr && i < std::min(capacity, transfers.size()); ++i) {
      const Transfer& transfer = transfers[i];
      const berth_transfer known = {transfer.tensor, transfer.producer, transfer.src,
                                    transfer.dst,    transfer.bytes,    transfer.start_us,
                                    transfer.end_us};
      std::memset(entry, 0, entry_size);
      std::memcpy(entry, &known, sizeof known);
      entry += entry_size;
    }
    if (count != nullptr) *count = transfers.size();
  });
}
