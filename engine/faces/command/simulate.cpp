// `berth simulate`: one step of a stored placement, with everything there is to know of it.
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "berth/files.h"
#include "console.h"
#include "model_options.h"
#include "outcome.h"
#include "plan_targets.h"
#include "report_file.h"
#include "subcommands.h"
#include "targets.h"

namespace berth::command {
namespace {

struct SimulateOptions {
  ModelOptions model;
  ProblemChoices choices;
  std::string placement;
  std::string trace;
  std::string svg;
  std::string report;
  PlanTargets plans;
  bool json = false;
};

int run_simulate(const SimulateOptions& options) {
  std::vector<Target> targets;
  options.plans.add_to(targets);
  if (!options.trace.empty()) targets.push_back({"--trace", options.trace});
  if (!options.svg.empty()) targets.push_back({"--svg", options.svg});
  if (!options.report.empty()) targets.push_back({"--report", options.report});
  std::vector<Input> inputs = input_files(options.model, options.choices);
  inputs.push_back({"the placement", options.placement});
  check_targets(targets, inputs);

  Engine engine;
  const auto frontend = options.plans.writer_of_model(engine, options.model.model);
  const auto problem = make_problem(engine, options.model, options.choices);
  const std::string file = read_file(options.placement);
  Placement placement =
      parse_placement(file, options.placement, problem->graph(), problem->cluster());
  const Outcome outcome =
      simulated_outcome(problem, stored_origin(options.model.model, file), std::move(placement));
  options.plans.write(options.model.model, frontend.get(), outcome);
  if (!options.trace.empty()) {
    write_target(options.trace, trace_json(*problem, outcome.placement, outcome.trace));
  }
  if (!options.svg.empty()) {
    write_target(options.svg, timeline_svg(*problem, outcome.placement, outcome.trace));
  }
  if (!options.report.empty()) write_report(options.report, outcome);
  if (options.json) {
    print(json_text(outcome_json(outcome)));
  } else {
    print(outcome_text(outcome) + "\n" + links_text(outcome) + "\n" + critical_path_text(outcome));
  }
  return 0;
}

}  // namespace

void add_simulate(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand("simulate", "simulate one step of a stored placement");
  const auto options = std::make_shared<SimulateOptions>();
  options->model.add_to(*sub);
  options->choices.add_to(*sub, /*searches=*/false);
  add_file(*sub, "--placement", options->placement,
           "a berth.placement/1 file, as `berth place -o` writes it")
      ->required();
  options->plans.add_to(*sub);
  add_file(*sub, "--trace", options->trace,
           "write the step here as a Chrome trace, which ui.perfetto.dev opens");
  add_file(*sub, "--svg", options->svg, "draw the step here: devices, links, critical path (SVG)");
  add_file(*sub, "--report", options->report, "write a page that shows the placement here (HTML)");
  sub->add_flag("--json", options->json, "print one JSON object on standard output");
  sub->footer(
      "Examples:\n"
      "  berth simulate model.onnx --cluster k80x4 --placement placement.json\n"
      "  berth simulate model.onnx --cluster v100x8 --placement placement.json --trace step.json\n"
      "A placement that does not fit in memory is simulated too, and reported as such; the exit\n"
      "status is 0.");
  sub->callback([&chosen, options] { chosen = [options] { return run_simulate(*options); }; });
}

}  // namespace berth::command
