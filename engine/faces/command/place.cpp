// `berth place`: one policy, one placement.
#include <spdlog/fmt/fmt.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "berth/engine.h"
#include "berth/error.h"
#include "berth/files.h"
#include "console.h"
#include "execution.h"
#include "model_options.h"
#include "outcome.h"
#include "plan_targets.h"
#include "policy_choice.h"
#include "report_file.h"
#include "scripts.h"
#include "search.h"
#include "subcommands.h"
#include "targets.h"

namespace berth::command {
namespace {

struct PlaceOptions {
  ModelOptions model;
  ProblemChoices choices;
  SearchChoices search;
  PolicyChoice policy;
  std::string config;
  std::string output;
  PlanTargets plans;
  std::string trace;
  std::string svg;
  std::string certificate;
  std::string report;
  bool prove = false;
  std::vector<std::string> fallbacks;  // settings alone
  std::optional<std::int64_t> moves;   // settings alone
  bool json = false;
};

/// A limit of moves is an option of the policies that count them.
OptionTexts with_moves(Engine& engine, const std::string& policy, OptionTexts options,
                       const std::optional<std::int64_t>& moves) {
  if (!moves || is_script(policy)) return options;
  for (const auto& option : engine.plugin(PluginKind::policy, policy).options) {
    if (option.name == "moves") options.try_emplace("moves", *moves);
  }
  return options;
}

std::vector<Target> targets_of(const PlaceOptions& options) {
  std::vector<Target> targets;
  const auto add = [&targets](const char* option, const std::string& path) {
    if (!path.empty()) targets.push_back({option, path});
  };
  add("-o", options.output);
  options.plans.add_to(targets);
  add("--trace", options.trace);
  add("--svg", options.svg);
  add("--certificate", options.certificate);
  add("--report", options.report);
  add("--log", options.search.log);
  return targets;
}

void apply_settings(const Settings& config, PlaceOptions& options) {
  fill_in(config, options.model, options.choices, options.search);
  options.policy.fill_in(config);
  const auto path = [&config](const char* key, std::string& target) {
    if (target.empty()) target = config_text(config, key).value_or("");
  };
  options.fallbacks = config.names("fallbacks");
  options.moves = config.count("moves");
  path("output", options.output);
  options.plans.fill_in(config);
  path("trace", options.trace);
  path("svg", options.svg);
  path("certificate", options.certificate);
  path("report", options.report);
  path("log", options.search.log);
}

/// Everything is written after the search and in this order, so that what fails most likely fails
/// before anything is there.
void write_targets(const PlaceOptions& options, Frontend* frontend, const Outcome& outcome) {
  const Problem& problem = *outcome.problem;
  options.plans.write(options.model.model, frontend, outcome);
  if (!options.trace.empty()) {
    write_target(options.trace, trace_json(problem, outcome.placement, outcome.trace));
  }
  if (!options.svg.empty()) {
    write_target(options.svg, timeline_svg(problem, outcome.placement, outcome.trace));
  }
  if (!options.certificate.empty()) {
    write_target(options.certificate, certificate_json(problem, *outcome.certificate));
  }
  if (!options.report.empty()) write_report(options.report, outcome);
  if (!options.output.empty()) {
    const Provenance provenance{outcome.origin.policy, outcome.origin.options, outcome.origin.seed};
    write_target(options.output,
                 placement_json(problem.graph(), problem.cluster(), outcome.placement,
                                &outcome.evaluation, &provenance));
  }
}

/// The policy, then its fallbacks in order while one fails, gives up or finds nothing that fits.
Outcome search_in_order(const PlaceOptions& options, Engine& engine, std::optional<Bench>& bench,
                        std::optional<Search>& search) {
  NamedPolicies maker(engine);
  std::vector<std::string> names = {*options.policy.name};
  names.insert(names.end(), options.fallbacks.begin(), options.fallbacks.end());
  for (std::size_t i = 0;; ++i) {
    const bool last = i + 1 == names.size();
    try {
      const OptionTexts chosen = with_moves(
          engine, names[i], i == 0 ? options.policy.options : OptionTexts(), options.moves);
      // The policy before the model: a misspelled option is told at once.
      const std::unique_ptr<Policy> policy = maker.make(names[i], chosen);
      if (!search) {
        bench = make_bench(engine, options.model, options.choices, options.search);
        search.emplace(bench->problem, bench->session, options.choices, options.search);
      }
      Origin origin;
      origin.model = options.model.model;
      origin.policy = names[i];
      origin.options = maker.resolved(names[i], chosen);
      Outcome outcome = search->run(*policy, origin);
      const bool useless =
          !outcome.evaluation.feasible || outcome.search->end == SearchEnd::gave_up;
      if (last || !useless || InterruptGuard::interrupted()) return outcome;
      log_warning(fmt::format("policy '{}' found nothing of use; '{}' is asked instead", names[i],
                              names[i + 1]));
    } catch (const Error& error) {
      if (last || error.code() == ErrorCode::invalid_argument) throw;
      log_warning(fmt::format("{}; '{}' is asked instead", error.what(), names[i + 1]));
    }
  }
}

Outcome search(const PlaceOptions& options, Engine& engine) {
  const InterruptGuard guard;
  std::optional<Bench> bench;
  std::optional<Search> search;
  Outcome outcome = search_in_order(options, engine, bench, search);
  if (InterruptGuard::interrupted()) log_warning("interrupted: this is the best placement so far");
  if (!outcome.evaluation.feasible) {
    throw Error(
        ErrorCode::infeasible,
        fmt::format("policy '{}' found no placement that fits: {}; nothing was written; try "
                    "another policy, a machine with more memory or a smaller model",
                    outcome.origin.policy, excess_text(outcome)));
  }
  if (options.prove || !options.certificate.empty()) {
    outcome.certificate = certify(*bench->problem, strong_lower_bounds(*bench->problem));
  }
  return outcome;
}

int run_place(PlaceOptions options) {
  const Settings settings = read_settings(options.config);
  const std::unique_ptr<Engine> owned = make_engine(settings);
  Engine& engine = *owned;
  apply_settings(settings, options);
  if (!options.policy.name) {
    throw CLI::ValidationError("--policy", "which one? `berth plugins` lists them");
  }
  if (options.search.measures() && (options.prove || !options.certificate.empty())) {
    throw CLI::ValidationError(options.prove ? "--prove" : "--certificate",
                               "nothing is proven of measured runtimes; leave it out, or "
                               "--evaluator");
  }
  std::vector<Input> inputs = input_files(options.model, options.choices);
  inputs.push_back({"the config", options.config});
  if (is_script(*options.policy.name)) inputs.push_back({"the policy", *options.policy.name});
  check_targets(targets_of(options), inputs);
  const auto frontend = options.plans.writer_of_model(engine, options.model.model);

  const Outcome outcome = search(options, engine);
  write_targets(options, frontend.get(), outcome);
  if (options.json) {
    print(json_text(outcome_json(outcome)));
    return 0;
  }
  std::string text = outcome_text(outcome);
  for (const Target& target : targets_of(options)) {
    text += fmt::format("  wrote {} ({})\n", target.path.string(), target.option);
  }
  print(text);
  return 0;
}

void add_files(CLI::App& sub, PlaceOptions& options) {
  add_file(sub, "--config", options.config,
           "a file of settings, berth.settings/1 or Lua; the command line overrides it");
  add_file(sub, "-o,--output", options.output, "write the placement here (berth.placement/1)");
  options.plans.add_to(sub);
  add_file(sub, "--trace", options.trace,
           "write the step here as a Chrome trace, which ui.perfetto.dev opens");
  add_file(sub, "--svg", options.svg, "draw the step here: devices, links, critical path (SVG)");
  add_file(sub, "--certificate", options.certificate,
           "write the lower bound's proof here (berth.certificate/1), which check_certificate.py "
           "among the scripts checks on its own");
  add_file(sub, "--report", options.report, "write a page that shows the placement here (HTML)");
}

}  // namespace

void add_place(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand("place", "find a placement with one policy");
  const auto options = std::make_shared<PlaceOptions>();
  options->model.add_to(*sub);
  options->choices.add_to(*sub, /*searches=*/true);
  options->policy.add_to(
      *sub,
      "who places: a name of `berth plugins` or a policy's Lua file, which may do all "
      "that you may (it has `os` and `io`)");
  options->search.add_to(*sub);
  options->search.add_log_to(*sub);
  add_evaluator(*sub, options->search);
  add_files(*sub, *options);
  sub->add_flag("--prove", options->prove,
                "say how far from the best this is at most, and what the proof rests on");
  sub->add_flag("--json", options->json, "print one JSON object on standard output");
  sub->footer(
      "Examples:\n"
      "  berth place model.onnx --cluster k80x4 --policy scotch -o placement.json\n"
      "  berth place model.onnx --cluster v100x8 --policy topo --dim batch=8 --groups 128\n"
      "  berth place model.onnx --config experiment.lua --policy random --set samples=500\n"
      "  berth place decoder.onnx --cluster k80x4 --policy topo --write device_map=map.json\n"
      "where experiment.lua is\n"
      "  return { cluster = \"k80x4\", policy = \"scotch\", options = {}, dims = { batch = 8 } }\n"
      "A config names files beside itself; what it has written is relative to where you are.\n"
      "Ctrl-C ends the search and keeps the best placement so far.");
  sub->callback([&chosen, options] { chosen = [options] { return run_place(*options); }; });
}

}  // namespace berth::command
