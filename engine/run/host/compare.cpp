#include "berth/compare.h"

#include <utility>

#include "berth/evaluator.h"

namespace berth {
namespace {

std::unique_ptr<Evaluator> evaluator_of(const std::shared_ptr<const Problem>& problem,
                                        const Settings& settings, const PlaceContext& context) {
  const auto threads = settings.count("threads").value_or(context.threads);
  return make_simulation_evaluator(problem, static_cast<int>(threads));
}

Outcome place_with(Engine& engine, std::shared_ptr<const Problem> problem, Evaluator& evaluator,
                   const Settings& settings, const PlaceContext& context) {
  SettledResult settled = place_as_set(engine, evaluator, settings, context);
  Origin origin;
  origin.policy = std::move(settled.policy);
  origin.options = std::move(settled.options);
  const auto seed = settings.count("seed");
  origin.seed = seed ? static_cast<std::uint64_t>(*seed) : context.seed;
  return searched_outcome(std::move(problem), std::move(origin), std::move(settled.result));
}

}  // namespace

BoundEffort bound_effort(const Settings& settings) {
  return bound_effort_from_name(settings.text("bound").value_or("strong"));
}

Outcome place_outcome(Engine& engine, std::shared_ptr<const Problem> problem,
                      const Settings& settings, const PlaceContext& context) {
  const auto evaluator = evaluator_of(problem, settings, context);
  return place_with(engine, std::move(problem), *evaluator, settings, context);
}

std::vector<ComparedPolicy> compare_policies(Engine& engine,
                                             const std::shared_ptr<const Problem>& problem,
                                             std::span<const std::string> policies,
                                             const Settings& settings,
                                             const PlaceContext& context) {
  const std::string set = settings.text("policy").value_or("");
  Settings alone = settings;
  alone.values.erase("fallbacks");
  const auto evaluator = evaluator_of(problem, settings, context);  // computes the bound once
  std::vector<ComparedPolicy> compared;
  for (const std::string& name : policies) {
    ComparedPolicy& entry = compared.emplace_back();
    entry.name = name;
    alone.values["policy"] = name;
    alone.options = name == set ? settings.options : OptionTexts();
    try {
      entry.outcome = place_with(engine, problem, *evaluator, alone, context);
    } catch (const Error& error) {
      entry.code = error.code();
      entry.failure = error.what();
    }
  }
  return compared;
}

}  // namespace berth
