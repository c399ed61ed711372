// `berth measure`: a stored placement, executed.
#include <spdlog/fmt/fmt.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "berth/backend.h"
#include "berth/files.h"
#include "berth/run.h"
#include "command_run.h"
#include "console.h"
#include "execution.h"
#include "outcome.h"
#include "setting_options.h"
#include "subcommands.h"
#include "support/units.h"
#include "targets.h"
#include "text_table.h"

namespace berth::command {
namespace {

using Json = nlohmann::ordered_json;
using Align = TextTable::Align;

struct MeasureChoices {
  SettingOptions settings;
  RepeatChoices repeats;
  std::string placement;
  bool json = false;
};

/// A measurement, and the simulation of the same placement under the costs.
struct Measured {
  Outcome outcome;  ///< with the trace of the step nearest to the median
  Measurement measurement;
  /// The costs in force say it. Absent where the placement was made by measuring and no costs are named:
  /// a roofline had no part in it.
  std::optional<double> simulated_us;
  double recorded_us = 0;  ///< when the placement was made, where that was measured; else 0
};

std::string runtime_text(const Measured& measured) {
  const Measurement& of = measured.measurement;
  TextTable table({{""}, {"", Align::right}, {""}});
  table.add_row(
      {"runtime", format_us(of.mean_us),
       fmt::format("of one step: the mean of {}, known to {}; deviation {}, {} to {}",
                   of.steps_us.size(), format_percent(of.interval_us / of.mean_us),
                   format_us(of.deviation_us), format_us(of.min_us), format_us(of.max_us))});
  if (measured.recorded_us > 0) {
    table.add_row({"recorded", format_us(measured.recorded_us),
                   "when it was placed, measured on " + measured.outcome.origin.measured_on});
  }
  if (measured.simulated_us) {
    table.add_row({"simulated", format_us(*measured.simulated_us),
                   fmt::format("by the costs of {}", measured.outcome.problem->costs().source())});
  }
  const std::string text = table.text(2);
  return text.substr(text.find('\n') + 1);  // the titles are empty
}

std::string devices_text(const Measured& measured) {
  TextTable table(
      {{"device"}, {"busy", Align::right}, {"", Align::right}, {"peak memory", Align::right}});
  const Cluster& cluster = measured.outcome.problem->cluster();
  const StepTrace& trace = measured.outcome.trace;
  for (DeviceId d = 0; d < cluster.device_count(); ++d) {
    const auto i = static_cast<std::size_t>(d);
    table.add_row({cluster.device(d).name, format_us(trace.devices[i].busy_us),
                   format_percent(trace.devices[i].busy_us / trace.runtime_us),
                   format_bytes(measured.measurement.peak_bytes[i])});
  }
  return table.text(2);
}

Json measured_json(const Measured& measured, const std::string& backend) {
  const Measurement& of = measured.measurement;
  const Problem& problem = *measured.outcome.problem;
  Json devices = Json::array();
  for (DeviceId d = 0; d < problem.cluster().device_count(); ++d) {
    const auto i = static_cast<std::size_t>(d);
    devices.push_back({{"name", problem.cluster().device(d).name},
                       {"busy_us", measured.outcome.trace.devices[i].busy_us},
                       {"peak_bytes", of.peak_bytes[i]}});
  }
  return {{"model", measured.outcome.origin.model},
          {"backend", backend},
          {"feasible", true},
          {"runtime_us", of.mean_us},
          {"median_us", of.median_us},
          {"deviation_us", of.deviation_us},
          {"interval_us", of.interval_us},
          {"steps_us", of.steps_us},
          {"simulated_us", measured.simulated_us ? Json(*measured.simulated_us) : Json()},
          {"recorded_us", measured.recorded_us > 0 ? Json(measured.recorded_us) : Json()},
          {"costs", problem.costs().source()},
          {"policy", measured.outcome.origin.policy},
          {"seed", measured.outcome.origin.seed},
          {"devices", std::move(devices)},
          {"notes", measured.outcome.notes}};
}

/// All that is in force, for measuring. The placement's machine counts where the backend has its
/// devices: what is measured is the backend.
Settings settings_of(CommandRun& run, const MeasureChoices& options,
                     const StoredPlacement& stored) {
  const std::string backend = required_backend(run.settings());
  Settings weakest = stored.settings;
  weakest.tool.reset();  // rules of a search
  weakest.soft.reset();
  if (weakest.cluster && load_cluster(*weakest.cluster)->device_names() !=
                             make_backend(run.engine(), backend)->cluster()->device_names()) {
    weakest.cluster.reset();
  }
  Settings settings = std::move(weakest);
  settings.add(run.settings());
  settings.evaluator = EvaluatorKind::measure;
  settings.seed = options.repeats.options.seed;
  settings.objective.reset();
  return settings;
}

Measured measure_stored(CommandRun& run, const Settings& settings, const MeasureChoices& options,
                        const StoredPlacement& stored) {
  const Task task = load_task(run.engine(), options.settings.model, settings, placed(run.hooks()));
  note_other_machine(task, stored);
  const std::shared_ptr<const Problem>& problem = task.problem;
  Measured measured;
  measured.outcome.problem = problem;
  measured.outcome.origin = stored.origin;
  measured.outcome.origin.model = task.model;
  measured.outcome.notes = task.notes;
  measured.outcome.placement =
      parse_placement(stored.text, stored.path, problem->graph(), problem->cluster());
  problem->validate(measured.outcome.placement);

  const InterruptGuard guard;
  const Stage stage("measuring " + task.model);
  MeasureOptions repeats = options.repeats.options;
  repeats.trace = true;
  measured.measurement = measure(*task.session, measured.outcome.placement, repeats);
  measured.outcome.trace = std::move(measured.measurement.step.trace);
  for (const std::string& note : measured.measurement.notes) {
    log_note(note);
    measured.outcome.notes.push_back(note);
  }
  const bool was_measured = !stored.origin.measured_on.empty();
  if (was_measured) measured.recorded_us = stored.runtime_us;
  if (!was_measured || settings.costs) {
    if (std::string note = separated_text(task, measured.outcome.placement); !note.empty()) {
      log_note(note);
      measured.outcome.notes.push_back(std::move(note));
    }
    measured.simulated_us = Simulator(problem).trace(measured.outcome.placement).runtime_us;
  }
  measured.outcome.executed = true;
  Evaluation& evaluation = measured.outcome.evaluation;
  evaluation.objective_us = evaluation.runtime_us = measured.measurement.mean_us;
  evaluation.peak_bytes = measured.measurement.peak_bytes;
  evaluation.busy_us = measured.measurement.step.busy_us;
  return measured;
}

int run_measure(const MeasureChoices& options) {
  const StoredPlacement stored = read_placement(options.placement);
  CommandRun run(options.settings.merged());
  const Settings settings = settings_of(run, options, stored);
  std::vector<Target> targets;
  add_target(targets, "--trace", settings.trace);
  add_target(targets, "--svg", settings.svg);
  add_target(targets, "--report", settings.report);
  options.settings.check_files(run.engine(), settings, targets,
                               {{"the placement", options.placement}});

  const Measured measured = measure_stored(run, settings, options, stored);
  const Outcome& outcome = measured.outcome;
  Written written(targets);
  written.write_step(settings, outcome);
  if (options.json) {
    print(json_text(measured_json(measured, *settings.backend)));
    return written.exit_status();
  }
  print(problem_text(outcome.origin.model, *outcome.problem) + runtime_text(measured) + "\n" +
        devices_text(measured) + "\n" + links_text(outcome) + "\n" + critical_path_text(outcome));
  return written.exit_status();
}

}  // namespace

void add_measure(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand("measure", "execute a stored placement and time it");
  const auto options = std::make_shared<MeasureChoices>();
  SettingOptions& settings = options->settings;
  settings.add_model(*sub);
  settings.add(*sub, {"backend"});
  add_file(*sub, "--placement", options->placement,
           "a berth.placement/1 file, as `berth place -o` writes it; dimensions, costs and "
           "constraints are as it says where nothing else is said")
      ->required();
  settings.add(*sub, SettingGroup::machine);
  options->repeats.add_to(*sub, /*least=*/1);
  sub->add_option(
         "--precision", options->repeats.options.precision,
         "steps go on until the mean is known to this share of it with 95 % confidence, for "
         "1,000 steps at most, such as 0.01; 0 = no more than --repeats")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 0.999))
      ->type_name("SHARE");
  settings.add_config(*sub);
  settings.add(*sub, {"trace", "svg", "report"});
  sub->add_flag("--json", options->json, "print one JSON object on standard output");
  sub->footer(
      "Examples:\n"
      "  berth measure model.onnx --backend cpu --placement placement.json\n"
      "  berth measure model.onnx --backend cpu --placement placement.json \\\n"
      "      --costs costs.json --cluster machine.json        with the profile's prediction\n"
      "The trace shows the step whose runtime is nearest to the median.");
  sub->callback([&chosen, options] { chosen = [options] { return run_measure(*options); }; });
}

}  // namespace berth::command
