// `berth measure`: a stored placement, executed.
#include <spdlog/fmt/fmt.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "berth/backend.h"
#include "berth/files.h"
#include "console.h"
#include "execution.h"
#include "model_options.h"
#include "outcome.h"
#include "report_file.h"
#include "subcommands.h"
#include "support/units.h"
#include "targets.h"
#include "text_table.h"

namespace berth::command {
namespace {

using Json = nlohmann::ordered_json;
using Align = TextTable::Align;

struct MeasureChoices {
  ModelOptions model;
  ProblemChoices choices;
  RepeatChoices repeats;
  std::string backend;
  std::string placement;
  std::string trace;
  std::string svg;
  std::string report;
  bool json = false;
};

/// What was measured, and what the costs make of the same placement.
struct Measured {
  Outcome outcome;  ///< with the trace of the step nearest to the median
  Measurement measurement;
  double simulated_us;
};

std::string runtime_text(const Measured& measured) {
  const Measurement& of = measured.measurement;
  TextTable table({{""}, {"", Align::right}, {""}});
  table.add_row(
      {"runtime", format_us(of.mean_us),
       fmt::format("of one step: the mean of {}, deviation {}, {} to {}", of.steps_us.size(),
                   format_us(of.deviation_us), format_us(of.min_us), format_us(of.max_us))});
  table.add_row({"simulated", format_us(measured.simulated_us),
                 fmt::format("by the costs of {}", measured.outcome.problem->costs().source())});
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
          {"steps_us", of.steps_us},
          {"simulated_us", measured.simulated_us},
          {"costs", problem.costs().source()},
          {"policy", measured.outcome.origin.policy},
          {"seed", measured.outcome.origin.seed},
          {"devices", std::move(devices)}};
}

Measured measure_stored(const MeasureChoices& options) {
  Engine engine;
  const Execution execution = load_execution(engine, options.model, options.backend);
  const auto problem = make_problem(engine, execution, options.choices);
  const std::string file = read_file(options.placement);
  Measured measured;
  measured.outcome.problem = problem;
  measured.outcome.origin = stored_origin(options.model.model, file);
  measured.outcome.placement =
      parse_placement(file, options.placement, problem->graph(), problem->cluster());
  problem->validate(measured.outcome.placement);

  const auto session = open_session(execution, *problem, options.repeats.options.seed);
  const InterruptGuard guard;
  const Stage stage("measuring " + options.model.model);
  MeasureOptions repeats = options.repeats.options;
  repeats.trace = true;
  measured.measurement = measure(*session, measured.outcome.placement, repeats);
  measured.outcome.trace = std::move(measured.measurement.step.trace);
  measured.simulated_us = Simulator(problem).trace(measured.outcome.placement).runtime_us;
  measured.outcome.executed = true;
  Evaluation& evaluation = measured.outcome.evaluation;
  evaluation.objective_us = evaluation.runtime_us = measured.measurement.mean_us;
  evaluation.peak_bytes = measured.measurement.peak_bytes;
  for (const DeviceUsage& device : measured.outcome.trace.devices) {
    evaluation.busy_us.push_back(device.busy_us);
  }
  return measured;
}

int run_measure(const MeasureChoices& options) {
  std::vector<Target> targets;
  if (!options.trace.empty()) targets.push_back({"--trace", options.trace});
  if (!options.svg.empty()) targets.push_back({"--svg", options.svg});
  if (!options.report.empty()) targets.push_back({"--report", options.report});
  std::vector<Input> inputs = input_files(options.model, options.choices);
  inputs.push_back({"the placement", options.placement});
  check_targets(targets, inputs);

  const Measured measured = measure_stored(options);
  const Outcome& outcome = measured.outcome;
  if (!options.trace.empty()) {
    write_target(options.trace, trace_json(*outcome.problem, outcome.placement, outcome.trace));
  }
  if (!options.svg.empty()) {
    write_target(options.svg, timeline_svg(*outcome.problem, outcome.placement, outcome.trace));
  }
  if (!options.report.empty()) write_report(options.report, outcome);
  if (options.json) {
    print(json_text(measured_json(measured, options.backend)));
    return 0;
  }
  print(problem_text(outcome.origin.model, *outcome.problem) + runtime_text(measured) + "\n" +
        devices_text(measured) + "\n" + links_text(outcome) + "\n" + critical_path_text(outcome));
  return 0;
}

}  // namespace

void add_measure(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand("measure", "execute a stored placement and time it");
  const auto options = std::make_shared<MeasureChoices>();
  options->model.add_to(*sub);
  add_backend(*sub, options->backend)->required();
  add_file(*sub, "--placement", options->placement,
           "a berth.placement/1 file, as `berth place -o` writes it")
      ->required();
  options->choices.add_machine_to(*sub);
  options->repeats.add_to(*sub, /*least=*/1);
  add_file(*sub, "--trace", options->trace,
           "write the step here as a Chrome trace, which ui.perfetto.dev opens");
  add_file(*sub, "--svg", options->svg, "draw the step here: devices, links, critical path (SVG)");
  add_file(*sub, "--report", options->report, "write a page that shows the placement here (HTML)");
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
