#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "berth/error.h"
#include "berth/policy.h"
#include "berth/support/text.h"

namespace berth {

std::string_view search_end_name(SearchEnd end) noexcept {
  switch (end) {
    case SearchEnd::done:
      return "done";
    case SearchEnd::proven:
      return "proven";
    case SearchEnd::budget:
      return "budget";
    case SearchEnd::cancelled:
      return "cancelled";
    case SearchEnd::gave_up:
      return "gave up";
  }
  return "done";
}

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string name_of(const Policy& policy) {
  return cat("policy '", policy.name(), "'");
}

/// The policy's answer; what it throws beside Error becomes an Error naming it.
PolicyAnswer run(Policy& policy, Evaluator& evaluator, const PlaceContext& context) {
  try {
    return policy.place(evaluator, context);
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::unsupported,
                cat(name_of(policy), " ran out of memory; use fewer groups or another policy"));
  } catch (const std::exception& error) {
    throw Error(ErrorCode::invalid_argument,
                cat(name_of(policy), " failed with an error of its own: ", error.what()));
  } catch (...) {
    throw Error(ErrorCode::invalid_argument,
                cat(name_of(policy), " failed with an error that says nothing; mend the plugin"));
  }
}

/// Who has told the policy to stop. Policies may ask from several threads.
struct Stops {
  std::atomic<bool> caller = false;
  std::atomic<bool> clock = false;
};

/// Sums in different orders apart, `evaluation` is as low as the bound.
bool reaches(const Evaluation& evaluation, const LowerBound& bound) {
  constexpr double kRounding = 1e-9;
  return evaluation.feasible && evaluation.objective_us <= bound.us * (1 + kRounding);
}

SearchEnd end_of(const PolicyAnswer& answer, const PlaceResult& result, const Stops& stops) {
  if (reaches(result.evaluation, result.bound)) return SearchEnd::proven;
  if (answer.end == SearchEnd::gave_up) return SearchEnd::gave_up;
  if (stops.caller) return SearchEnd::cancelled;
  if (stops.clock) return SearchEnd::budget;
  return answer.end;
}

/// Rounding apart, no feasible placement is below a proven bound.
void check_proven(const Policy& policy, const LowerBound& proven, const Evaluation& evaluation) {
  constexpr double kRounding = 1e-9;
  if (!evaluation.feasible || proven.us <= evaluation.objective_us * (1 + kRounding)) return;
  throw Error(ErrorCode::invalid_argument,
              cat(name_of(policy), " claims that nothing below ", proven.us, " us exists (",
                  proven.source, ") and returned a placement of ", evaluation.objective_us, " us"));
}

}  // namespace

PlaceResult place(Policy& policy, Evaluator& evaluator, PlaceContext context, double budget_s) {
  if (std::isnan(budget_s) || budget_s < 0) {
    throw Error(ErrorCode::invalid_argument,
                cat("a budget of ", budget_s, " s; give a number of seconds >= 0"));
  }
  const auto start = Clock::now();
  const auto stops = std::make_shared<Stops>();
  context.should_stop = [asked = std::move(context.should_stop), start, budget_s, stops] {
    if (asked && asked()) stops->caller = true;
    if (seconds_since(start) >= budget_s) stops->clock = true;
    return stops->caller || stops->clock;
  };
  context.budget_s = budget_s;
  for (const Placement& initial : context.initial) {
    try {
      evaluator.problem().validate(initial);
    } catch (const Error& error) {
      throw Error(error.code(), cat("a placement to start from is invalid: ", error.what()));
    }
  }

  PlaceResult result;
  const std::int64_t evaluations_before = evaluator.evaluations();
  PolicyAnswer answer = run(policy, evaluator, context);
  result.evaluations = evaluator.evaluations() - evaluations_before;
  result.wall_s = seconds_since(start);

  try {
    evaluator.problem().validate(answer.placement);
  } catch (const Error& error) {
    throw Error(error.code(),
                cat(name_of(policy), " returned an invalid placement: ", error.what()));
  }
  result.evaluation = evaluator.evaluate(answer.placement);
  if (!evaluator.measures()) check_proven(policy, answer.proven, result.evaluation);
  result.best_single = best_single_device(evaluator);
  if (!evaluator.measures()) {
    result.bound = lower_bound(evaluator.problem());
    if (answer.proven.us > result.bound.us) result.bound = answer.proven;
  }
  result.end = end_of(answer, result, *stops);
  result.placement = std::move(answer.placement);
  result.notes = std::move(answer.notes);
  return result;
}

}  // namespace berth
