#include <boost/core/demangle.hpp>
#include <chrono>
#include <cmath>
#include <exception>
#include <new>
#include <typeinfo>
#include <utility>

#include "berth/error.h"
#include "berth/policy.h"
#include "berth/support/text.h"

namespace berth {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A policy does not know its own name; its class is what a message can tell.
std::string name_of(const Policy& policy) {
  return cat("policy ", boost::core::demangle(typeid(policy).name()));
}

/// The policy's answer; what it throws beside Error and bad_alloc becomes an Error naming it.
Placement run(Policy& policy, Evaluator& evaluator, PlaceContext& context) {
  try {
    return policy.place(evaluator.problem(), evaluator, context);
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(ErrorCode::invalid_argument,
                cat(name_of(policy), " failed with an error of its own: ", error.what()));
  }
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
  context.should_stop = [asked = std::move(context.should_stop), start, budget_s] {
    return (asked && asked()) || seconds_since(start) >= budget_s;
  };
  context.budget_s = budget_s;
  context.proven = {};
  for (const Placement& initial : context.initial) {
    try {
      evaluator.problem().validate(initial);
    } catch (const Error& error) {
      throw Error(error.code(), cat("a placement to start from is invalid: ", error.what()));
    }
  }

  PlaceResult result;
  const std::int64_t evaluations_before = evaluator.evaluations();
  result.placement = run(policy, evaluator, context);
  result.evaluations = evaluator.evaluations() - evaluations_before;
  result.wall_s = seconds_since(start);

  try {
    evaluator.problem().validate(result.placement);
  } catch (const Error& error) {
    throw Error(error.code(),
                cat(name_of(policy), " returned an invalid placement: ", error.what()));
  }
  result.evaluation = evaluator.evaluate(result.placement);
  check_proven(policy, context.proven, result.evaluation);
  result.best_single = best_single_device(evaluator);
  result.bound = lower_bound(evaluator.problem());
  if (context.proven.us > result.bound.us) result.bound = std::move(context.proven);
  return result;
}

}  // namespace berth
