/// @file
/// Policies find placements. Also: what a policy is given, and how its answer is checked.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/evaluator.h"
#include "berth/export.h"
#include "berth/options.h"
#include "berth/problem.h"

namespace berth {

/// The input of a policy besides the evaluator.
struct PlaceContext {
  std::uint64_t seed = 0;  ///< the only source of randomness
  /// Policies that search ask it regularly. True = return the best placement so far, now. Covers
  /// the time budget and Ctrl-C. Never empty in a policy that is called through `place`. Called on
  /// the thread that called `place`; a plugin of somebody else's may ask on threads of its own.
  /// Its exceptions pass through `place` unchanged.
  std::function<bool()> should_stop;
  /// The whole time budget in seconds, for policies that plan ahead. With infinity (no budget) a
  /// policy that could search for ever must end by itself. should_stop says when the budget is used
  /// up. Set by `place`.
  double budget_s = std::numeric_limits<double>::infinity();
  /// Placements to start from, such as samples of another policy. A policy may ignore them. Each is
  /// valid (Problem::validate) but need not fit in memory.
  std::vector<Placement> initial;
  /// Called with the best objective so far and a short text on what the policy is doing. May be
  /// empty. On which threads, and what it may throw: as should_stop.
  std::function<void(double best_us, const std::string& text)> progress;
  /// A policy that searches on threads of its own uses no more than these; 0 = one per core. The
  /// threads of an evaluator are bounded where that is made.
  int threads = 0;

  /// Whether to return the best so far now.
  [[nodiscard]] bool stopped() const { return should_stop && should_stop(); }
};

/// Why a search ended.
enum class SearchEnd {
  done,       ///< the policy did everything it does
  proven,     ///< no placement is better
  budget,     ///< the time, or a limit among the policy's options, was used up
  cancelled,  ///< the caller stopped it
  gave_up,    ///< the policy cannot search a problem like this; a note says why
};
/// "done", "proven", "budget", "cancelled" or "gave up".
[[nodiscard]] BERTH_EXPORT std::string_view search_end_name(SearchEnd end) noexcept;

/// Whose a placement is that a policy which learns returns.
enum class Whose {
  own,       ///< the policy decided all of it, greedily, with the weights it has in the end
  passed,    ///< a state on the way, or a draw while it learned: the best that it saw
  start,     ///< an episode began there
  given,     ///< among PlaceContext::initial
  search,    ///< of a search around the policy's placement
  repaired,  ///< made of the best that it saw, which did not fit in memory
};
/// "own", "passed", "start", "given", "search" or "repaired".
[[nodiscard]] BERTH_EXPORT std::string_view whose_name(Whose whose) noexcept;

/// The weights that a policy which learns began with.
enum class Weights {
  fresh,    ///< random
  shipped,  ///< those that come with Berth
  file,     ///< of a file: the option `weights`, or one that a script loaded
  given,    ///< set by a program
};
/// "fresh", "shipped", "file" or "given".
[[nodiscard]] BERTH_EXPORT std::string_view weights_name(Weights weights) noexcept;

/// Facts about the answer of a policy that learns, so that nobody takes its start for what it learned.
struct LearnedAnswer {
  Whose whose = Whose::own;  ///< PolicyAnswer::placement
  /// The placement with which the last greedy episode ended. Empty = the time ended before one was over.
  Placement own = {};
  /// The best of the starts. Empty = there is none: the policy decides all at once, or from a draw.
  Placement start = {};
  std::string start_name = {};          ///< "list scheduling", for messages
  std::optional<Weights> weights = {};  ///< none = the policy does not say
  std::int64_t updates = 0;             ///< that changed the weights since then
};

/// The answer of a policy.
struct PolicyAnswer {
  PolicyAnswer(Placement found) : placement(std::move(found)) {}  // NOLINT: a placement suffices

  /// A placement that Problem::validate accepts: one device per op, with device kinds, constraints
  /// and co-location kept. It fits in memory if the policy can achieve that.
  Placement placement;
  /// A lower bound of the objective that the policy proved. It must hold for all feasible
  /// placements of ops, not only of the policy's groups. 0 = none. `place` reports it if it is
  /// larger than the bounds it knows.
  LowerBound proven = {};
  /// done, budget (a limit of the policy's own) or gave_up. `place` finds out the other two.
  SearchEnd end = SearchEnd::done;
  /// Notes for the user about this placement. Each is a sentence without a full stop.
  std::vector<std::string> notes = {};
  std::optional<LearnedAnswer> learned = {};  ///< of a policy that learns
};

class Policy;

/// Makes an installed policy by name. Throws as Engine::make_policy does: Error(not_found) for a
/// name that is not installed. A policy that runs other policies is constructed with one.
/// [thread-safe]
using PolicyMaker =
    std::function<std::unique_ptr<Policy>(std::string_view name, const OptionTexts& options)>;

/// Finds a placement. [thread-compatible]
class BERTH_EXPORT Policy {
 public:
  virtual ~Policy();

  /// Finds a placement for the problem of `evaluator`. A policy that knows that nothing it can
  /// produce fits throws Error(infeasible) saying what is short. The same problem, options and seed
  /// give the same placement, on any number of threads.
  virtual PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) = 0;

  /// Whether PlaceContext::initial changes what it finds. One that says no may still give one of them where it is
  /// told to stop before it has anything.
  [[nodiscard]] virtual bool takes_starts() const { return true; }

  /// The plugin's name, for messages. Whoever makes the policy sets it.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

 private:
  std::string name_ = "unnamed";
};

/// The figures of a policy that learns: its own placement, the best that it saw, its start. The first is
/// what is called the policy's.
struct LearnedFigures {
  Whose whose = Whose::own;  ///< the best
  Placement own;             ///< empty = the time ended before there was one
  Evaluation own_evaluation;
  Placement best;
  Evaluation best_evaluation;
  std::optional<Evaluation> start;
  std::string start_name;
  std::optional<Weights> weights;  ///< none = the policy does not say
  std::int64_t updates = 0;        ///< of the weights since then

  /// Whose the best is: "the start, list scheduling".
  [[nodiscard]] BERTH_EXPORT std::string source_text() const;
  /// "the start, list scheduling; the policy's own: 17.1 ms"; empty where the best is the policy's own.
  [[nodiscard]] BERTH_EXPORT std::string text() const;
  /// "shipped", "fresh, 40 updates"; empty where the policy does not say.
  [[nodiscard]] BERTH_EXPORT std::string weights_text() const;
};

/// A placement with the figures that people ask for next.
struct PlaceResult {
  Placement placement;
  Evaluation evaluation;
  SingleDevice best_single;  ///< always evaluated, for comparison
  /// Evaluator::bound, or what the policy proved where that is more.
  LowerBound bound;
  std::int64_t evaluations = 0;    ///< of the policy; see SearchWork
  std::int64_t simulated_ops = 0;  ///< the same
  double wall_s = 0;
  SearchEnd end = SearchEnd::done;
  std::vector<std::string> notes;  ///< as in PolicyAnswer
  /// Set by a policy that learns. `placement` is then its best; a note says whose it is.
  std::optional<LearnedFigures> learned;

  /// objective / bound - 1. 0 = proven optimal; infinity if the bound is 0.
  [[nodiscard]] double gap() const noexcept {
    return bound.us > 0 ? evaluation.objective_us / bound.us - 1
                        : std::numeric_limits<double>::infinity();
  }
};

/// Runs `policy`, checks its answer (Problem::validate) and evaluates it. Placements in
/// `context.initial` are validated first. `budget_s` is the time budget in seconds, >= 0; infinity
/// = none. `should_stop` of `context` is wrapped to cover the budget too. A policy that breaks its
/// contract or throws anything but Error causes an Error naming it; so does one that proves a bound
/// above its own answer. One that goes on after its budget has a note that says so.
///
/// With an evaluator that measures, a search is measured again before it answers: the best
/// few, its answer and one device, in turn, and the best median is the result's. A policy that measured
/// fewer than two placements chose by other means, and its answer stands.
///
/// The bound of the result comes after the search, and takes as long as the budget at most, or a second
/// where that is longer. `should_stop` of the caller ends it, and it alone, once the policy has answered.
///
/// Everything runs on the calling thread, and on the threads of evaluator and policy until it
/// returns. The result depends on the problem, the options and the seed alone, unless a finite
/// budget ends the search: that depends on the machine. For a search that is limited and repeatable
/// give the policy a limit in its own options ("moves" of auto, "nodes" of exact).
[[nodiscard]] BERTH_EXPORT PlaceResult place(Policy& policy, Evaluator& evaluator,
                                             PlaceContext context, double budget_s);

}  // namespace berth
