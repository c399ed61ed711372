// `berth place`: one policy, one placement.
#include <spdlog/fmt/fmt.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "berth/error.h"
#include "berth/files.h"
#include "berth/needs.h"
#include "berth/run.h"
#include "berth/tools.h"
#include "command_run.h"
#include "console.h"
#include "outcome.h"
#include "plan_targets.h"
#include "setting_options.h"
#include "subcommands.h"
#include "targets.h"

namespace berth::command {
namespace {

struct PlaceOptions {
  SettingOptions settings;
  bool json = false;
};

std::vector<Target> targets_of(const Settings& settings, const PlanTargets& plans) {
  std::vector<Target> targets;
  add_target(targets, "-o", settings.output);
  plans.add_to(targets);
  add_target(targets, "--trace", settings.trace);
  add_target(targets, "--svg", settings.svg);
  add_target(targets, "--certificate", settings.certificate);
  add_target(targets, "--report", settings.report);
  add_target(targets, "--log", settings.log);
  return targets;
}

void write_targets(const Settings& settings, const PlanTargets& plans, Frontend* frontend,
                   const Outcome& outcome, Written& written) {
  const Problem& problem = *outcome.problem;
  if (settings.output) {
    written.attempt("-o", [&] {
      write_target(*settings.output,
                   placement_json(problem.graph(), problem.cluster(), outcome.placement,
                                  &outcome.evaluation, &outcome.origin));
    });
  }
  written.write_step(settings, outcome);
  if (settings.certificate) {
    written.attempt("--certificate", [&] {
      write_target(*settings.certificate, certificate_json(problem, *outcome.certificate));
    });
  }
  plans.write(outcome.origin.model, frontend, outcome, written);
}

/// The tool's form of the placement, where it is not written to a file; empty where it has none of
/// its own.
std::string tool_plan(const PlanTargets& plans, const Outcome& outcome) {
  if (outcome.tool == nullptr || plans.has(outcome.tool->form)) return {};
  return plan_text(*outcome.tool, outcome.problem->graph(), outcome.problem->cluster(),
                   outcome.placement);
}

int run_place(const PlaceOptions& options) {
  CommandRun run(options.settings.merged());
  const Settings& settings = run.settings();
  require_cluster(settings);
  const bool proves = settings.prove.value_or(false);
  if (settings.evaluator == EvaluatorKind::measure && (proves || settings.certificate)) {
    throw CLI::ValidationError(proves ? "--prove" : "--certificate",
                               "nothing is proven of measured runtimes; leave it out, or "
                               "--evaluator");
  }
  const PlanTargets plans(settings);
  const std::vector<Target> targets = targets_of(settings, plans);
  options.settings.check_files(run.engine(), settings, targets);
  const auto frontend = plans.writer_of_model(run.engine(), options.settings.model, settings);

  RunHooks hooks = run.hooks();
  hooks.begins = [&](const Task& task, const Origin& origin, double budget_s) {
    plans.check(task, options.settings.model, frontend.get(), settings);
    run.hooks().begins(task, origin, budget_s);
  };
  const std::string& model = options.settings.model;
  const Outcome outcome = berth::run(run.engine(), model, settings, hooks);
  warn_of_interrupt(outcome);
  if (!outcome.evaluation.feasible) {
    throw Error(
        ErrorCode::infeasible,
        fmt::format(
            "policy '{}' found no placement that fits: {}; of the nearest one, {}; nothing was "
            "written; try {}a machine with more memory or a smaller model",
            outcome.origin.policy, excess_text(outcome), needs_text(outcome),
            outcome.tool != nullptr && outcome.tool->order != nullptr ? "" : "another policy, "));
  }
  Written written(targets);
  write_targets(settings, plans, frontend.get(), outcome, written);
  if (!run.log_is_whole()) written.lose("--log");
  const std::string plan = tool_plan(plans, outcome);
  if (options.json) {
    auto json = outcome_json(outcome);
    if (!plan.empty()) json["plan"] = plan;
    print(json_text(json));
    return written.exit_status();
  }
  std::string text = outcome_text(outcome);
  if (!plan.empty()) text += fmt::format("\nFor {}:\n{}", outcome.tool->name, plan);
  print(text + written.text());
  return written.exit_status();
}

}  // namespace

void add_place(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand("place", "find a placement with one policy");
  const auto options = std::make_shared<PlaceOptions>();
  SettingOptions& settings = options->settings;
  settings.add_model(*sub);
  settings.add(*sub, SettingGroup::machine);
  settings.add(*sub, SettingGroup::problem);
  settings.add(*sub, SettingGroup::search);
  settings.add(*sub, SettingGroup::measuring);
  settings.add_config(*sub);
  settings.add(*sub, {"output", "annotate", "trace", "svg", "certificate", "report", "log"});
  add_write(*sub, settings);
  sub->add_flag_callback(
      "--prove", [&settings] { settings.given.prove = true; },
      "say how far from the best this is at most, and what the proof rests on");
  settings.serve({"prove"});
  sub->add_flag("--json", options->json, "print one JSON object on standard output");
  sub->footer(
      "Examples:\n"
      "  berth place model.onnx --cluster k80x4 -o placement.json\n"
      "  berth place model.onnx --cluster v100x8 --policy topo --dim batch=8 --groups 128\n"
      "  berth place model.onnx --config experiment.lua --policy random --set samples=500\n"
      "  berth place decoder.onnx --cluster rtx4090+rtx4060+host:64GiB --for llama.cpp\n"
      "  berth place decoder.onnx --cluster 2xrtx3090 --for accelerate --write "
      "device_map=map.json\n"
      "where experiment.lua is\n"
      "  return { cluster = \"k80x4\", policy = \"scotch\", options = {}, dims = { batch = 8 } }\n"
      "A config names files beside itself; what it has written is relative to where you are.\n"
      "Ctrl-C ends the search and keeps the best placement so far.");
  sub->callback([&chosen, options] { chosen = [options] { return run_place(*options); }; });
}

}  // namespace berth::command
