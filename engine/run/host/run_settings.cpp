// What settings mean: the engine, the problem and the search that they ask for.
#include <algorithm>
#include <cmath>
#include <utility>

#include "berth/compare.h"
#include "berth/error.h"
#include "berth/files.h"
#include "berth/groups.h"
#include "berth/settings.h"
#include "berth/support/text.h"

namespace berth {
namespace {

template <typename Number>
std::optional<Number> number(const Settings& settings, const char* key) {
  const std::optional<std::int64_t> value = settings.count(key);
  if (!value) return std::nullopt;
  if (!std::in_range<Number>(*value)) {
    throw Error(ErrorCode::invalid_argument,
                cat("the setting ", key, " = ", *value, " is out of range"));
  }
  return static_cast<Number>(*value);
}

/// The policy's options: those of the settings, and the moves where the policy counts any.
OptionTexts options_for(Engine& engine, const std::string& policy, bool first,
                        const Settings& settings) {
  OptionTexts options = first ? settings.options : OptionTexts();
  const auto moves = settings.count("moves");
  if (!moves) return options;
  const PluginInfo info = engine.plugin(PluginKind::policy, policy);
  const bool counts = std::any_of(info.options.begin(), info.options.end(),
                                  [](const auto& option) { return option.name == "moves"; });
  if (counts) options.try_emplace("moves", *moves);
  return options;
}

SettledResult run_policy(Engine& engine, Evaluator& evaluator, const std::string& name,
                         const OptionTexts& options, const PlaceContext& context,
                         const Settings& settings) {
  const std::unique_ptr<Policy> policy = engine.make_policy(name, options);
  SettledResult settled;
  settled.options = engine.options_of(PluginKind::policy, name, options).values();
  settled.policy = name;
  settled.result = place(*policy, evaluator, context, settings.budget_s(), bound_effort(settings));
  return settled;
}

}  // namespace

std::unique_ptr<Engine> make_engine(const Settings& settings) {
  const std::vector<std::string> names = settings.names("plugin_folders");
  auto engine =
      std::make_unique<Engine>(std::vector<std::filesystem::path>(names.begin(), names.end()));
  if (settings.text("plugins")) engine->allow_only(settings.names("plugins"));
  return engine;
}

std::shared_ptr<const Cluster> make_cluster(const Settings& settings) {
  const std::optional<std::string> cluster = settings.text("cluster");
  if (!cluster) {
    throw Error(ErrorCode::invalid_argument,
                "no cluster is named; set \"cluster\" to a preset or a berth.cluster/1 file");
  }
  return load_cluster(*cluster);
}

ProblemChoices problem_choices(const Settings& settings) {
  ProblemChoices choices;
  choices.cost_source = settings.text("costs").value_or("");
  if (const auto grouping = settings.text("grouping")) {
    choices.grouping = grouping_from_name(*grouping);
  }
  choices.group_count = number<GroupId>(settings, "groups");
  if (const auto objective = settings.text("objective")) {
    choices.options.objective = objective_from_name(*objective);
  }
  if (const auto semantics = settings.text("semantics")) {
    choices.options.semantics = semantics_from_name(*semantics);
  }
  choices.constraints = settings.constraints;
  return choices;
}

SettledResult place_as_set(Engine& engine, Evaluator& evaluator, const Settings& settings,
                           PlaceContext context) {
  if (const auto seed = number<std::uint64_t>(settings, "seed")) context.seed = *seed;
  if (const auto threads = number<int>(settings, "threads")) context.threads = *threads;
  std::vector<std::string> names = {settings.text("policy").value_or("auto")};
  for (const std::string& fallback : settings.names("fallbacks")) names.push_back(fallback);
  std::vector<std::string> notes;
  for (std::size_t i = 0;; ++i) {
    const bool last = i + 1 == names.size();
    try {
      const OptionTexts options = options_for(engine, names[i], i == 0, settings);
      SettledResult settled = run_policy(engine, evaluator, names[i], options, context, settings);
      const bool useless =
          settled.result.end == SearchEnd::gave_up || !settled.result.evaluation.feasible;
      if (last || !useless || settled.result.end == SearchEnd::cancelled) {
        std::vector<std::string>& all = settled.result.notes;
        all.insert(all.begin(), notes.begin(), notes.end());
        return settled;
      }
      notes.push_back(
          cat("policy '", names[i], "' ",
              settled.result.end == SearchEnd::gave_up ? "gave up" : "found no placement that fits",
              "; '", names[i + 1], "' was asked instead"));
    } catch (const Error& error) {
      // What the user wrote wrongly is told, not worked around.
      if (last || error.code() == ErrorCode::invalid_argument) throw;
      notes.push_back(cat("policy '", names[i], "' failed (", error.what(), "); '", names[i + 1],
                          "' was asked instead"));
    }
  }
}

}  // namespace berth
