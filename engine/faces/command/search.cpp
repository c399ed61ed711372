#include "search.h"

#include <spdlog/fmt/fmt.h>

#include <utility>
#include <vector>

#include "berth/bounds.h"
#include "berth/error.h"
#include "support/units.h"

namespace berth::command {

std::unique_ptr<Policy> NamedPolicies::make(const std::string& name, const OptionTexts& options) {
  if (!is_script(name)) {
    return engine_.make_policy(name, options,
                               [this](std::string_view other, const OptionTexts& other_options) {
                                 return make(std::string(other), other_options);
                               });
  }
  if (!scripts_) scripts_.emplace(engine_);
  return scripts_->make_policy(name, options);
}

std::map<std::string, OptionValue, std::less<>> NamedPolicies::resolved(
    const std::string& name, const OptionTexts& options) const {
  if (is_script(name)) return {options.begin(), options.end()};
  return engine_.options_of(PluginKind::policy, name, options).values();
}

Search::Search(std::shared_ptr<const Problem> problem, std::shared_ptr<Session> session,
               const ProblemChoices& choices, const SearchChoices& search)
    : problem_(std::move(problem)),
      session_(std::move(session)),
      evaluator_(session_ == nullptr
                     ? make_simulation_evaluator(problem_, choices.threads.value_or(0))
                     : make_measuring_evaluator(problem_, session_)),
      threads_(choices.threads.value_or(0)),
      seed_(search.seed.value_or(0)),
      budget_s_(search.budget_s()),
      bound_(bound_effort_from_name(search.bound.value_or("strong"))) {
  if (!search.log.empty()) log_ = std::make_unique<EventLog>(search.log);
}

Outcome Search::run(Policy& policy, Origin origin) {
  PlaceContext context;
  context.seed = seed_;
  context.threads = threads_;
  context.should_stop = [] { return InterruptGuard::interrupted(); };
  Stage stage(
      fmt::format("{} places {} groups", origin.policy, format_count(problem_->groups().count())));
  stage.ends_within(budget_s_);
  context.progress = [&stage, this](double best_us, const std::string& text) {
    stage.show(fmt::format("best so far {}  {}", format_us(best_us), text));
    if (log_ != nullptr) log_->progress(best_us, text);
  };
  // Measured runtimes have no bound.
  const bool bounded = log_ != nullptr && session_ == nullptr;
  if (log_ != nullptr) {
    log_->start(*problem_, origin, budget_s_, bounded ? lower_bound(*problem_).us : 0);
  }
  PlaceResult result = [&] {
    try {
      return place(policy, *evaluator_, std::move(context), budget_s_, bound_);
    } catch (const Error& error) {
      if (log_ != nullptr) log_->fail(error.what());
      throw;
    }
  }();
  origin.seed = seed_;
  Outcome outcome = searched_outcome(problem_, std::move(origin), std::move(result));
  if (log_ != nullptr) log_->end(outcome);
  if (session_ == nullptr) return outcome;
  outcome.executed = true;
  if (outcome.evaluation.feasible) {
    MeasureOptions options;
    options.trace = true;
    outcome.trace = berth::measure(*session_, outcome.placement, options).step.trace;
  }
  return outcome;
}

}  // namespace berth::command
