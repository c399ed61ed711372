// `berth compare`: many policies on one problem, best first.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "berth/error.h"
#include "berth/run.h"
#include "command_run.h"
#include "compare_report.h"
#include "compare_sweep.h"
#include "console.h"
#include "outcome.h"
#include "report_file.h"
#include "setting_options.h"
#include "subcommands.h"
#include "targets.h"

namespace berth::command {
namespace {

struct CompareOptions {
  SettingOptions settings;
  bool json = false;
};

/// A page and a log show one machine and one seed.
void check_sweep(const Settings& settings) {
  if (settings.report) {
    throw CLI::ValidationError("--report", "a page shows one machine and one seed");
  }
  if (settings.log) throw CLI::ValidationError("--log", "a log is of one machine and one seed");
  if (!settings.cluster && !settings.clusters) {
    throw CLI::ValidationError("--clusters", "which machines? Name presets of `berth devices`");
  }
}

int run_sweep(CommandRun& run, const CompareOptions& options, Written& written) {
  const Settings& settings = run.settings();
  std::vector<SweepRun> runs;
  std::size_t cut_short = 0;
  static_cast<void>(
      compare(run.engine(), options.settings.model, settings, run.hooks(), [&](ComparedPolicy row) {
        cut_short += interrupted({&row, 1}) ? 1 : 0;
        runs.push_back(sweep_run(row));
      }));
  share_bounds(runs);
  if (settings.csv) {
    written.attempt("--csv", [&] { write_target(*settings.csv, sweep_csv(runs)); });
  }
  const bool throughput = settings.objective == Objective::throughput;
  print(options.json ? json_text(sweep_json(runs))
                     : sweep_text(options.settings.model, runs, throughput));
  // Medians over runs of which some were cut short are no result.
  if (cut_short > 0) {
    throw Error(ErrorCode::cancelled,
                fmt::format("interrupted: {} of {} runs were cut short or not made; run it again",
                            cut_short, runs.size()));
  }
  if (std::none_of(runs.begin(), runs.end(), [](const SweepRun& each) { return each.fits; })) {
    throw Error(ErrorCode::infeasible,
                "no policy found a placement that fits, on any cluster; try machines with more "
                "memory, a smaller model or other policies");
  }
  return written.exit_status();
}

int run_compare(const CompareOptions& options) {
  CommandRun run(options.settings.merged());
  const Settings& settings = run.settings();
  std::vector<Target> targets;
  add_target(targets, "--csv", settings.csv);
  add_target(targets, "--report", settings.report);
  add_target(targets, "--log", settings.log);
  options.settings.check_files(run.engine(), settings, targets);
  Written written(targets);
  if (is_sweep(settings)) {
    check_sweep(settings);
    return run_sweep(run, options, written);
  }
  require_cluster(settings);
  std::vector<ComparedPolicy> rows =
      compare(run.engine(), options.settings.model, settings, run.hooks());
  sort_rows(rows);
  if (settings.csv) {
    written.attempt("--csv", [&] { write_target(*settings.csv, compare_csv(rows)); });
  }
  if (settings.report && rows.front().outcome) {
    Report report;
    add_rows(report, rows);
    written.attempt("--report", [&] { write_report(*settings.report, report, settings); });
  }
  if (!run.log_is_whole()) written.lose("--log");
  print(options.json ? json_text(compare_json(rows)) : compare_text(rows));
  if (!rows.front().fits()) {
    throw Error(ErrorCode::infeasible,
                "no policy found a placement that fits; try a machine with more memory, a smaller "
                "model or another policy");
  }
  return written.exit_status();
}

}  // namespace

void add_compare(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand("compare", "try many policies and rank them");
  const auto options = std::make_shared<CompareOptions>();
  SettingOptions& settings = options->settings;
  settings.add_model(*sub);
  settings.add(*sub, SettingGroup::machine);
  settings.add(*sub, SettingGroup::problem);
  settings.add(*sub, SettingGroup::comparison);
  settings.add(*sub, {"seed", "threads", "budget", "moves", "within", "start", "bound"});
  settings.add(*sub, SettingGroup::measuring);
  settings.add_config(*sub);
  settings.add(*sub, {"csv", "report", "log"});
  settings.serve({"policy", "options"});  // the options are of that one of the policies
  sub->add_flag("--json", options->json,
                "print one JSON object on standard output: the best placement, and all policies");
  sub->footer(
      "Examples:\n"
      "  berth compare model.onnx --cluster k80x4\n"
      "  berth compare model.onnx --cluster k80x4 --policies single,topo,scotch --budget 30s\n"
      "  berth compare model.onnx --clusters k80x4,v100x8 --seeds 0..4 --csv runs.csv\n"
      "A policy that fails gets a row with the reason. Each policy has the whole budget.\n"
      "Ctrl-C ends the running policy, keeps its best placement so far, and shows the results.");
  sub->callback([&chosen, options] { chosen = [options] { return run_compare(*options); }; });
}

}  // namespace berth::command
