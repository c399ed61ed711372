// `berth simulate`: one step of a stored placement, with everything there is to know of it.
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "berth/run.h"
#include "command_run.h"
#include "console.h"
#include "outcome.h"
#include "plan_targets.h"
#include "setting_options.h"
#include "subcommands.h"
#include "targets.h"

namespace berth::command {
namespace {

struct SimulateOptions {
  SettingOptions settings;
  std::string placement;
  bool json = false;
};

int run_simulate(const SimulateOptions& options) {
  const StoredPlacement stored = read_placement(options.placement);
  CommandRun run(options.settings.merged(stored.settings));
  const Settings& settings = run.settings();
  require_cluster(settings);
  const PlanTargets plans(settings);
  std::vector<Target> targets;
  plans.add_to(targets);
  add_target(targets, "--trace", settings.trace);
  add_target(targets, "--svg", settings.svg);
  add_target(targets, "--report", settings.report);
  options.settings.check_files(run.engine(), settings, targets,
                               {{"the placement", options.placement}});

  const auto frontend = plans.writer_of_model(run.engine(), options.settings.model, settings);
  const Task task = load_task(run.engine(), options.settings.model, settings, placed(run.hooks()));
  const Outcome outcome = simulate(task, stored, bound_effort(settings));
  note_other_machine(task, stored);
  Written written(targets);
  written.write_step(settings, outcome);
  plans.write(options.settings.model, frontend.get(), outcome, written);
  if (options.json) {
    print(json_text(outcome_json(outcome)));
  } else {
    print(outcome_text(outcome) + "\n" + links_text(outcome) + "\n" + critical_path_text(outcome));
  }
  return written.exit_status();
}

}  // namespace

void add_simulate(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand("simulate", "simulate one step of a stored placement");
  const auto options = std::make_shared<SimulateOptions>();
  SettingOptions& settings = options->settings;
  settings.add_model(*sub);
  settings.add(*sub, SettingGroup::machine);
  settings.add(*sub, SettingGroup::problem);
  settings.add(*sub, {"bound"});
  settings.add_config(*sub);
  add_file(
      *sub, "--placement", options->placement,
      "a berth.placement/1 file, as `berth place -o` writes it; machine, dimensions, costs and "
      "constraints are as it says where nothing else is said")
      ->required();
  add_write(*sub, settings);
  settings.add(*sub, {"annotate", "trace", "svg", "report"});
  sub->add_flag("--json", options->json, "print one JSON object on standard output");
  sub->footer(
      "Examples:\n"
      "  berth simulate model.onnx --placement placement.json\n"
      "  berth simulate model.onnx --cluster v100x8 --placement placement.json --trace step.json\n"
      "A placement that does not fit in memory is simulated too, and reported as such; the exit\n"
      "status is 0.");
  sub->callback([&chosen, options] { chosen = [options] { return run_simulate(*options); }; });
}

}  // namespace berth::command
