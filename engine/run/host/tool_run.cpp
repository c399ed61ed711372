#include "berth/tool_run.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "berth/bounds.h"
#include "berth/error.h"
#include "berth/evaluator.h"
#include "berth/files.h"
#include "berth/simplicity.h"
#include "berth/support/text.h"
#include "berth/tools.h"

namespace berth {
namespace {

constexpr double kWithinForTool = 0.03;
/// The policy that tries every run of whole layers per device, and its time beside another's.
constexpr const char* kStages = "stages";
constexpr double kStages_s = 3;

/// Without rules that leave an op nowhere, alone or together: later ones give way to earlier ones.
std::vector<ConstraintRule> kept_rules(const Problem& problem,
                                       const std::vector<ConstraintRule>& rules,
                                       std::vector<std::string>& notes) {
  std::vector<ConstraintRule> kept;
  for (const ConstraintRule& rule : rules) {
    kept.push_back(rule);
    try {
      static_cast<void>(Constraints(problem.graph(), problem.cluster(), problem.costs(), kept));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::infeasible) throw;
      kept.pop_back();
      notes.push_back(
          cat("left out, as it cannot be kept: ", rule.text.empty() ? to_text(rule) : rule.text));
    }
  }
  return kept;
}

/// The base's problem with other rules, and other costs where there are any.
Task posed(Engine& engine, const Task& base, const Settings& settings,
           std::shared_ptr<const Costs> costs) {
  TaskParts parts;
  parts.costs = costs != nullptr ? std::move(costs) : base.problem->shared_costs();
  Task task = make_task(engine, base.problem->shared_graph(), base.problem->shared_cluster(),
                        settings, parts);
  task.model = base.model;
  task.settings = base.settings;
  task.notes = base.notes;
  return task;
}

/// The placement that `stages` finds beside another policy's.
std::optional<Placement> staged(Engine& engine, Evaluator& evaluator, const Settings& settings,
                                double within, const PlaceContext& context) {
  try {
    OptionTexts options;
    options["hosts"] = std::string("any");
    options["within"] = within;
    const auto policy = engine.make_policy(kStages, options);
    const double budget_s = std::min(kStages_s, settings.budget_s.value_or(kStages_s));
    return berth::place(*policy, evaluator, context, budget_s, BoundEffort::none).placement;
  } catch (const Error&) {
    return std::nullopt;  // not installed, or nothing of it fits
  }
}

Outcome simplified(Engine& engine, Outcome outcome, const Settings& settings, double within,
                   const RunHooks& hooks) {
  PlaceContext context;
  context.should_stop = hooks.should_stop;
  context.threads = settings.threads.value_or(hooks.threads);
  const auto evaluator = make_simulation_evaluator(outcome.problem, context.threads);
  std::vector<Placement> candidates = {outcome.placement};
  if (outcome.origin.policy != kStages) {
    if (auto other = staged(engine, *evaluator, settings, within, context)) {
      candidates.push_back(std::move(*other));
    }
  }
  const Graph& graph = outcome.problem->graph();
  Placement simplest = simplest_within(*evaluator, candidates, within, context);
  if (simplest == outcome.placement) return outcome;
  const Simplicity before = simplicity_of(graph, outcome.placement);
  const Simplicity after = simplicity_of(graph, simplest);
  std::string note =
      cat("the simplest placement found within ", within * 100, " % of the best: ", after.cuts,
          " cuts and ", after.transfers, " transfers on ", after.devices, " devices; policy '",
          outcome.origin.policy, "' had ", before.cuts, ", ", before.transfers, " and ",
          before.devices);
  Outcome simpler = simulated_outcome(outcome.problem, outcome.origin, std::move(simplest),
                                      bound_effort(settings));
  simpler.notes = std::move(outcome.notes);
  simpler.search = std::move(outcome.search);
  simpler.notes.push_back(note);
  if (simpler.search) simpler.search->notes.push_back(std::move(note));
  return simpler;
}

/// Settings of a search under a tool's rules.
Settings under_rules(const Settings& settings, const Tool& wanted, const ToolRules& rules,
                     double within) {
  Settings inner = settings;
  inner.constraints.insert(inner.constraints.end(), rules.constraints.begin(),
                           rules.constraints.end());
  if (!rules.stages) return inner;
  const std::string policy = settings.policy.value_or("auto");
  if (policy != "auto" && policy != kStages) {
    throw Error(
        ErrorCode::invalid_argument,
        cat("a plan for ", wanted.name, " is a run of whole layers per device, to which policy '",
            policy, "' does not keep; leave the policy out, or choose ", kStages));
  }
  inner.policy = kStages;
  inner.options = rules.options;
  inner.options["within"] = within;
  inner.fallbacks.reset();
  return inner;
}

Outcome searched(Engine& engine, const Task& task, const Settings& settings, const ToolRun& wanted,
                 const RunHooks& hooks) {
  if (!wanted.start) return place(engine, task, settings, hooks);
  RunHooks with = hooks;
  with.initial.push_back(
      load_placement(*wanted.start, task.problem->graph(), task.problem->cluster()));
  return place(engine, task, settings, with);
}

Outcome under_tool(Engine& engine, const Task& base, const Settings& settings,
                   const ToolRun& wanted, double within, const RunHooks& hooks) {
  const Tool& for_tool = tool(*wanted.tool);
  const Problem& problem = *base.problem;
  for (bool spill = false;; spill = true) {
    const bool last = spill || !for_tool.spills;
    try {
      const ToolRules rules =
          for_tool.rules({problem.graph(), problem.cluster(), problem.costs(), spill});
      const Settings inner = under_rules(settings, for_tool, rules, within);
      Task task = posed(engine, base, inner, rules.costs);
      task.notes.insert(task.notes.end(), rules.notes.begin(), rules.notes.end());
      Outcome outcome = searched(engine, task, inner, wanted, hooks);
      if (last || outcome.evaluation.feasible) return outcome;
    } catch (const Error& error) {
      if (last || error.code() != ErrorCode::infeasible) throw;
    }
  }
}

}  // namespace

Outcome run_for(Engine& engine, const std::string& model, const Settings& settings,
                const ToolRun& wanted, const RunHooks& hooks) {
  if (settings.evaluator == EvaluatorKind::measure) {
    throw Error(ErrorCode::unsupported,
                "plans for tools, simplest placements, starts and rules that give way are of "
                "simulated steps; leave the evaluator out");
  }
  if (wanted.tool) static_cast<void>(tool(*wanted.tool));  // a wrong name is told at once
  Settings inner = settings;
  if (wanted.soft) inner.constraints.clear();
  Task task = load_task(engine, model, inner, hooks);
  if (wanted.soft) {
    std::vector<std::string> notes;
    inner.constraints = kept_rules(*task.problem, settings.constraints, notes);
    for (const std::string& note : notes) {
      if (hooks.note) hooks.note(note);
    }
    task = posed(engine, task, inner, nullptr);
    task.notes.insert(task.notes.end(), notes.begin(), notes.end());
  }
  const double within = wanted.within.value_or(wanted.tool ? kWithinForTool : 0);
  Outcome outcome = wanted.tool ? under_tool(engine, task, inner, wanted, within, hooks)
                                : searched(engine, task, inner, wanted, hooks);
  if (within > 0 && outcome.evaluation.feasible) {
    outcome = simplified(engine, std::move(outcome), inner, within, hooks);
  }
  if (outcome.evaluation.feasible && (settings.prove.value_or(false) || settings.certificate)) {
    outcome.certificate = certify(*outcome.problem, strong_lower_bounds(*outcome.problem));
  }
  return outcome;
}

}  // namespace berth
