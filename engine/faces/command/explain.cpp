// `berth explain`: why a placement is as good as it is, and why an op is where it is.
#include <spdlog/fmt/fmt.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "berth/engine.h"
#include "berth/error.h"
#include "berth/files.h"
#include "berth/support/text.h"
#include "console.h"
#include "explanation_text.h"
#include "model_options.h"
#include "outcome.h"
#include "policy_choice.h"
#include "scripts.h"
#include "search.h"
#include "subcommands.h"

namespace berth::command {
namespace {

struct ExplainOptions {
  ModelOptions model;
  ProblemChoices choices;
  SearchChoices search;
  PolicyChoice policy;
  std::string placement;
  std::string config;
  std::string op;
  bool json = false;
};

OpId op_called(const Graph& graph, const std::string& name) {
  if (const auto op = graph.find_op(name)) return *op;
  std::vector<std::string> names;
  for (OpId op = 0; op < graph.op_count(); ++op) names.push_back(graph.op_name(op));
  throw Error(ErrorCode::not_found, cat("no op '", name, "' in graph '", graph.name(), "'",
                                        known_names(name, std::move(names))));
}

Outcome outcome_of(Engine& engine, const ExplainOptions& options) {
  if (!options.placement.empty()) {
    auto problem = make_problem(engine, options.model, options.choices);
    Placement placement = load_placement(options.placement, problem->graph(), problem->cluster());
    Origin origin;
    origin.model = options.model.model;
    return simulated_outcome(std::move(problem), std::move(origin), std::move(placement));
  }
  NamedPolicies maker(engine);
  const std::unique_ptr<Policy> policy = maker.make(*options.policy.name, options.policy.options);
  const auto problem = make_problem(engine, options.model, options.choices);
  const InterruptGuard guard;
  Origin origin{options.model.model, *options.policy.name,
                maker.resolved(*options.policy.name, options.policy.options), 0};
  Outcome outcome =
      Search(problem, nullptr, options.choices, options.search).run(*policy, std::move(origin));
  if (InterruptGuard::interrupted()) log_warning("interrupted: this is the best placement so far");
  return outcome;
}

int run_explain(ExplainOptions options) {
  const Settings settings = read_settings(options.config);
  const std::unique_ptr<Engine> owned = make_engine(settings);
  Engine& engine = *owned;
  fill_in(settings, options.model, options.choices, options.search);
  // A policy of the environment's settings does not stand against a placement.
  if (options.placement.empty()) options.policy.fill_in(settings);
  if (options.policy.name.has_value() == !options.placement.empty()) {
    throw CLI::ValidationError("explain", "name either a --placement or a --policy to make one");
  }
  const Outcome outcome = outcome_of(engine, options);
  if (options.op.empty()) {
    print(options.json ? json_text(placement_explanation_json(outcome))
                       : problem_text(options.model.model, *outcome.problem) +
                             placement_explanation_text(outcome));
    return 0;
  }
  const OpExplanation op = explain_op(outcome, op_called(outcome.problem->graph(), options.op));
  print(options.json ? json_text(op_explanation_json(outcome, op))
                     : op_explanation_text(outcome, op));
  return 0;
}

}  // namespace

void add_explain(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand(
      "explain", "show what a placement waits for, and why an op is where it is");
  const auto options = std::make_shared<ExplainOptions>();
  options->model.add_to(*sub);
  options->choices.add_to(*sub, /*searches=*/true);
  add_file(*sub, "--placement", options->placement, "explain this berth.placement/1 file");
  options->policy.add_to(*sub, "explain the placement that this policy finds");
  sub->add_option(
         "--op", options->op,
         "explain this op: what keeps it on its device, and what each other device would cost")
      ->type_name("NAME");
  options->search.add_to(*sub);
  add_file(*sub, "--config", options->config,
           "a file of settings, berth.settings/1 or Lua; the command line overrides it");
  sub->add_flag("--json", options->json, "print one JSON object on standard output");
  sub->footer(
      "Examples:\n"
      "  berth explain model.onnx --cluster k80x4 --placement placement.json\n"
      "  berth explain model.onnx --cluster k80x4 --policy topo --op conv2d_1\n"
      "Every figure is an evaluation of the placement after moving that op and all ops co-located\n"
      "with it. A transfer costs time if the step waits for it.");
  sub->callback([&chosen, options] { chosen = [options] { return run_explain(*options); }; });
}

}  // namespace berth::command
