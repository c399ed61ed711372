#include "host/simplest_run.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "berth/error.h"
#include "berth/evaluator.h"
#include "berth/simplicity.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "berth/tools.h"

namespace berth {
namespace {

constexpr double kWithinForTool = 0.03;
/// The policy that tries every run of whole layers per device, and its time beside another's.
constexpr const char* kStages = "stages";
constexpr double kStages_s = 3;
/// Moves that `auto` makes without a budget, for a tool that never cuts blocks.
constexpr std::int64_t kMovesOfBlocks = 1000;
/// Tool::order and hosts.
constexpr std::string_view kAny = "any", kMachine = "machine", kFirst = "first";

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

/// Blocks that hosts hold go to accelerators with room for them, largest first, where that is faster: few
/// cuts alone would leave it. For tools whose hosts hold weights and compute nothing.
Placement filled_up(Evaluator& evaluator, Placement placement, const PlaceContext& context) {
  const Problem& problem = evaluator.problem();
  const Cluster& cluster = problem.cluster();
  const std::shared_ptr<const Groups> blocks = problem.finest_groups();
  std::vector<std::pair<std::int64_t, GroupId>> held;
  for (GroupId block = 0; block < blocks->count(); ++block) {
    std::int64_t bytes = 0;
    for (const OpId op : blocks->members(block)) bytes += problem.graph().param_bytes(op);
    const DeviceId device = placement[at(blocks->members(block).front())];
    if (bytes > 0 && cluster.device(device).host) held.emplace_back(-bytes, block);
  }
  std::sort(held.begin(), held.end());
  Evaluation best = evaluator.evaluate(placement);
  for (const auto& [bytes, block] : held) {
    for (DeviceId device = 0; device < cluster.device_count() && !context.stopped(); ++device) {
      const auto members = blocks->members(block);
      const bool runs = std::all_of(members.begin(), members.end(), [&](OpId op) {
        return problem.cost_us(op, device) < kCannotRun;
      });
      if (cluster.device(device).host || !runs) continue;
      Placement next = placement;
      for (const OpId op : members) next[at(op)] = device;
      const Evaluation evaluation = evaluator.evaluate(next);
      if (!evaluation.feasible || evaluation.objective_us >= best.objective_us) continue;
      best = evaluation;
      placement = std::move(next);
    }
  }
  return placement;
}

/// Single blocks go over a cut where the step is as fast and the plan as simple then, and the fullest devices
/// have more room.
Placement evened_out(Evaluator& evaluator, Placement placement, const PlaceContext& context) {
  const Problem& problem = evaluator.problem();
  const std::shared_ptr<const Groups> blocks = problem.finest_groups();
  const Evaluation first = evaluator.evaluate(placement);
  if (!first.feasible) return placement;
  const Simplicity simplicity = simplicity_of(problem.graph(), placement);
  const std::set<DeviceId> used(placement.begin(), placement.end());
  Fullness least = fullness_of(problem, first);
  const auto moves = [&](GroupId block, DeviceId device) {
    Placement next = placement;
    for (const OpId op : blocks->members(block)) {
      if (problem.cost_us(op, device) >= kCannotRun) return false;
      next[at(op)] = device;
    }
    if (next == placement || simplicity_of(problem.graph(), next) != simplicity) return false;
    const Evaluation evaluation = evaluator.evaluate(next);
    if (!evaluation.feasible || !alike_in_time(evaluation, first)) return false;
    Fullness its = fullness_of(problem, evaluation);
    if (!(its < least)) return false;
    least = std::move(its);
    placement = std::move(next);
    return true;
  };
  // Forwards, then backwards: what follows a block that has gone over the cut may go after it.
  for (bool changed = true; changed;) {
    changed = false;
    for (GroupId i = 0; i < 2 * blocks->count(); ++i) {
      const GroupId block = i < blocks->count() ? i : 2 * blocks->count() - 1 - i;
      for (const DeviceId device : used) {
        if (context.stopped()) return placement;
        changed = moves(block, device) || changed;
      }
    }
  }
  return placement;
}

/// Policies that keep to runs of whole layers.
constexpr std::string_view kFill = "fill", kEven = "even";
constexpr std::string_view kOfRuns[] = {kStages, kFill, kEven};

/// A tool whose devices may have runs in any order, hosts too, can have any other plan as well.
bool any_runs(const Tool& wanted) {
  return wanted.order == kAny && wanted.hosts == kAny;
}

}  // namespace

const Tool* tool_of(const Settings& settings) {
  if (!settings.tool) return nullptr;
  try {
    return &tool(*settings.tool);
  } catch (const Error& error) {
    throw Error(error.code(), settings.place("tool") + error.what());
  }
}

Settings search_settings(const Settings& settings) {
  const Tool* const for_tool = tool_of(settings);
  if (for_tool == nullptr) return settings;
  const Tool& wanted = *for_tool;
  if (wanted.order == nullptr) {
    // Few large blocks are placed, and each look at them simulates all their ops.
    Settings brief = settings;
    const bool automatic = settings.policy.value_or("auto") == "auto";
    if (wanted.spills && automatic && !settings.budget_s && !settings.moves) {
      brief.moves = kMovesOfBlocks;
    }
    return brief;
  }
  const std::string policy = settings.policy.value_or("auto");
  if (any_runs(wanted) && settings.policy && policy != kStages) return settings;
  Settings inner = settings;
  inner.fallbacks.reset();
  if (!any_runs(wanted)) inner.options.emplace("alone", true);
  if (policy == "auto" || policy == kStages) {
    inner.policy = kStages;
    inner.options["order"] = std::string(wanted.order);
    inner.options["hosts"] = std::string(wanted.hosts);
    inner.options["within"] = within_of(settings);
    return inner;
  }
  if (policy == kFill) {
    // emplace: the caller's own options stand.
    if (wanted.order == kMachine) inner.options.emplace("order", std::string(kMachine));
    if (wanted.hosts == kFirst) inner.options.emplace("hosts", std::string(kFirst));
  }
  // llama.cpp's own split numbers its layers, whatever their bytes.
  if (policy == kEven && wanted.hosts == kFirst) inner.options.emplace("by", std::string("number"));
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
  // Single pieces that move leave the order of runs that the tool keeps to.
  if (outcome.tool != nullptr && outcome.tool->order != nullptr && !any_runs(*outcome.tool)) {
    return outcome;
  }
  PlaceContext context;
  context.should_stop =
      settings.budget_s ? bound_stop(hooks.should_stop, *settings.budget_s) : hooks.should_stop;
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
  if (outcome.tool != nullptr && outcome.tool->spills) {
    simplest = filled_up(*evaluator, std::move(simplest), context);
    simplest = evened_out(*evaluator, std::move(simplest), context);
  }
  if (context.stopped() && outcome.search && outcome.search->end == SearchEnd::done) {
    const bool asked = hooks.should_stop && hooks.should_stop();
    outcome.search->end = asked ? SearchEnd::cancelled : SearchEnd::budget;
  }
  if (simplest == outcome.placement) return outcome;
  const Simplicity before = simplicity_of(graph, outcome.placement);
  const Simplicity after = simplicity_of(graph, simplest);
  std::string note =
      cat("the simplest placement found within ", within * 100, " % of the best: ", after.cuts,
          " cuts and ", after.transfers, " transfers on ", after.devices,
          after.devices == 1 ? " device; policy '" : " devices; policy '", outcome.origin.policy,
          "' had ", before.cuts, ", ", before.transfers, " and ", before.devices);
  Outcome simpler =
      simulated_outcome(outcome.problem, outcome.origin, std::move(simplest), BoundEffort::none);
  simpler.bound = outcome.bound;
  simpler.notes = std::move(outcome.notes);
  simpler.search = std::move(outcome.search);
  simpler.tool = outcome.tool;
  simpler.notes.push_back(note);
  if (simpler.search) simpler.search->notes.push_back(std::move(note));
  return simpler;
}

}  // namespace berth
