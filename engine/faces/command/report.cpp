// `berth report`: one page that shows a placement, or two side by side.
#include "berth/report.h"

#include <spdlog/fmt/fmt.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/engine.h"
#include "berth/error.h"
#include "berth/files.h"
#include "berth/support/text.h"
#include "compare_report.h"
#include "console.h"
#include "execution.h"
#include "model_options.h"
#include "outcome.h"
#include "report_file.h"
#include "scripts.h"
#include "search.h"
#include "subcommands.h"
#include "targets.h"

namespace berth::command {
namespace {

constexpr const char* kDefaultPolicy = "auto";

struct ReportOptions {
  ModelOptions model;
  ProblemChoices choices;
  SearchChoices search;
  std::vector<std::string> placements;
  std::vector<std::string> policies;
  std::string config;
  std::string output;
};

/// Stored placements, in the order in which they were named.
std::vector<ReportedPlacement> stored(const ReportOptions& options,
                                      const std::shared_ptr<const Problem>& problem) {
  std::vector<ReportedPlacement> placements;
  for (const std::string& path : options.placements) {
    const std::string file = read_file(path);
    Placement placement = parse_placement(file, path, problem->graph(), problem->cluster());
    placements.push_back({std::filesystem::path(path).filename().string(),
                          simulated_outcome(problem, stored_origin(options.model.model, file),
                                            std::move(placement))});
  }
  return placements;
}

std::vector<CompareRow> searched(Engine& engine, const ReportOptions& options,
                                 const std::shared_ptr<const Problem>& problem) {
  NamedPolicies maker(engine);
  const InterruptGuard guard;
  Search search(problem, nullptr, options.choices, options.search);
  std::vector<CompareRow> rows;
  for (const std::string& name : options.policies) {
    CompareRow row{name, std::nullopt, {}};
    try {
      const std::unique_ptr<Policy> policy = maker.make(name, {});
      row.outcome = search.run(*policy, {options.model.model, name, maker.resolved(name, {}), 0});
    } catch (const Error& error) {
      if (options.policies.size() == 1) throw;
      row.failure = error.what();
    }
    rows.push_back(std::move(row));
  }
  sort_rows(rows);
  return rows;
}

int run_report(ReportOptions options) {
  if (options.placements.size() > 2) {
    throw CLI::ValidationError("report", "a page shows one placement, or two side by side");
  }
  if (!options.placements.empty() && !options.policies.empty()) {
    throw CLI::ValidationError("report", "name either placements or --policies to make one");
  }
  const Settings settings = read_settings(options.config);
  const std::unique_ptr<Engine> owned = make_engine(settings);
  Engine& engine = *owned;
  fill_in(settings, options.model, options.choices, options.search);
  if (options.search.log.empty()) options.search.log = config_text(settings, "log").value_or("");
  std::vector<Input> inputs = input_files(options.model, options.choices);
  for (const std::string& path : options.placements) inputs.push_back({"the placement", path});
  std::vector<Target> targets = {{"-o", options.output}};
  if (!options.search.log.empty()) targets.push_back({"--log", options.search.log});
  check_targets(targets, inputs);
  if (options.placements.empty() && options.policies.empty()) options.policies = {kDefaultPolicy};

  const auto problem = make_problem(engine, options.model, options.choices);
  Report report;
  report.placements = stored(options, problem);
  const std::vector<CompareRow> rows = searched(engine, options, problem);
  add_rows(report, rows);
  write_report(options.output, report);
  print(fmt::format("wrote {}; open it in a browser\n", options.output));
  return 0;
}

}  // namespace

void add_rows(Report& report, const std::vector<CompareRow>& rows) {
  for (const CompareRow& row : rows) {
    const Outcome* const outcome = row.outcome ? &*row.outcome : nullptr;
    report.policies.push_back({row.policy, outcome, row.failure});
    if (report.placements.empty() && outcome != nullptr) {
      report.placements.push_back({row.policy, *outcome});
    }
  }
}

void write_report(const std::filesystem::path& path, const Report& report) {
  const Stage stage("writing " + path.string());
  write_target(path, report_html(report));
}

void write_report(const std::filesystem::path& path, const Outcome& outcome) {
  write_report(path, Report{{{outcome.origin.policy, outcome}}, {}});
}

void add_report(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand("report", "show a placement, or two, as one page to look at");
  const auto options = std::make_shared<ReportOptions>();
  options->model.add_to(*sub);
  sub->add_option("PLACEMENT", options->placements,
                  "show this berth.placement/1 file, or two of them side by side");
  options->choices.add_to(*sub, /*searches=*/true);
  sub->add_option_function<std::string>(
         "--policies",
         [options = options.get()](const std::string& list) {
           options->policies = split_names(list);
         },
         "show the best placement of these policies, separated by commas, and all of them in a "
         "table; default, where no placement is named: auto")
      ->type_name("A,B,C");
  options->search.add_to(*sub);
  options->search.add_log_to(*sub);
  add_file(*sub, "--config", options->config,
           "a file of settings, berth.settings/1 or Lua; the command line overrides it");
  add_file(*sub, "-o,--output", options->output, "write the page here")->required();
  sub->footer(
      "Examples:\n"
      "  berth report model.onnx --cluster k80x4 --budget 10s -o report.html\n"
      "  berth report model.onnx placement.json --cluster k80x4 -o report.html\n"
      "  berth report model.onnx mine.json theirs.json --cluster k80x4 -o moved.html\n"
      "  berth report model.onnx --cluster k80x4 --policies single,topo,auto -o report.html\n"
      "The page needs no network and no other file. It shows the graph folded by the scopes of\n"
      "its op names, the step over time, memory, transfers and constraints, and for an op where\n"
      "it is, why, and what elsewhere would cost. place, compare, simulate and measure write it\n"
      "too: --report FILE.");
  sub->callback([&chosen, options] { chosen = [options] { return run_report(*options); }; });
}

}  // namespace berth::command
