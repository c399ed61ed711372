#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <span>

#include "berth/evaluator.h"
#include "berth/explanation.h"
#include "berth/graph.h"
#include "berth/simplicity.h"
#include "berth/tools.h"
#include "evaluate/next_step.h"
#include "outcome.h"
#include "reports/drawable.h"
#include "support/enum_name.h"
#include "support/units.h"
#include "text_table.h"

namespace berth::command {
namespace {

using Align = TextTable::Align;

constexpr std::size_t kBarWidth = 20;
bool is_throughput(const Outcome& outcome) {
  return outcome.problem->options().objective == Objective::throughput;
}

/// Whether steps wait longer for one another than the loads of a full pipeline last.
bool waits_for_the_last(const Outcome& outcome) {
  return is_throughput(outcome) &&
         longest_next_step(*outcome.problem, outcome.placement).us > outcome.evaluation.max_load_us;
}

/// The best single device and how this placement compares, as cells of the headline.
std::vector<std::string> single_cells(const Outcome& outcome) {
  if (outcome.best_single.device == kNoDevice) {
    return {"one device", "-", "no device holds what it can run, with a host for the rest"};
  }
  const double speed_up = outcome.speed_up();
  std::string verdict = "this placement is no faster";
  if (speed_up > kFaster) {
    verdict = fmt::format("this placement is {} as fast{}", format_factor(speed_up),
                          waits_for_the_last(outcome) ? ", by the loads alone" : "");
  } else if (speed_up < kSlower) {
    const Tool* const tool = outcome.tool;
    // Under a tool whose plans are runs of layers that policy is not asked.
    const bool asked =
        outcome.origin.policy != "tune" && (tool == nullptr || tool->order == nullptr);
    std::string hint = asked ? "; --policy single gives it" : "";
    if (asked && outcome.replicas != nullptr) hint += " without --replicate";
    verdict = can_have_single(outcome) ? fmt::format("FASTER than this placement, {} as fast{}",
                                                     format_factor(1 / speed_up), hint)
                                       : fmt::format("{} as fast, and no plan for {}",
                                                     format_factor(1 / speed_up), tool->name);
  }
  return {
      "one device", format_us(outcome.best_single.evaluation.objective_us),
      fmt::format("on {}: {}", single_device_text(*outcome.problem, outcome.best_single), verdict)};
}

/// The figures that decide, one per line.
std::string headline_text(const Outcome& outcome) {
  TextTable table({{""}, {"", Align::right}, {""}});
  const ProblemOptions& options = outcome.problem->options();
  if (is_throughput(outcome)) {
    table.add_row(
        {"largest load", format_us(outcome.evaluation.max_load_us),
         fmt::format("of {}, per step of a full pipeline", printable(pace_text(outcome)))});
    table.add_row({"runtime", format_us(outcome.trace.runtime_us), "of one step alone"});
  } else if (outcome.executed) {
    table.add_row({"runtime", format_us(outcome.evaluation.runtime_us), "of one step, measured"});
  } else {
    table.add_row({"runtime", format_us(outcome.trace.runtime_us),
                   fmt::format("of one step, {} semantics", semantics_name(options.semantics))});
  }
  table.add_row({"lower bound", std::isinf(outcome.gap()) ? "-" : format_us(outcome.bound.us),
                 gap_text(outcome)});
  table.add_row(single_cells(outcome));
  const std::string text = table.text(2);
  return text.substr(text.find('\n') + 1);  // the titles are empty
}

/// `memory_bytes`: what a placement may use.
std::string memory_text(std::int64_t peak_bytes, std::int64_t memory_bytes) {
  if (memory_bytes == kNoLimit) return format_bytes(peak_bytes);
  return fmt::format("{} of {}{}", format_bytes(peak_bytes), format_bytes(memory_bytes),
                     peak_bytes > memory_bytes ? "  TOO MUCH" : "");
}

std::string devices_text(const Outcome& outcome) {
  const Problem& problem = *outcome.problem;
  const double whole_us = outcome.whole_us();
  TextTable table({{"device"},
                   {"kind"},
                   {"ops", Align::right},
                   {is_throughput(outcome) ? "load" : "busy"},
                   {"", Align::right},
                   {"", Align::right},
                   {"peak memory"}});
  std::vector<std::int64_t> ops(outcome.evaluation.busy_us.size());
  for (const DeviceId device : outcome.placement) ++ops[static_cast<std::size_t>(device)];
  for (DeviceId id = 0; id < problem.cluster().device_count(); ++id) {
    const auto index = static_cast<std::size_t>(id);
    const Device& device = problem.cluster().device(id);
    const double busy_us = outcome.evaluation.busy_us[index];
    const double share = whole_us > 0 ? busy_us / whole_us : 0;
    table.add_row({device.name, device.kind, format_count(ops[index]), bar(share, kBarWidth),
                   format_percent(share), format_us(busy_us),
                   memory_text(outcome.evaluation.peak_bytes[index], problem.memory_bytes(id))});
  }
  return table.text(2);
}

std::string link_name(const Outcome& outcome, DeviceId src, DeviceId dst) {
  return device_name(outcome, src) + " -> " + device_name(outcome, dst);
}

std::string transfers_text(const Outcome& outcome) {
  if (outcome.trace.links.empty()) return "  " + no_transfers_text(outcome) + "\n";
  std::int64_t bytes = 0;
  std::int64_t transfers = 0;
  const LinkUsage* busiest = &outcome.trace.links.front();
  for (const LinkUsage& link : outcome.trace.links) {
    bytes += link.bytes;
    transfers += link.transfers;
    if (link.busy_us > busiest->busy_us) busiest = &link;
  }
  const Simplicity simplicity = simplicity_of(outcome.problem->graph(), outcome.placement);
  constexpr double kNoTimeUs = 0.0005;
  const std::string time =
      busiest->busy_us < kNoTimeUs
          ? "none of them takes time"
          : fmt::format("the busiest link, {}, carries {} in {}",
                        link_name(outcome, busiest->src, busiest->dst),
                        format_bytes(busiest->bytes), format_us(busiest->busy_us));
  return fmt::format("  {} cut{}; {} transfer{}, {}; {}.\n", format_count(simplicity.cuts),
                     simplicity.cuts == 1 ? "" : "s", format_count(transfers),
                     transfers == 1 ? "" : "s", format_bytes(bytes), time);
}

constexpr std::string_view kReasons[] = {"first", "its input", "the device", "the link"};
static_assert(ends_with(kReasons, CriticalStep::Reason::link_busy));

/// Why the search ended, as the end of a sentence; nothing where it did all that it does.
constexpr std::string_view kEnds[] = {"", ", proven best", ", its budget used up",
                                      ", stopped by you", ", which gave up"};
static_assert(ends_with(kEnds, SearchEnd::gave_up));

}  // namespace

std::string problem_text(const std::string& model, const Problem& problem) {
  const Graph& graph = problem.graph();
  std::string text = fmt::format(
      "{}: {} ops, {} of parameters, on {} ({} {}); costs: {}",
      std::filesystem::path(model).filename().string(), format_count(graph.op_count()),
      format_bytes(graph.total_param_bytes()), problem.cluster().name(),
      problem.cluster().device_count(),
      problem.cluster().device_count() == 1 ? "device" : "devices", problem.costs().source());
  if (problem.groups().count() != graph.op_count()) {
    text += fmt::format("; {} groups", format_count(problem.groups().count()));
  }
  return printable(text) + "\n";
}

std::string why_text(const Outcome& outcome) {
  const std::string waits = waits_text(outcome);
  if (waits.empty()) return {};
  return fmt::format("  {} {}.\n  {}\n", is_throughput(outcome) ? "Alone," : "Why:", waits,
                     advice_text(outcome));
}

std::string proven_text(const Outcome& outcome) {
  const double gap = outcome.gap_to(outcome.certificate->bound.us);
  if (std::isinf(gap)) return "nothing";
  if (gap < kReached) return "optimal";
  return fmt::format("at most {} above optimal", format_percent(gap));
}

std::string proof_text(const Outcome& outcome) {
  const Certificate& certificate = *outcome.certificate;
  std::string text = fmt::format("  Proven: {}. No feasible placement is below {}, because of\n",
                                 proven_text(outcome), format_us(certificate.bound.us));
  for (const std::string& each : certificate.rests_on) text += fmt::format("    {}\n", each);
  if (outcome.gap_to(certificate.bound.us) - outcome.gap() > kReached) {
    text += fmt::format("  The larger bound above, by the {}, has no certificate.\n",
                        outcome.bound.source);
  }
  return text;
}

std::string outcome_text(const Outcome& outcome) {
  std::string text = problem_text(outcome.origin.model, *outcome.problem);
  if (!outcome.origin.policy.empty()) {
    text += fmt::format("placed by {} (seed {}", outcome.origin.policy, outcome.origin.seed);
    if (outcome.search) {
      const SearchFigures& figures = *outcome.search;
      text += fmt::format(", {} placement{} tried", format_count(figures.evaluations),
                          figures.evaluations == 1 ? "" : "s");
      if (figures.simulated_ops > 0) {
        text += fmt::format(", {} ops simulated", format_count(figures.simulated_ops));
      }
      text += fmt::format(", in {}", format_us(outcome.search->wall_s * 1e6));
      text += name_of(kEnds, outcome.search->end);
    }
    text += ")\n";
    // Only for a placement from a file: a search has a note that says so.
    if (!outcome.search && !outcome.origin.whose.empty()) {
      text += printable("note: this placement is " + outcome.origin.whose) + "\n";
    }
    if (outcome.search) {
      for (const std::string& note : outcome.search->notes) {
        text += fmt::format("note: {}\n", printable(note));
      }
    }
  }
  text += "\n" + headline_text(outcome) + "\n" + devices_text(outcome) + "\n" +
          transfers_text(outcome) + why_text(outcome);
  if (outcome.certificate) text += "\n" + proof_text(outcome);
  if (!outcome.evaluation.feasible) {
    text += fmt::format("\n  DOES NOT FIT: {}.\n", excess_text(outcome));
  }
  return text;
}

std::string links_text(const Outcome& outcome) {
  std::vector<LinkUsage> links = outcome.trace.links;
  std::stable_sort(links.begin(), links.end(),
                   [](const LinkUsage& a, const LinkUsage& b) { return a.busy_us > b.busy_us; });
  TextTable table({{"link"},
                   {"transfers", Align::right},
                   {"bytes", Align::right},
                   {"busy"},
                   {"", Align::right},
                   {"", Align::right}});
  for (const LinkUsage& link : links) {
    const double share = outcome.trace.runtime_us > 0 ? link.busy_us / outcome.trace.runtime_us : 0;
    table.add_row({link_name(outcome, link.src, link.dst), format_count(link.transfers),
                   format_bytes(link.bytes), bar(share, kBarWidth), format_percent(share),
                   format_us(link.busy_us)});
  }
  return links.empty() ? std::string() : table.text(2);
}

std::string critical_path_text(const Outcome& outcome) {
  constexpr std::size_t kMostRows = 15;
  const Graph& graph = outcome.problem->graph();
  std::vector<CriticalStep> steps = outcome.trace.critical_path;
  std::stable_sort(steps.begin(), steps.end(), [](const CriticalStep& a, const CriticalStep& b) {
    return a.end_us - a.start_us > b.end_us - b.start_us;
  });
  const std::size_t shown = std::min(kMostRows, steps.size());
  TextTable table(
      {{"lasts", Align::right}, {"from", Align::right}, {"where"}, {"what"}, {"waited for"}});
  for (const CriticalStep& step : std::span(steps).first(shown)) {
    std::string where;
    std::string what;
    if (step.op == kNoOp) {
      const Transfer& transfer = outcome.trace.transfers[static_cast<std::size_t>(step.transfer)];
      where = link_name(outcome, transfer.src, transfer.dst);
      what = fmt::format("{} of {}{}", format_bytes(transfer.bytes),
                         sends_weights(outcome.problem->cluster(), transfer) ? "weights of " : "",
                         graph.op_name(transfer.producer));
    } else {
      const DeviceId device = outcome.placement[static_cast<std::size_t>(step.op)];
      where = device_name(outcome, outcome.problem->cluster().works_in(device));
      what = fmt::format("{} ({})", graph.op_name(step.op), graph.op_type(step.op));
    }
    table.add_row({format_us(step.end_us - step.start_us), format_us(step.start_us), where, what,
                   std::string(name_of(kReasons, step.reason))});
  }
  return fmt::format("  The step waited for {} ops and transfers in a row; the longest {}:\n",
                     format_count(static_cast<std::int64_t>(steps.size())), shown) +
         table.text(2);
}

}  // namespace berth::command
