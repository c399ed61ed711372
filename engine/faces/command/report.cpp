// `berth report`: one page that shows a placement, or two side by side.
#include "berth/report.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/bound_effort.h"
#include "berth/error.h"
#include "berth/run.h"
#include "command_run.h"
#include "compare_report.h"
#include "console.h"
#include "outcome.h"
#include "report_file.h"
#include "setting_options.h"
#include "subcommands.h"
#include "targets.h"

namespace berth::command {
namespace {

struct ReportOptions {
  SettingOptions settings;
  std::vector<std::string> placements;
  std::string output;
};

/// Stored placements, in the order in which they were named.
Report stored_report(CommandRun& run, const ReportOptions& options,
                     const std::vector<StoredPlacement>& placements) {
  const Task task =
      load_task(run.engine(), options.settings.model, run.settings(), placed(run.hooks()));
  Report report;
  for (const StoredPlacement& stored : placements) {
    note_other_machine(task, stored);
    report.placements.push_back({std::filesystem::path(stored.path).filename().string(),
                                 simulate(task, stored, bound_effort(run.settings()))});
  }
  return report;
}

/// One policy with its fallbacks, or several of which each has its share of the budget: it is the
/// page's.
std::vector<ComparedPolicy> searched(CommandRun& run, const std::string& model) {
  Settings settings = run.settings();
  if (!settings.policies) {
    ComparedPolicy only;
    only.outcome = berth::run(run.engine(), model, settings, run.hooks());
    only.policy = only.outcome->origin.policy;
    return {std::move(only)};
  }
  if (settings.budget_s) *settings.budget_s /= static_cast<double>(settings.policies->size());
  std::vector<ComparedPolicy> rows = compare(run.engine(), model, settings, run.hooks());
  sort_rows(rows);
  return rows;
}

/// Refuses on the command line what says nothing in this run, and leaves it out of files.
void check_options(ReportOptions& options) {
  SettingOptions& settings = options.settings;
  const Settings& given = settings.given;
  if (options.placements.size() > 2) {
    throw CLI::ValidationError("report", "a page shows one placement, or two side by side");
  }
  if (!options.placements.empty()) {
    settings.leave_out(SettingGroup::search, kNoSearch, "bound");
    settings.leave_out(SettingGroup::measuring, kNoSearch);
    settings.leave_out({"policies", "log"}, kNoSearch);
    return;
  }
  if (!given.policies) {
    if (given.policy) settings.leave_out({"policies"}, {});  // a file's
    return;
  }
  settings.leave_out({"fallbacks"}, "each of --policies is asked by itself; leave it out");
  const auto& policies = *given.policies;
  if (given.policy &&
      std::find(policies.begin(), policies.end(), *given.policy) == policies.end()) {
    throw CLI::ValidationError("--policy",
                               fmt::format("'{}' is not among --policies; name it there, "
                                           "or leave one of the two out",
                                           *given.policy));
  }
  if (!given.options.empty() && !given.policy) {
    throw CLI::ValidationError("--set", "options are of one policy; say of which with --policy");
  }
}

int run_report(ReportOptions& options) {
  check_options(options);
  std::vector<StoredPlacement> placements;
  for (const std::string& path : options.placements) placements.push_back(read_placement(path));
  CommandRun run(
      options.settings.merged(placements.empty() ? Settings() : placements.front().settings));
  const Settings& settings = run.settings();
  require_cluster(settings);
  std::vector<Input> inputs;
  for (const std::string& path : options.placements) inputs.push_back({"the placement", path});
  std::vector<Target> targets = {{"-o", options.output}};
  add_target(targets, "--log", settings.log);
  options.settings.check_files(run.engine(), settings, targets, std::move(inputs));
  if (!placements.empty()) {
    write_report(options.output, stored_report(run, options, placements), settings);
  } else {
    const std::vector<ComparedPolicy> rows = searched(run, options.settings.model);
    if (interrupted(rows)) log_warning("interrupted: the policies had unequal times");
    if (!rows.front().outcome) throw Error(rows.front().code, rows.front().failure);
    Report report;
    add_rows(report, rows);
    write_report(options.output, report, settings);
  }
  print(fmt::format("wrote {}; open it in a browser\n", options.output));
  return run.log_is_whole() ? 0 : 1;
}

}  // namespace

void add_rows(Report& report, const std::vector<ComparedPolicy>& rows) {
  for (const ComparedPolicy& row : rows) {
    const Outcome* const outcome = row.outcome ? &*row.outcome : nullptr;
    report.policies.push_back({row.policy, outcome, row.failure});
    if (report.placements.empty() && outcome != nullptr) {
      report.placements.push_back({row.policy, *outcome});
    }
  }
}

void write_report(const std::filesystem::path& path, const Report& report,
                  const Settings& settings) {
  const Stage stage("writing " + path.string());
  const double within_s = settings.budget_s.value_or(std::numeric_limits<double>::infinity());
  write_target(path, report_html(report, bound_stop(&InterruptGuard::interrupted, within_s)));
}

void write_report(const std::filesystem::path& path, const Outcome& outcome,
                  const Settings& settings) {
  write_report(path, Report{{{outcome.origin.policy, outcome}}, {}}, settings);
}

void add_report(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand("report", "show a placement, or two, as one page to look at");
  const auto options = std::make_shared<ReportOptions>();
  SettingOptions& settings = options->settings;
  settings.add_model(*sub);
  sub->add_option("PLACEMENT", options->placements,
                  "show this berth.placement/1 file, or two of them side by side");
  settings.add(*sub, SettingGroup::machine);
  settings.add(*sub, SettingGroup::problem);
  settings.add(*sub, SettingGroup::search);
  settings.add(*sub, SettingGroup::measuring);
  settings.add(*sub, {"policies", "log"});
  settings.add_config(*sub);
  add_file(*sub, "-o,--output", options->output, "write the page here")->required();
  sub->footer(
      "Examples:\n"
      "  berth report model.onnx --cluster k80x4 --budget 10s -o report.html\n"
      "  berth report model.onnx placement.json --cluster k80x4 -o report.html\n"
      "  berth report model.onnx mine.json theirs.json --cluster k80x4 -o moved.html\n"
      "  berth report model.onnx --cluster k80x4 --policies single,topo,auto -o report.html\n"
      "Without a placement and --policies, --policy is asked, auto by default. Several policies\n"
      "share the budget equally; --set is for the one of them that --policy names, too.\n"
      "The page needs no network and no other file. It shows the graph folded by the scopes of\n"
      "its op names, the step over time, memory, transfers and constraints, and for an op where\n"
      "it is, why, and what elsewhere would cost. `berth place --report FILE` writes it too, as "
      "do\n"
      "compare, simulate and measure.");
  sub->callback([&chosen, options] { chosen = [options] { return run_report(*options); }; });
}

}  // namespace berth::command
