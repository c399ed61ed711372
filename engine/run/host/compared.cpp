// Several policies side by side, on one machine or many.
#include <algorithm>
#include <set>
#include <utility>

#include "berth/run.h"
#include "berth/sdk/named_policy.h"
#include "berth/support/text.h"
#include "host/searches.h"
#include "host/simplest_run.h"

namespace berth {
namespace {

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

}  // namespace berth
