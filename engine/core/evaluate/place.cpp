#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "berth/bound_effort.h"
#include "berth/bounds.h"
#include "berth/error.h"
#include "berth/policy.h"
#include "berth/support/clock.h"
#include "berth/support/text.h"
#include "evaluate/measured_again.h"
#include "evaluate/needed_bound.h"
#include "evaluate/overrun.h"
#include "support/enum_name.h"
#include "support/foreign_call.h"
#include "support/units.h"

namespace berth {

namespace {

constexpr std::string_view kEnds[] = {"done", "proven", "budget", "cancelled", "gave up"};
static_assert(ends_with(kEnds, SearchEnd::gave_up));

constexpr std::string_view kWhose[] = {"own", "passed", "start", "given", "search", "repaired"};
static_assert(ends_with(kWhose, Whose::repaired));

constexpr std::string_view kWeights[] = {"fresh", "shipped", "file", "given"};
static_assert(ends_with(kWeights, Weights::given));

constexpr std::string_view kEfforts[] = {"none", "quick", "strong"};
static_assert(ends_with(kEfforts, BoundEffort::strong));

}  // namespace

std::string_view search_end_name(SearchEnd end) noexcept {
  return name_of(kEnds, end);
}

std::string_view whose_name(Whose whose) noexcept {
  return name_of(kWhose, whose);
}

std::string_view weights_name(Weights weights) noexcept {
  return name_of(kWeights, weights);
}

std::string LearnedFigures::weights_text() const {
  if (!weights) return {};
  const std::string name(weights_name(*weights));
  return updates == 0 ? name : cat(name, ", ", updates, updates == 1 ? " update" : " updates");
}

std::string LearnedFigures::source_text() const {
  switch (whose) {
    case Whose::own:
      return "the policy's own";
    case Whose::passed:
      return "a state that the policy passed";
    case Whose::start:
      return "the start, " + start_name;
    case Whose::given:
      return "one that was given to start from";
    case Whose::search:
      return "found by a search around the policy's";
    case Whose::repaired:
      return "made of the best that it saw, which did not fit in memory";
  }
  return {};
}

std::string LearnedFigures::text() const {
  if (whose == Whose::own) return {};
  const std::string source = source_text();
  if (own.empty()) return source + "; the time ended before the policy had one of its own";
  if (own == best) return source + ", of which the policy moves nothing";
  return cat(source, "; the policy's own: ", format_us(own_evaluation.objective_us),
             own_evaluation.feasible ? "" : ", which does not fit");
}

namespace {

using Clock = std::chrono::steady_clock;

std::string name_of(const Policy& policy) {
  return cat("policy '", policy.name(), "'");
}

/// An exception from a callback of the caller: not the policy's failure. It ends the search, and the
/// policy never sees it, so that none has to be safe against it, in threads of its own or between two
/// lines.
class CallerFailure {
 public:
  /// Whether the call returned; it is not made any more once one has failed.
  template <typename Call>
  bool watch(Call call) {
    if (failed_) return false;
    try {
      call();
      return true;
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (failure_ == nullptr) failure_ = std::current_exception();
      failed_ = true;
      return false;
    }
  }
  void rethrow() const {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

 private:
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

/// The policy's answer; what it throws beside Error becomes an Error naming it.
PolicyAnswer run(Policy& policy, Evaluator& evaluator, const PlaceContext& context) {
  try {
    return call_plugin(name_of(policy), [&] { return policy.place(evaluator, context); });
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::unsupported,
                cat(name_of(policy), " ran out of memory; use fewer groups or another policy"));
  }
}

/// Reasons for which the policy was told to stop. Policies may ask from several threads.
struct Stops {
  std::atomic<bool> caller = false;
  std::atomic<bool> clock = false;
};

/// The clock of a call, the reasons to stop it, and what the caller's callbacks threw.
struct Call {
  Clock::time_point start = Clock::now();
  Stops stops;
  CallerFailure callbacks;
};

/// Has the context ask the clock too, and keeps what its callbacks throw from the policy.
void watch(const std::shared_ptr<Call>& call, double budget_s, PlaceContext& context) {
  context.should_stop = [asked = std::move(context.should_stop), budget_s, call] {
    bool stop = false;
    if (asked && (!call->callbacks.watch([&] { stop = asked(); }) || stop)) {
      call->stops.caller = true;
    }
    if (seconds_since(call->start) >= budget_s) call->stops.clock = true;
    return call->stops.caller || call->stops.clock;
  };
  if (context.progress) {
    context.progress = [report = std::move(context.progress), call](double best_us,
                                                                    const std::string& text) {
      if (!call->callbacks.watch([&] { report(best_us, text); })) call->stops.caller = true;
    };
  }
  context.budget_s = budget_s;
}

/// Whether the caller wants an end, which a policy may have heard already; without the clock.
std::function<bool()> caller_stop(const std::function<bool()>& asked,
                                  const std::shared_ptr<Call>& call) {
  return [asked, call] {
    bool stop = call->stops.caller;
    if (stop || !asked) return stop;
    return !call->callbacks.watch([&] { stop = asked(); }) || stop;
  };
}

void check_starts(const Problem& problem, std::span<const Placement> starts) {
  for (const Placement& start : starts) {
    try {
      problem.validate(start);
    } catch (const Error& error) {
      throw Error(error.code(), cat("a placement to start from is invalid: ", error.what()));
    }
  }
}

/// The policy's answer, and in `result` what it took.
PolicyAnswer answer_of(Policy& policy, Evaluator& evaluator, const PlaceContext& context,
                       const Call& call, PlaceResult& result) {
  const std::int64_t evaluations_before = evaluator.evaluations();
  const std::int64_t simulated_ops_before = evaluator.simulated_ops();
  PolicyAnswer answer = [&] {
    try {
      return run(policy, evaluator, context);
    } catch (...) {
      call.callbacks.rethrow();
      throw;
    }
  }();
  call.callbacks.rethrow();
  result.evaluations = evaluator.evaluations() - evaluations_before;
  result.simulated_ops = evaluator.simulated_ops() - simulated_ops_before;
  result.wall_s = seconds_since(call.start);
  return answer;
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

/// An answer says of itself no more than a policy can know, and has placements of this problem's ops.
void check_contract(const Policy& policy, const Problem& problem, const PolicyAnswer& answer) {
  const auto breaks = [&](const std::string& what) {
    throw Error(ErrorCode::invalid_argument, cat(name_of(policy), " breaks its contract: ", what));
  };
  constexpr SearchEnd kOwnEnds[] = {SearchEnd::done, SearchEnd::budget, SearchEnd::gave_up};
  if (std::find(std::begin(kOwnEnds), std::end(kOwnEnds), answer.end) == std::end(kOwnEnds)) {
    breaks("its search ended otherwise than with done, budget or gave_up (PolicyAnswer::end)");
  }
  if (!answer.learned) return;
  const LearnedAnswer& learned = *answer.learned;
  if (!has_name(kWhose, learned.whose)) breaks("LearnedAnswer::whose has no such value");
  if (learned.weights && !has_name(kWeights, *learned.weights)) {
    breaks("LearnedAnswer::weights has no such value");
  }
  if (learned.updates < 0) breaks("LearnedAnswer::updates is below 0");
  for (const Placement* placement : {&learned.own, &learned.start}) {
    const auto ops = static_cast<std::size_t>(problem.graph().op_count());
    if (placement->empty() || placement->size() == ops) continue;
    breaks(
        cat("a placement of LearnedAnswer has ", placement->size(), " devices for ", ops, " ops"));
  }
}

/// The evaluation of an answer, the best single device's, and the bound.
void judge(const Policy& policy, Evaluator& evaluator, const PolicyAnswer& answer,
           BoundEffort effort, const std::function<bool()>& should_stop, PlaceResult& result) {
  try {
    evaluator.problem().validate(answer.placement);
  } catch (const Error& error) {
    throw Error(error.code(),
                cat(name_of(policy), " returned an invalid placement: ", error.what()));
  }
  check_contract(policy, evaluator.problem(), answer);
  result.evaluation = evaluator.evaluate(answer.placement);
  if (!evaluator.measures()) check_proven(policy, answer.proven, result.evaluation);
  result.best_single = best_single_device(evaluator);
  result.bound = needed_bound(evaluator, result.evaluation, effort, should_stop);
  if (!evaluator.measures() && answer.proven.us > result.bound.us) result.bound = answer.proven;
  // An evaluator of the caller's that says less than the costs can bear: bounds of these say nothing of it.
  if (result.evaluation.feasible && result.evaluation.objective_us < result.bound.us * (1 - 1e-6)) {
    result.bound = {};
    result.notes.emplace_back(
        "no bound is known: the evaluator finds less than what the problem's costs allow; one of a "
        "machine, or of other "
        "costs, measures");
  }
}

/// The figures of a policy that learns, beside those of its answer.
LearnedFigures figures_of(Evaluator& evaluator, LearnedAnswer learned, const PlaceResult& result) {
  // Episodes start and end where rules that no mask of one step can hold may be broken, such as two
  // groups that are to be apart: such a placement is nobody's answer, and has no figure.
  const auto is_valid = [&](const Placement& placement) {
    try {
      evaluator.problem().validate(placement);
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  LearnedFigures figures;
  figures.whose = learned.whose;
  figures.weights = learned.weights;
  figures.updates = learned.updates;
  figures.best = result.placement;
  figures.best_evaluation = result.evaluation;
  figures.own = std::move(learned.own);
  if (figures.own == figures.best) {
    figures.own_evaluation = figures.best_evaluation;
  } else if (is_valid(figures.own)) {
    figures.own_evaluation = evaluator.evaluate(figures.own);
  } else {
    figures.own.clear();
  }
  if (is_valid(learned.start)) {
    Evaluation start = evaluator.evaluate(learned.start);
    // One that overflows a memory is no measure of an answer that does not.
    if (start.feasible || !figures.best_evaluation.feasible) {
      figures.start = std::move(start);
      figures.start_name = std::move(learned.start_name);
    }
  }
  return figures;
}

}  // namespace

BoundEffort bound_effort_from_name(std::string_view name) {
  return value_by_name<BoundEffort>("no effort for a bound", name, kEfforts);
}

std::string_view bound_effort_name(BoundEffort effort) noexcept {
  return name_of(kEfforts, effort);
}

std::function<bool()> bound_stop(std::function<bool()> asked, double budget_s) {
  constexpr double kLeast_s = 1;
  return [asked = std::move(asked), most_s = std::max(kLeast_s, budget_s), start = Clock::now()] {
    return (asked && asked()) || seconds_since(start) >= most_s;
  };
}

LowerBound lower_bound(const Problem& problem, BoundEffort effort,
                       const std::function<bool()>& should_stop) {
  switch (effort) {
    case BoundEffort::none:
      return {};
    case BoundEffort::quick:
      return lower_bound(problem);
    case BoundEffort::strong:
      break;
  }
  return strong_lower_bound(problem, should_stop);
}

PlaceResult place(Policy& policy, Evaluator& evaluator, PlaceContext context, double budget_s) {
  return place(policy, evaluator, std::move(context), budget_s, BoundEffort::strong);
}

PlaceResult place(Policy& policy, Evaluator& evaluator, PlaceContext context, double budget_s,
                  BoundEffort effort) {
  if (std::isnan(budget_s) || budget_s < 0) {
    throw Error(ErrorCode::invalid_argument,
                cat("a budget of ", budget_s, " s; give a number of seconds >= 0"));
  }
  const auto call = std::make_shared<Call>();
  const std::function<bool()> asked = context.should_stop;
  watch(call, budget_s, context);
  check_starts(evaluator.problem(), context.initial);

  PlaceResult result;
  Finalists finalists(evaluator);
  Evaluator& asked_by_policy = evaluator.measures() ? finalists : evaluator;
  PolicyAnswer answer = answer_of(policy, asked_by_policy, context, *call, result);
  const std::function<bool()> cancelled = caller_stop(asked, call);
  judge(policy, evaluator, answer, effort, bound_stop(cancelled, budget_s), result);
  call->callbacks.rethrow();
  result.end = end_of(answer, result, call->stops);
  result.notes.insert(result.notes.begin(), std::make_move_iterator(answer.notes.begin()),
                      std::make_move_iterator(answer.notes.end()));
  result.placement = std::move(answer.placement);
  if (answer.learned) {
    result.learned = figures_of(evaluator, std::move(*answer.learned), result);
  }
  if (evaluator.measures()) {
    measure_again(evaluator, finalists.best(), cancelled, result);
    call->callbacks.rethrow();
  }
  if (result.learned) {
    if (result.learned->weights == Weights::fresh && result.learned->updates == 0) {
      result.notes.insert(result.notes.begin(), "the weights are fresh: nothing was learned");
    }
    if (const std::string whose = result.learned->text(); !whose.empty()) {
      result.notes.push_back("this placement is " + whose);
    }
  }
  if (std::string late = overrun_text(name_of(policy), result.wall_s, budget_s); !late.empty()) {
    result.notes.push_back(std::move(late));
  }
  return result;
}

}  // namespace berth
