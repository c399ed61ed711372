// Searches as settings ask for them: one policy with its fallbacks, several side by side.
#include "berth/run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "berth/bounds.h"
#include "berth/files.h"
#include "berth/sdk/named_policy.h"
#include "berth/support/index.h"
#include "berth/support/sums.h"
#include "berth/support/text.h"
#include "files/json_reader.h"
#include "host/assumed_host.h"
#include "host/replica_search.h"
#include "host/replica_steps.h"
#include "host/short_by_rules.h"
#include "host/simplest_run.h"
#include "support/units.h"

namespace berth {
namespace {

/// Policies by name, of the engine and of the hooks.
class Policies {
 public:
  Policies(Engine& engine, const RunHooks& hooks) : engine_(engine), hooks_(hooks) {}

  std::unique_ptr<Policy> make(const std::string& name, const OptionTexts& options) const {
    return knows(name) ? hooks_.make(name, options)
                       : engine_.make_policy(name, options, hooks_.make);
  }
  /// All options of a plugin, with their defaults; of another those given.
  std::map<std::string, OptionValue, std::less<>> resolved(const std::string& name,
                                                           const OptionTexts& options) const {
    if (knows(name)) return {options.begin(), options.end()};
    return engine_.options_of(PluginKind::policy, name, options).values();
  }
  /// Adds the limit of moves for a policy that counts them.
  OptionTexts with_moves(const std::string& name, OptionTexts options,
                         const Settings& settings) const {
    if (settings.moves && counts_moves(name)) options.try_emplace("moves", *settings.moves);
    return options;
  }
  /// Settings of the search that the policy does not ask.
  std::vector<std::string> unasked(const std::string& name, const Policy& policy,
                                   const Settings& settings) const {
    std::vector<std::string> notes;
    if (settings.start && !policy.takes_starts()) {
      notes.push_back(cat(settings.place("start"), "policy '", name,
                          "' begins with nothing, so that the placement to start from changes "
                          "nothing of what it finds"));
    }
    if (settings.moves && !knows(name) && !counts_moves(name)) {
      notes.push_back(cat(settings.place("moves"), "policy '", name,
                          "' counts no moves, so that their limit changes nothing"));
    }
    return notes;
  }

 private:
  bool knows(const std::string& name) const { return hooks_.knows && hooks_.knows(name); }
  bool counts_moves(const std::string& name) const {
    if (knows(name)) return false;
    const auto& options = engine_.plugin(PluginKind::policy, name).options;
    return std::any_of(options.begin(), options.end(),
                       [](const auto& option) { return option.name == "moves"; });
  }

  Engine& engine_;
  const RunHooks& hooks_;
};

double budget_s(const Settings& settings) {
  return settings.budget_s.value_or(std::numeric_limits<double>::infinity());
}

bool stopped(const RunHooks& hooks) {
  return hooks.should_stop && hooks.should_stop();
}

std::shared_ptr<void> stage_within(const RunHooks& hooks, const std::string& what,
                                   double within_s) {
  return hooks.stage ? hooks.stage(what, within_s) : nullptr;
}

/// A start whose inputs are where the problem has them: that is no choice of a placement.
Placement with_own_inputs(const Problem& problem, Placement placement) {
  const auto has = [&](OpId op, DeviceId device) {
    return problem.allowed(op, device) && problem.cost_us(op, device) < kCannotRun;
  };
  for (OpId op = 0; op < problem.graph().op_count(); ++op) {
    DeviceId& device = placement[at(op)];
    if (!problem.graph().is_input(op)) continue;
    for (DeviceId d = 0; d < problem.cluster().device_count() && !has(op, device); ++d) device = d;
  }
  return placement;
}

/// Searches on one task. Its evaluator is kept: the bound is computed once.
class Searches {
 public:
  Searches(const Task& task, const Settings& settings, const RunHooks& hooks)
      : task_(task),
        hooks_(hooks),
        threads_(settings.threads.value_or(hooks.threads)),
        initial_(hooks.initial) {
    evaluator_ = task.session == nullptr ? make_simulation_evaluator(task.problem, threads_)
                                         : make_measuring_evaluator(task.problem, task.session);
    if (settings.start) {
      initial_.push_back(with_own_inputs(
          *task.problem,
          load_placement(*settings.start, task.problem->graph(), task.problem->cluster())));
    }
  }

  /// `own`: of a policy that learns its own placement, to compare it; else its best, to use it.
  Outcome run(Policy& policy, Origin origin, const Settings& settings, bool own) {
    origin.model = task_.model;
    origin.settings = task_.settings;
    origin.seed = settings.seed.value_or(hooks_.seed);
    PlaceContext context;
    context.seed = origin.seed;
    context.threads = threads_;
    context.should_stop = hooks_.should_stop;
    context.progress = hooks_.progress;
    context.initial = initial_;
    const double within_s = budget_s(settings);
    const auto stage = stage_within(
        hooks_, cat(origin.policy, " places ", task_.problem->groups().count(), " groups"),
        within_s);
    if (hooks_.begins) hooks_.begins(task_, origin, within_s);
    try {
      PlaceResult result =
          berth::place(policy, *evaluator_, std::move(context), within_s, bound_effort(settings));
      Outcome outcome = searched_outcome(task_.problem, std::move(origin), std::move(result));
      if (own) outcome = own_outcome(std::move(outcome));
      outcome.notes.insert(outcome.notes.begin(), task_.notes.begin(), task_.notes.end());
      if (depends_on_host(outcome)) note_assumed_host(settings, outcome);
      outcome.tool = task_.tool;
      outcome.replicas = task_.replicas;
      if (task_.plain != nullptr) compare_with_one_device(task_.plain, outcome);
      if (task_.session != nullptr) trace_measured(outcome);
      if (hooks_.ends) hooks_.ends(&outcome, {});
      return outcome;
    } catch (const Error& error) {
      if (hooks_.ends) hooks_.ends(nullptr, error.what());
      if (error.code() != ErrorCode::infeasible) throw;
      const std::string rules = short_by_rules_text(*task_.problem);
      const std::string host = assumed_host_text(settings);
      throw Error(error.code(), cat(rules, rules.empty() ? "" : ": ", error.what(),
                                    host.empty() ? "" : "; ", host));
    }
  }

 private:
  void note_assumed_host(const Settings& settings, Outcome& outcome) {
    std::string note = assumed_host_text(settings);
    if (note.empty()) return;
    if (hooks_.note && !told_host_) hooks_.note(note);
    told_host_ = true;
    outcome.notes.push_back(std::move(note));
  }

  void trace_measured(Outcome& outcome) const {
    outcome.executed = true;
    if (!outcome.evaluation.feasible) return;
    outcome.origin.measured_on = task_.backend->description();
    MeasureOptions options;
    options.trace = true;
    Measurement measured = berth::measure(*task_.session, outcome.placement, options);
    outcome.trace = std::move(measured.step.trace);
    // Busy times and the picture are of one and the same step.
    outcome.evaluation.busy_us = std::move(measured.step.busy_us);
    constexpr double kUnlike = 0.1;
    const double figure_us = outcome.evaluation.runtime_us;
    if (std::abs(outcome.trace.runtime_us - figure_us) > kUnlike * figure_us) {
      outcome.notes.push_back(cat("devices and transfers are of a step that took ",
                                  format_us(outcome.trace.runtime_us), " when it was traced, not ",
                                  format_us(figure_us)));
    }
    for (std::string& note : measured.notes) outcome.notes.push_back(std::move(note));
  }

  const Task& task_;
  const RunHooks& hooks_;
  int threads_;
  std::vector<Placement> initial_;
  std::unique_ptr<Evaluator> evaluator_;
  bool told_host_ = false;
};

/// The policy, then its fallbacks. `task` is asked for once there is a policy.
Outcome in_order(Engine& engine, const Settings& settings, const RunHooks& hooks,
                 const std::function<const Task&()>& task) {
  const Policies policies(engine, hooks);
  std::vector<std::string> names = {settings.policy.value_or("auto")};
  if (settings.fallbacks) {
    names.insert(names.end(), settings.fallbacks->begin(), settings.fallbacks->end());
  }
  std::optional<Searches> searches;
  std::vector<std::string> notes;
  for (std::size_t i = 0;; ++i) {
    const bool last = i + 1 == names.size();
    std::string why;
    // A mistake of the user is reported, not worked around.
    const auto failed = [&](const Error& error) {
      if (last || error.code() == ErrorCode::invalid_argument) throw;
      why = cat("failed (", error.what(), ")");
    };
    std::unique_ptr<Policy> policy;
    Origin origin;
    origin.policy = names[i];
    try {
      const OptionTexts options =
          policies.with_moves(names[i], i == 0 ? settings.options : OptionTexts(), settings);
      policy = policies.make(names[i], options);
      origin.options = policies.resolved(names[i], options);
    } catch (const Error& error) {
      failed(error);
    }
    // A model that cannot be loaded is no failure of the policy.
    if (policy != nullptr && !searches) searches.emplace(task(), settings, hooks);
    try {
      if (policy != nullptr) {
        for (std::string& note : policies.unasked(names[i], *policy, settings)) {
          if (hooks.note) hooks.note(note);
          notes.push_back(std::move(note));
        }
        Outcome outcome = searches->run(*policy, std::move(origin), settings, /*own=*/false);
        const bool useless =
            outcome.search->end == SearchEnd::gave_up || !outcome.evaluation.feasible;
        if (last || !useless || outcome.search->end == SearchEnd::cancelled) {
          outcome.search->notes.insert(outcome.search->notes.begin(), notes.begin(), notes.end());
          outcome.notes.insert(outcome.notes.begin(), notes.begin(), notes.end());
          return outcome;
        }
        why =
            outcome.search->end == SearchEnd::gave_up ? "gave up" : "found no placement that fits";
      }
    } catch (const Error& error) {
      failed(error);
    }
    notes.push_back(
        cat("policy '", names[i], "' ", why, "; '", names[i + 1], "' was asked instead"));
    if (hooks.note) hooks.note(notes.back());
  }
}

/// The same problem where the tool's accelerators do not hold everything, with what was said of the
/// other one. What is new is told.
Task spilled(const Task& task, const RunHooks& hooks) {
  Task again = task.spilled();
  std::vector<std::string> notes = task.notes;
  for (std::string& note : again.notes) {
    if (std::find(notes.begin(), notes.end(), note) != notes.end()) continue;
    if (hooks.note) hooks.note(note);
    notes.push_back(std::move(note));
  }
  again.notes = std::move(notes);
  again.model = task.model;
  return again;
}

/// Whether the devices that may have any op are too small for the parameters, wherever these are.
bool overflows(const Problem& problem) {
  std::int64_t room = 0;
  for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
    bool used = false;
    for (GroupId group = 0; group < problem.groups().count() && !used; ++group) {
      used = problem.can_run(group, device);
    }
    if (used) room = saturating_sum(room, problem.memory_bytes(device));
  }
  return room < problem.graph().total_param_bytes();
}

/// in_order under the rules of a tool, then the simplest placement near to what it finds.
Outcome for_tool(Engine& engine, const Settings& settings, const RunHooks& hooks,
                 const std::function<const Task&()>& task) {
  const Settings inner = search_settings(settings);
  const Task* posed = nullptr;
  const auto ask = [&]() -> const Task& {
    posed = &task();
    if (posed->spilled && overflows(*posed->problem)) {
      throw Error(ErrorCode::infeasible, "the accelerators are too small for the parameters");
    }
    return *posed;
  };
  std::optional<Outcome> outcome;
  try {
    outcome = in_order(engine, inner, hooks, ask);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::infeasible || posed == nullptr || !posed->spilled) throw;
  }
  if (!outcome || (!outcome->evaluation.feasible && posed->spilled && !stopped(hooks))) {
    const Task again = spilled(*posed, hooks);
    outcome = in_order(engine, inner, hooks, [&]() -> const Task& { return again; });
  }
  return simplified(engine, std::move(*outcome), settings, /*rivals=*/true, hooks);
}

/// A policy of a comparison, made before any work.
struct Candidate {
  std::string label;  ///< the name, or as it was named with options of its own
  std::string name;
  OptionTexts options;
  std::unique_ptr<Policy> policy;  ///< null = it could not be made
  ErrorCode code{};
  std::string failure;
};

/// The policy that a comparison asks where `named` is meant, and its options.
std::pair<std::string, OptionTexts> for_tool_of(const Settings& settings,
                                                const NamedPolicy& named) {
  const std::string& name = named.name;
  Settings own = settings;
  if (settings.policy != name) own.options.clear();
  for (const auto& [key, value] : named.options) own.options[key] = value;
  own.policy = name;
  // Others are asked too: whether the tool can have their plan is seen then.
  if (name != "auto" && name != "stages" && name != "fill" && name != "even")
    return {name, own.options};
  const Settings inner = search_settings(own);
  return {*inner.policy, inner.options};
}

std::vector<Candidate> candidates_of(const Policies& policies, std::span<const std::string> names,
                                     const Settings& settings, bool must_exist) {
  std::vector<Candidate> candidates;
  std::set<std::string> seen;
  for (const std::string& given : names) {
    Candidate candidate{given, given, {}, nullptr, {}, {}};
    try {
      const NamedPolicy named = parse_named_policy(given);
      // A policy under a tool's rules may be another, with the tool's options.
      const auto [name, options] = for_tool_of(settings, named);
      candidate.name = name;
      candidate.label = named.options.empty() ? name : given;
      candidate.options = policies.with_moves(name, options, settings);
      candidate.policy = policies.make(name, candidate.options);
    } catch (const Error& error) {
      if (must_exist) throw;
      candidate.code = error.code();
      candidate.failure = error.what();
    }
    // Two of a settings' list may become one; a caller of names gets an entry for each.
    if (must_exist && !seen.insert(candidate.label).second) continue;
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

/// A policy's entry; what fails is an entry with the reason. The first one begins even where the
/// comparison has been stopped, so that there is an answer.
ComparedPolicy compare_one(Engine& engine, Searches& searches, const Policies& policies,
                           const Candidate& candidate, bool first, const Settings& settings,
                           const RunHooks& hooks) {
  ComparedPolicy entry;
  entry.policy = candidate.label;
  entry.code = candidate.code;
  entry.failure = candidate.failure;
  entry.seed = settings.seed.value_or(hooks.seed);
  if (candidate.policy == nullptr) return entry;
  if (!first && stopped(hooks)) {
    entry.code = ErrorCode::cancelled;
    entry.failure = "not run: interrupted";
    return entry;
  }
  try {
    Origin origin;
    origin.policy = candidate.name;
    origin.options = policies.resolved(candidate.name, candidate.options);
    Outcome outcome = simplified(
        engine, searches.run(*candidate.policy, std::move(origin), settings, /*own=*/true),
        settings, /*rivals=*/false, hooks);
    if (outcome.tool != nullptr && outcome.evaluation.feasible) {
      static_cast<void>(plan_text(*outcome.tool, outcome.problem->graph(),
                                  outcome.problem->cluster(), outcome.placement));
    }
    entry.outcome = std::move(outcome);
  } catch (const Error& error) {
    entry.code = error.code();
    entry.failure = error.what();
  }
  return entry;
}

/// "policy 7 of 19", and when the last of them ends at the latest.
std::shared_ptr<void> policy_stage(const RunHooks& hooks, std::size_t done, std::size_t count,
                                   const Settings& settings) {
  return stage_within(hooks, cat("policy ", done + 1, " of ", count),
                      static_cast<double>(count - done) * budget_s(settings));
}

bool any_fits(const std::vector<ComparedPolicy>& compared) {
  return std::any_of(compared.begin(), compared.end(),
                     [](const ComparedPolicy& entry) { return entry.fits(); });
}

/// The largest bound that any of them proved is every one's: they are of one problem.
void share_bound(std::vector<ComparedPolicy>& compared) {
  LowerBound largest;
  for (const ComparedPolicy& entry : compared) {
    if (entry.outcome && entry.outcome->bound.us > largest.us) largest = entry.outcome->bound;
  }
  for (ComparedPolicy& entry : compared) {
    if (entry.outcome) entry.outcome->bound = largest;
  }
}

/// Every candidate on the task; once more where a tool's accelerators do not hold what any of them
/// found. `done` of `count` searches were before them.
std::vector<ComparedPolicy> compare_each(Engine& engine, const Task& task, const Policies& policies,
                                         const std::vector<Candidate>& candidates,
                                         const Settings& settings, const RunHooks& hooks,
                                         std::size_t done, std::size_t count) {
  Searches searches(task, settings, hooks);
  std::vector<ComparedPolicy> compared;
  for (const Candidate& candidate : candidates) {
    const std::size_t before = done + compared.size();
    const auto stage = policy_stage(hooks, before, count, settings);
    compared.push_back(
        compare_one(engine, searches, policies, candidate, before == 0, settings, hooks));
  }
  share_bound(compared);
  if (any_fits(compared) || !task.spilled || stopped(hooks)) return compared;
  return compare_each(engine, spilled(task, hooks), policies, candidates, settings, hooks, done,
                      count);
}

std::vector<ComparedPolicy> compare_all(Engine& engine, const Task& task, const Policies& policies,
                                        const std::vector<Candidate>& candidates,
                                        const Settings& settings, const RunHooks& hooks) {
  std::vector<ComparedPolicy> compared =
      compare_each(engine, task, policies, candidates, settings, hooks, 0, candidates.size());
  if (compared.size() > 1 && stopped(hooks)) {
    for (ComparedPolicy& entry : compared) {
      if (!entry.outcome) continue;
      entry.outcome->notes.emplace_back(
          "the comparison was interrupted: its policies had unequal times");
    }
  }
  return compared;
}

std::vector<std::string> policies_of(Engine& engine, const Settings& settings) {
  if (settings.policies && !settings.policies->empty()) return *settings.policies;
  std::vector<std::string> names;
  for (const PluginInfo& plugin : engine.plugins()) {
    if (plugin.kind == PluginKind::policy) names.push_back(plugin.name);
  }
  if (names.empty()) {
    throw Error(ErrorCode::not_found,
                "there are no policies to compare; `berth plugins` says which plugins were found");
  }
  return names;
}

/// A machine as it was named; the text of a file goes by the name in it, with a number where another has that too.
std::string label_of(const std::string& named, const Cluster& cluster,
                     const std::vector<std::string>& taken) {
  if (!named.starts_with('{')) return named;
  std::string label = cluster.name();
  const auto is_taken = [&] { return std::find(taken.begin(), taken.end(), label) != taken.end(); };
  for (int number = 2; is_taken(); ++number) label = cat(cluster.name(), " (", number, ")");
  return label;
}

void sweep(Engine& engine, const std::string& model, Settings settings, const RunHooks& hooks,
           const Policies& policies, const std::vector<Candidate>& candidates,
           const std::function<void(ComparedPolicy)>& each) {
  if (settings.evaluator == EvaluatorKind::measure) {
    throw Error(ErrorCode::invalid_argument,
                "several clusters or seeds are simulated; leave out the evaluator, or compare one "
                "cluster with one seed");
  }
  const std::vector<std::uint64_t> seeds =
      settings.seeds.value_or(std::vector{settings.seed.value_or(hooks.seed)});
  std::vector<std::string> names = settings.clusters.value_or(std::vector<std::string>());
  if (names.empty()) {
    static_cast<void>(make_cluster(settings));  // throws where none is named
    names.push_back(*settings.cluster);
  }
  std::size_t done = 0;
  const std::size_t count = names.size() * seeds.size() * candidates.size();
  std::vector<Settings> machines;
  std::vector<std::string> labels;
  for (const std::string& name : names) {
    machines.push_back(settings);
    machines.back().cluster = name;
    if (const auto from = settings.origins.find("clusters"); from != settings.origins.end()) {
      machines.back().origins["cluster"] = from->second;
    }
    // A wrong name is told before any search.
    labels.push_back(label_of(name, *make_cluster(machines.back()), labels));
  }
  std::shared_ptr<const Graph> graph;
  for (std::size_t i = 0; i < machines.size(); ++i) {
    Settings& machine = machines[i];
    Task task;
    if (graph == nullptr) {
      task = load_task(engine, model, machine, hooks);
      graph = task.problem->shared_graph();
    } else {
      task = make_task(engine, graph, make_cluster(machine), machine);
      task.model = model;
    }
    for (const std::uint64_t seed : seeds) {
      machine.seed = seed;
      for (ComparedPolicy& entry :
           compare_each(engine, task, policies, candidates, machine, hooks, done, count)) {
        entry.cluster = labels[i];
        each(std::move(entry));
      }
      done += candidates.size();
    }
  }
}

}  // namespace

Outcome place(Engine& engine, const Task& task, const Settings& settings, const RunHooks& hooks) {
  return for_tool(engine, settings, hooks, [&]() -> const Task& { return task; });
}

Outcome run(Engine& engine, const std::string& model, const Settings& settings,
            const RunHooks& hooks) {
  if (settings.replicate) return run_replicated(engine, model, settings, hooks);
  std::optional<Task> task;
  Outcome outcome = for_tool(engine, settings, hooks, [&]() -> const Task& {
    return task.emplace(load_task(engine, model, settings, hooks));
  });
  if (outcome.evaluation.feasible && !outcome.executed &&
      (settings.prove.value_or(false) || settings.certificate)) {
    outcome.certificate =
        certify(*outcome.problem, strong_lower_bounds(*outcome.problem, hooks.should_stop));
  }
  return outcome;
}

std::vector<ComparedPolicy> compare(Engine& engine, const Task& task,
                                    std::span<const std::string> policies, const Settings& settings,
                                    const RunHooks& hooks) {
  const Policies maker(engine, hooks);
  return compare_all(engine, task, maker,
                     candidates_of(maker, policies, settings, /*must_exist=*/false), settings,
                     hooks);
}

bool is_sweep(const Settings& settings) {
  return settings.clusters.has_value() || settings.seeds.has_value();
}

std::vector<ComparedPolicy> compare(Engine& engine, const std::string& model,
                                    const Settings& settings, const RunHooks& hooks,
                                    const std::function<void(ComparedPolicy)>& each) {
  const Policies maker(engine, hooks);
  const std::vector<Candidate> candidates =
      candidates_of(maker, policies_of(engine, settings), settings, /*must_exist=*/true);
  if (is_sweep(settings)) {
    sweep(engine, model, settings, hooks, maker, candidates, each);
    return {};
  }
  const Task task = load_task(engine, model, settings, hooks);
  return compare_all(engine, task, maker, candidates, settings, hooks);
}

StoredPlacement read_placement(const std::filesystem::path& path) {
  StoredPlacement stored;
  stored.path = path.string();
  stored.text = read_text(path);
  const Json document = parse_json(stored.text, stored.path);
  const auto text = [](const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  stored.settings.inputs = "any";            // it says itself where they are
  if (!document.is_object()) return stored;  // parse_placement says what is wrong with it
  stored.machine = text(document, "cluster");
  if (const auto made = document.find("provenance"); made != document.end() && made->is_object()) {
    stored.origin.policy = text(*made, "policy");
    stored.origin.model = text(*made, "model");
    stored.origin.whose = text(*made, "whose");
    stored.origin.weights = text(*made, "weights");
    stored.origin.measured_on = text(*made, "measured_on");
    const auto seed = made->find("seed");
    if (seed != made->end() && seed->is_number_unsigned()) stored.origin.seed = *seed;
  }
  if (const auto results = document.find("results");
      results != document.end() && results->is_object()) {
    const auto runtime = results->find("runtime_us");
    if (runtime != results->end() && runtime->is_number()) stored.runtime_us = *runtime;
  }
  if (const auto settings = document.find("settings"); settings != document.end()) {
    stored.settings.add(parse_settings(settings->dump(), stored.path + ": settings"));
  }
  return stored;
}

Outcome simulate(const Task& task, const StoredPlacement& stored, BoundEffort effort) {
  const Problem& problem = *task.problem;
  Placement placement =
      parse_placement(stored.text, stored.path, problem.graph(), problem.cluster());
  Origin origin = stored.origin;
  origin.model = task.model;
  origin.settings = task.settings;
  std::string separated = separated_text(task, placement);
  Outcome outcome =
      simulated_outcome(task.problem, std::move(origin), std::move(placement), effort);
  outcome.notes = task.notes;
  outcome.tool = task.tool;
  outcome.replicas = task.replicas;
  if (task.plain != nullptr) compare_with_one_device(task.plain, outcome);
  if (std::string other = other_machine_text(task, stored); !other.empty()) {
    outcome.notes.push_back(std::move(other));
  }
  if (!separated.empty()) outcome.notes.push_back(std::move(separated));
  return outcome;
}

}  // namespace berth
