// berth.policy, berth.register_policy, and what a Lua policy is told while it places.
#include <cmath>

#include "berth/policy.h"
#include "berth/run.h"
#include "berth/sdk/named_policy.h"
#include "berth/simplicity.h"
#include "berth/support/text.h"
#include "berth/tools.h"
#include "call.h"
#include "detect/here.h"
#include "learning.h"
#include "lua_policy.h"
#include "objects.h"
#include "policy_call.h"
#include "settings_values.h"
#include "state.h"
#include "values.h"

namespace berth::lua {

const PlaceContext& ContextObject::get() const {
  if (context == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                "this context belongs to a call of a policy that has ended");
  }
  return *context;
}

namespace {

/// The limit of moves of the settings in force, for a policy that counts them.
void add_moves(State& state, const std::string& name, OptionTexts& options) {
  if (!state.settings.moves || state.policies.contains(name)) return;
  for (const PluginInfo& plugin : state.engine.plugins()) {
    if (plugin.kind != PluginKind::policy || plugin.name != name) continue;
    for (const auto& option : plugin.options) {
      if (option.name == "moves") options.try_emplace("moves", *state.settings.moves);
    }
  }
}

int make(Call& call) {
  auto object = std::make_shared<PolicyObject>();
  object->name = call.argument(1, "name").text();
  object->seed = call.state.settings.seed.value_or(0);
  if (const Value options = call.argument(2, "options"); options.present()) {
    object->options = options.options();
    if (const auto seed = object->options.find("seed"); seed != object->options.end()) {
      const auto* value = std::get_if<std::int64_t>(&seed->second);
      if (value == nullptr || *value < 0) {
        throw Error(ErrorCode::invalid_argument, "field 'seed': integer >= 0 expected");
      }
      object->seed = static_cast<std::uint64_t>(*value);
      object->options.erase(seed);
    }
  }
  add_moves(call.state, object->name, object->options);
  object->policy = make_policy(call.state, object->name, object->options);
  return call.made(std::move(object));
}

int named_policy(Call& call) {
  const NamedPolicy named = parse_named_policy(call.argument(1, "text").text());
  call.text(named.name);
  push_options(call.L, {named.options.begin(), named.options.end()});
  return 2;
}

int register_policy(Call& call) {
  const Value table = call.argument(1, "policy");
  table.require_table();
  auto definition = std::make_shared<const PolicyDefinition>(call.state, call.L, table);
  call.text(definition->name());
  call.state.policies[definition->name()] = std::move(definition);
  return 1;
}

/// Wraps a Lua function for PlaceContext::progress. A policy may report from threads of its own;
/// Lua runs on one, so those reports are dropped.
std::function<void(double, const std::string&)> progress_of(Call& call, const Value& function) {
  function.require_function();
  const auto reference = std::make_shared<const Reference>(call.state, call.L, function.index());
  return [&state = call.state, reference](double best_us, const std::string& text) {
    if (std::this_thread::get_id() != state.thread) return;
    lua_State* L = running_thread(state);
    const StackGuard guard(L);
    reserve_stack(L, 6);
    reference->push(L);
    lua_pushnumber(L, best_us);
    lua_pushlstring(L, text.data(), text.size());
    call_protected(state, L, 2, 0, Traceback::no);
  };
}

/// Sets `whose`, `weights`, `updates`, `own` and `start` of the table on top.
void push_learned(lua_State* L, const LearnedFigures& learned) {
  set_text(L, "whose", std::string(whose_name(learned.whose)));
  if (learned.weights) {
    set_text(L, "weights", std::string(weights_name(*learned.weights)));
    set_number(L, "updates", static_cast<double>(learned.updates));
  }
  if (!learned.own.empty()) {
    lua_createtable(L, 0, 2);
    set_ids(L, "placement", learned.own);
    set_evaluation(L, "evaluation", learned.own_evaluation);
    lua_setfield(L, -2, "own");
  }
  if (!learned.start) return;
  lua_createtable(L, 0, 2);
  set_text(L, "name", learned.start_name);
  set_evaluation(L, "evaluation", *learned.start);
  lua_setfield(L, -2, "start");
}

/// `result` is a PlaceResult or an Outcome.
template <typename Result>
void push_outcome(const Call& call, const Problem& problem, const Result& result,
                  const std::string& policy, std::uint64_t seed, const SearchFigures& figures,
                  bool measured) {
  push_evaluation(call.L, result.evaluation);
  set_text(call.L, "policy", policy);
  set_number(call.L, "seed", static_cast<double>(seed));
  set_number(call.L, "evaluations", static_cast<double>(figures.evaluations));
  set_number(call.L, "simulated_ops", static_cast<double>(figures.simulated_ops));
  set_number(call.L, "wall_s", figures.wall_s);
  if (!measured) {
    set_number(call.L, "bound_us", result.bound.us);
    set_text(call.L, "bound_source", result.bound.source);
    set_number(call.L, "gap", result.gap());
  }
  const Simplicity simplicity = simplicity_of(problem.graph(), result.placement);
  set_number(call.L, "cuts", static_cast<double>(simplicity.cuts));
  set_number(call.L, "transfers", static_cast<double>(simplicity.transfers));
  set_text(call.L, "ended", std::string(search_end_name(figures.end)));
  set_texts(call.L, "notes", result.notes);
  if (result.learned) push_learned(call.L, *result.learned);
  if (result.best_single.device != kNoDevice) {
    push_single_device(call.L, problem, result.best_single);
    lua_setfield(call.L, -2, "single");
  }
}

/// A script that goes on after Ctrl-C or a signal would write what cut-off searches find beside what whole ones
/// found. A policy in Lua ends by its own rules.
void refuse_late_search(const State& state) {
  if (state.policy_call != nullptr || !state.should_stop || !state.should_stop()) return;
  throw Error(ErrorCode::cancelled,
              "interrupted before this search began; a loop of searches ends by itself if it asks "
              "`berth.should_stop()`");
}

int place_problem(Call& call) {
  refuse_late_search(call.state);
  const auto self = call.self<PolicyObject>();
  const auto problem = call.argument(1, "problem").object<ProblemObject>();
  Fields fields = call.options(2);
  PlaceContext context;
  context.seed = self->seed;
  context.should_stop = call.state.should_stop;
  context.threads = call.state.threads;
  const Settings& settings = call.state.settings;
  if (settings.threads && context.threads == 0) context.threads = *settings.threads;
  double budget_s = settings.budget_s.value_or(std::numeric_limits<double>::infinity());
  fields.read("seed", context.seed, 0);
  if (const Value budget = fields.get("budget_s"); budget.present()) {
    budget_s = budget.number();
    if (budget_s < 0) budget.fail("seconds >= 0");
  }
  fields.read("threads", context.threads, 0, kMaxThreads);
  Evaluator* evaluator = nullptr;
  std::shared_ptr<EvaluatorObject> given;
  if (const Value value = fields.get("evaluator"); value.present()) {
    given = value.object<EvaluatorObject>();
    if (given->problem != problem) value.refuse("an evaluator of this problem expected");
    evaluator = &given->get();
  }
  if (const Value initial = fields.get("initial"); initial.present()) {
    context.initial = read_placements(call.L, initial, problem->problem(), "initial");
  }
  if (const Value progress = fields.get("progress"); progress.present()) {
    context.progress = progress_of(call, progress);
  }
  fields.finish();
  if (evaluator == nullptr) evaluator = &problem->evaluator();
  const std::uint64_t seed = context.seed;
  const PlaceResult result = place(*self->policy, *evaluator, std::move(context), budget_s,
                                   bound_effort(call.state.settings));
  push_ids(call.L, result.placement);
  push_outcome(call, problem->problem(), result, self->name, seed,
               {result.evaluations, result.simulated_ops, result.wall_s, result.end, {}},
               evaluator->measures());
  return 2;
}

/// A script writes what it is given, and compares by calling again.
constexpr std::string_view kUnserved[] = {"policies", "clusters",    "seeds",    "prove", "output",
                                          "trace",    "certificate", "annotate", "svg",   "report",
                                          "write",    "csv",         "log"};

constexpr std::string_view kEngineKeys[] = {"plugins", "plugin_folders"};

int place_model(Call& call) {
  refuse_late_search(call.state);
  const std::string model = call.argument(1, "model").text();
  const Value given = call.argument(2, "settings");
  State& state = call.state;
  Settings settings = state.settings;
  if (given.present()) {
    Settings own = read_settings(call.L, given, "the settings");
    detect::find_here(own);
    refuse_unserved(own, "berth.place, whose engine is there,", kEngineKeys);
    settings.add(own);
  }
  refuse_unserved(settings, "berth.place", kUnserved);
  RunHooks hooks;
  hooks.knows = [&state](const std::string& name) {
    return name.ends_with(".lua") || state.policies.contains(name);
  };
  hooks.make = [&state](std::string_view name, const OptionTexts& options) {
    return make_policy(state, std::string(name), options);
  };
  hooks.should_stop = state.should_stop;
  hooks.threads = state.threads;
  const Outcome outcome = run(state.engine, model, settings, hooks);
  push_ids(call.L, outcome.placement);
  push_outcome(call, *outcome.problem, outcome, outcome.origin.policy, outcome.origin.seed,
               *outcome.search, outcome.executed);
  if (outcome.replicas != nullptr) {
    set_text(call.L, "replicas", outcome.replicas->plan);
    set_texts(call.L, "replica_lines", replica_lines(outcome));
  }
  if (outcome.tool != nullptr && outcome.evaluation.feasible) {
    set_text(call.L, "plan",
             plan_text(*outcome.tool, outcome.problem->graph(), outcome.problem->cluster(),
                       outcome.placement));
  }
  return 2;
}

int policy_options(Call& call) {
  const auto self = call.self<PolicyObject>();
  push_options(call.L, {self->options.begin(), self->options.end()});
  return 1;
}

constexpr Binding kFunctions[] = {{"berth.policy", &make},
                                  {"berth.named_policy", &named_policy},
                                  {"berth.place", &place_model},
                                  {"berth.register_policy", &register_policy}};
constexpr Binding kMethods[] = {{"policy:name", &getter<&PolicyObject::name>},
                                {"policy:options", &policy_options},
                                {"policy:place", &place_problem},
                                {"policy:learns", &policy_learns},
                                {"policy:rollout", &policy_rollout},
                                {"policy:update", &policy_update},
                                {"policy:save", &policy_save},
                                {"policy:load", &policy_load},
                                {"policy:parameters", &policy_parameters},
                                {"policy:prepare", &policy_prepare},
                                {"policy:weights", &policy_weights},
                                {"policy:set_weights", &policy_set_weights},
                                {"policy:gradient", &policy_gradient},
                                {"policy:step", &policy_step},
                                {"policy:exchanges", &policy_exchanges},
                                {"policy:pack", &policy_pack},
                                {"policy:learn", &policy_learn}};

int seed(Call& call) {
  return call.value(call.self<ContextObject>()->get().seed);
}

int random(Call& call) {
  return call.object(std::make_shared<Random>(call.self<ContextObject>()->get().seed));
}

int options(Call& call) {
  const auto self = call.self<ContextObject>();
  static_cast<void>(self->get());
  push_options(call.L, self->options->values());
  return 1;
}

int initial(Call& call) {
  const PlaceContext& context = call.self<ContextObject>()->get();
  push_array(call.L, context.initial,
             [&](const Placement& placement) { push_ids(call.L, placement); });
  return 1;
}

int should_stop(Call& call) {
  const auto self = call.self<ContextObject>();
  static_cast<void>(self->get());
  return call.boolean(self->call->asked());
}

int progress(Call& call) {
  const PlaceContext& context = call.self<ContextObject>()->get();
  const double best_us = call.argument(1, "best_us").number();
  const Value text = call.argument(2, "text");
  const std::string what = text.present() ? text.text() : "";
  if (context.progress) context.progress(best_us, what);
  return 0;
}

int note(Call& call) {
  const auto self = call.self<ContextObject>();
  static_cast<void>(self->get());
  self->notes->push_back(call.argument(1, "text").text());
  return 0;
}

int prove(Call& call) {
  const auto self = call.self<ContextObject>();
  static_cast<void>(self->get());
  const Value bound = call.argument(1, "bound_us");
  LowerBound proven{bound.number(), call.argument(2, "source").text()};
  if (!std::isfinite(proven.us) || proven.us < 0) bound.fail("a finite number >= 0");
  if (proven.us > self->proven->us) *self->proven = std::move(proven);
  return 0;
}

constexpr Binding kContextMethods[] = {
    {"context:seed", &seed},       {"context:random", &random},
    {"context:options", &options}, {"context:should_stop", &should_stop},
    {"context:initial", &initial}, {"context:progress", &progress},
    {"context:note", &note},       {"context:prove", &prove}};

std::string describe(const void* object) {
  return cat("'", static_cast<const PolicyObject*>(object)->name, "'");
}

}  // namespace

template <>
const Type& type_of<PolicyObject>() {
  static constexpr Type type{"policy", kFunctions, kMethods, &describe};
  return type;
}

template <>
const Type& type_of<ContextObject>() {
  static constexpr Type type{
      "context", {}, kContextMethods, [](const void*) { return std::string("of one call"); }};
  return type;
}

}  // namespace berth::lua
