#include "host/simplest_run.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "berth/error.h"
#include "berth/evaluator.h"
#include "berth/simplicity.h"
#include "berth/support/text.h"
#include "berth/tools.h"

namespace berth {
namespace {

constexpr double kWithinForTool = 0.03;
/// The policy that tries every run of whole layers per device, and its time beside another's.
constexpr const char* kStages = "stages";
constexpr double kStages_s = 3;
/// Tool::order and hosts.
constexpr std::string_view kAny = "any";

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

/// Policies that keep to runs of whole layers.
constexpr std::string_view kOfRuns[] = {kStages, "fill", "even"};

/// The settings' tool; an error names the key's place.
const Tool& tool_of(const Settings& settings) {
  try {
    return tool(*settings.tool);
  } catch (const Error& error) {
    throw Error(error.code(), settings.place("tool") + error.what());
  }
}

}  // namespace

Settings search_settings(const Settings& settings) {
  if (!settings.tool) return settings;
  const Tool& wanted = tool_of(settings);
  if (wanted.order == nullptr) return settings;
  const std::string policy = settings.policy.value_or("auto");
  // A tool whose devices may have runs in any order, hosts too, can have any other plan as well.
  const bool any = wanted.order == kAny && wanted.hosts == kAny;
  if (any && settings.policy && policy != kStages) return settings;
  Settings inner = settings;
  inner.fallbacks.reset();
  if (policy == "auto" || policy == kStages) {
    inner.policy = kStages;
    inner.options.clear();
    inner.options["order"] = std::string(wanted.order);
    inner.options["hosts"] = std::string(wanted.hosts);
    inner.options["within"] = within_of(settings);
    return inner;
  }
  if (std::find(std::begin(kOfRuns), std::end(kOfRuns), policy) != std::end(kOfRuns)) return inner;
  throw Error(ErrorCode::invalid_argument,
              cat(settings.place("policy"), "a plan for ", wanted.name,
                  " is a run of whole layers per device, to which policy '", policy,
                  "' does not keep; leave the policy out, or choose stages, fill or even"));
}

double within_of(const Settings& settings) {
  if (settings.within) return settings.within->of_one;
  return settings.tool ? kWithinForTool : 0;
}

Outcome simplified(Engine& engine, Outcome outcome, const Settings& settings, bool rivals,
                   const RunHooks& hooks) {
  const double within = within_of(settings);
  if (within == 0 || !outcome.evaluation.feasible || outcome.executed) return outcome;
  PlaceContext context;
  context.should_stop = hooks.should_stop;
  context.threads = settings.threads.value_or(hooks.threads);
  const auto evaluator = make_simulation_evaluator(outcome.problem, context.threads);
  std::vector<Placement> candidates = {outcome.placement};
  if (rivals && outcome.origin.policy != kStages) {
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
  simpler.tool = outcome.tool;
  simpler.notes.push_back(note);
  if (simpler.search) simpler.search->notes.push_back(std::move(note));
  return simpler;
}

}  // namespace berth
