// `berth explain`: why a placement is as good as it is, and why an op is where it is.
#include <spdlog/fmt/fmt.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/error.h"
#include "berth/run.h"
#include "berth/support/text.h"
#include "command_run.h"
#include "console.h"
#include "explanation_text.h"
#include "outcome.h"
#include "setting_options.h"
#include "subcommands.h"

namespace berth::command {
namespace {

struct ExplainOptions {
  SettingOptions settings;
  std::string placement;
  std::string op;
  bool json = false;
};

/// Whether a name is `end`, or ends with it behind a separator of modules.
bool ends_as(const std::string& name, const std::string& end) {
  if (!name.ends_with(end)) return false;
  return name.size() == end.size() ||
         std::string_view("/.:").find(name[name.size() - end.size() - 1]) != std::string_view::npos;
}

/// The op of that name, or the only one whose name ends so.
OpId op_called(const Graph& graph, const std::string& name) {
  if (const auto op = graph.find_op(name)) return *op;
  std::vector<std::string> names, ending;
  OpId only = kNoOp;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    names.push_back(graph.op_name(op));
    if (name.empty() || !ends_as(names.back(), name)) continue;
    ending.push_back(names.back());
    only = op;
  }
  if (ending.size() == 1) return only;
  const std::string missing = cat("no op '", name, "' in graph '", graph.name(), "'");
  if (!ending.empty()) {
    throw Error(ErrorCode::not_found, cat(missing, "; ", ending.size(), " end so: ", join(ending),
                                          "; give more of the name"));
  }
  throw Error(ErrorCode::not_found, cat(missing, known_names(name, std::move(names))));
}

Outcome outcome_of(CommandRun& run, const std::string& model,
                   const std::optional<StoredPlacement>& stored) {
  const Settings& settings = run.settings();
  require_cluster(settings);
  if (!stored) {
    Outcome outcome = berth::run(run.engine(), model, settings, run.hooks());
    warn_of_interrupt(outcome);
    return outcome;
  }
  const Task task = load_task(run.engine(), model, settings, placed(run.hooks()));
  note_other_machine(task, *stored);
  // It decides one sentence, for which a large graph need not wait.
  return simulate(task, *stored, settings.bound.value_or(BoundEffort::quick));
}

int run_explain(ExplainOptions& options) {
  std::optional<StoredPlacement> stored;
  if (!options.placement.empty()) {
    options.settings.leave_out(SettingGroup::search, kNoSearch, "bound");
    stored = read_placement(options.placement);
  }
  CommandRun run(options.settings.merged(stored ? stored->settings : Settings()));
  const Outcome outcome = outcome_of(run, options.settings.model, stored);
  if (options.op.empty()) {
    print(options.json ? json_text(placement_explanation_json(outcome))
                       : problem_text(options.settings.model, *outcome.problem) +
                             placement_explanation_text(outcome));
    return 0;
  }
  run.end_searches();
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
  SettingOptions& settings = options->settings;
  settings.add_model(*sub);
  settings.add(*sub, SettingGroup::machine);
  settings.add(*sub, SettingGroup::problem);
  add_file(*sub, "--placement", options->placement,
           "explain this berth.placement/1 file; default: what --policy finds");
  sub->add_option(
         "--op", options->op,
         "explain this op, by its name or the end of it: what keeps it on its device, and what "
         "each other device would cost")
      ->type_name("NAME");
  settings.add(*sub, SettingGroup::search);
  settings.add_config(*sub);
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
