#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>

#include "berth/constraints.h"
#include "berth/error.h"
#include "berth/sdk/learning.h"
#include "berth/sdk/neighbourhoods.h"
#include "berth/sdk/repair.h"
#include "berth/support/clock.h"
#include "berth/support/text.h"
#include "learn/advantages.h"
#include "learn/neighbourhoods.h"

namespace berth {
namespace {

/// Training starts anew after so many updates, but for its last part.
constexpr std::int64_t kUpdatesPerStart = 5;
constexpr double kPolishing = 0.25;
/// Updates that last while the time does have this share of the budget: what follows is a greedy pass with
/// what was learned, or a search of neighbourhoods.
constexpr double kLearning = 0.95;
constexpr double kLearningBeforeSearch = 0.5;
/// How long the first update is taken to be, in times of sampling what it learns from.
constexpr double kFirstUpdate = 3;

bool take(Judged& best, const Rollout& rollout) {
  bool any = false;
  for (const Rollout::Episode& episode : rollout.episodes) {
    if (episode.best.empty()) continue;
    any = best.take(episode.best, episode.best_evaluation) || any;
  }
  return any;
}

/// A start of episodes, with its name for messages.
struct Start {
  Judged judged;
  std::string name;
};

/// Starts of episodes when nothing better is known: all on the best single device, where one
/// holds everything; one run of the topological order per device; list scheduling.
std::vector<Start> plain_starts(Evaluator& evaluator) {
  const Problem& problem = evaluator.problem();
  std::vector<Start> starts;
  const SingleDevice single = best_single_device(evaluator);
  if (single.device != kNoDevice) {
    starts.push_back({{single.placement, single.evaluation}, "one device"});
  }
  const auto add = [&](const GroupPlacement& start, const char* name) {
    const Placement placement = problem.groups().expand(start);
    starts.push_back({{placement, evaluator.evaluate(placement)}, name});
  };
  add(contiguous_placement(problem), "one run of groups per device");
  add(earliest_placement(problem), "list scheduling");
  return starts;
}

/// Entropy of a decision, in nats, below which no other is drawn in millions of them.
constexpr double kCertain = 1e-6;

/// Whether the policy is certain of every decision, so that no gradient tells it of another.
bool certain(const Rollout& rollout) {
  bool decided = false;
  for (const Rollout::Episode& episode : rollout.episodes) {
    for (const double entropy : episode.entropy) {
      if (entropy >= kCertain) return false;
      decided = true;
    }
  }
  return decided;
}

/// Which updates are made: so many, or as many as the time allows.
class Course {
 public:
  using Clock = std::chrono::steady_clock;

  /// The budget counts from `began`.
  Course(const RefineOptions& options, const PlaceContext& context, Clock::time_point began)
      : updates_(options.updates), began_(began) {
    if (!timed()) return;
    if (!std::isfinite(context.budget_s)) updates_ = 0;
    budget_s_ = context.budget_s;
    learning_s_ =
        context.budget_s * (options.neighbourhood > 0 ? kLearningBeforeSearch : kLearning);
  }

  [[nodiscard]] bool learns() const noexcept { return updates_ != 0; }
  [[nodiscard]] bool timed() const noexcept { return updates_ < 0; }
  /// The share left before an update; at most 0 when it is over.
  [[nodiscard]] double left(std::int64_t update) const {
    if (timed()) return 1 - seconds_since(began_) / learning_s_;
    if (!learns()) return 0;
    return 1 - static_cast<double>(update) / static_cast<double>(updates_);
  }
  /// Whether there is time for what takes `s`.
  [[nodiscard]] bool allows(double s) const {
    return !timed() || seconds_since(began_) + s < learning_s_;
  }
  /// The same, up to the end of the budget.
  [[nodiscard]] bool leaves(double s) const {
    return !timed() || seconds_since(began_) + s < budget_s_;
  }

 private:
  std::int64_t updates_;
  Clock::time_point began_;
  double learning_s_ = 0, budget_s_ = 0;
};

/// Looks for a placement of the groups of one evaluator, by episodes of the policy.
class Refinement {
 public:
  Refinement(LearnedPolicy& policy, Evaluator& evaluator, const PlaceContext& context,
             const RefineOptions& options, const Course& course)
      : policy_(policy),
        evaluator_(evaluator),
        problem_(evaluator.problem()),
        context_(context),
        options_(options),
        course_(course),
        plain_(options.starts == RefineOptions::Starts::known ? plain_starts(evaluator)
                                                              : std::vector<Start>()),
        seeds_(context.seed) {
    how_.seed = context.seed;
    how_.should_stop = context.should_stop;
  }

  /// The best placement seen, with the policy's own and its start beside it.
  LearnedAnswer run() {
    for (const Placement& given : context_.initial) {
      take(given, evaluator_.evaluate(given), Whose::given);
    }
    for (const Start& start : plain_) {
      take(start.judged.placement, start.judged.evaluation, Whose::start);
      if (first_.judged.take(start.judged.placement, start.judged.evaluation)) {
        first_.name = start.name;
      }
    }
    if (options_.starts != RefineOptions::Starts::random) greedy_passes(starts());
    learn();
    if (best_.placement.empty()) {  // no start is known, and nothing was learned
      const Placement drawn = problem_.groups().expand(random_placement(problem_, seeds_));
      take(drawn, evaluator_.evaluate(drawn), Whose::passed);
    }
    if (updates_ > 0 || options_.starts == RefineOptions::Starts::random) {
      own_ = {};  // of weights that are no more
      std::vector<Judged> from = starts();
      if (options_.starts != RefineOptions::Starts::none) from.push_back(best_);
      greedy_passes(std::move(from));
    }
    LearnedAnswer answer;
    answer.whose = own_.placement == best_.placement && !kept_ ? Whose::own : whose_;
    answer.own = own_.placement;
    answer.start = first_.judged.placement;
    answer.start_name = first_.name;
    return answer;
  }

  [[nodiscard]] const Judged& best() const { return best_; }
  /// Whether the policy's own is where its episode began.
  [[nodiscard]] bool kept() const { return kept_; }

  /// How many updates there were, if time decided, and why they taught nothing.
  [[nodiscard]] std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    if (course_.timed()) notes.push_back(cat("learned on this graph in ", updates_, " updates"));
    if (updates_ > 0 && always_certain_) {
      notes.push_back(cat("nothing was learned: in all of ", updates_,
                          " updates the policy was certain of every decision"));
    }
    if (updates_ > 0 && always_flat_) {
      notes.push_back(
          cat("nothing was learned: in all of ", updates_,
              " updates placements of different runtimes got the same rewards; a reward "
              "of the runtime's logarithm (reward=log) tells them apart"));
    }
    return notes;
  }

 private:
  [[nodiscard]] GroupPlacement start_at(const Judged& start) const {
    GroupPlacement at = group_placement(problem_, start.placement);
    keep_to_kinds(problem_, at);
    return at;
  }

  /// The start of an update's episodes.
  GroupPlacement begin_at(const Judged& from) {
    if (options_.starts == RefineOptions::Starts::none) return zero_placement(problem_);
    return plain_.empty() ? random_placement(problem_, seeds_) : start_at(from);
  }

  /// The plain ones, or what stands in for a start where nothing but whole placements counts.
  [[nodiscard]] std::vector<Judged> starts() const {
    std::vector<Judged> starts;
    for (const Start& start : plain_) starts.push_back(start.judged);
    if (options_.starts == RefineOptions::Starts::none) {
      starts.push_back({problem_.groups().expand(zero_placement(problem_)), {}});
    }
    return starts;
  }

  bool take(const Placement& placement, const Evaluation& evaluation, Whose whose) {
    if (!best_.take(placement, evaluation)) return false;
    whose_ = whose;
    // An episode's best may be where it began.
    for (const Start& start : plain_) {
      if (start.judged.placement == placement) whose_ = Whose::start;
    }
    return true;
  }

  /// Into rollout_.
  void play(const std::string& what) {
    Evaluator* const evaluators[] = {&evaluator_};
    policy_.rollout(evaluators, how_, rollout_);
    const bool whole = options_.starts == RefineOptions::Starts::none;
    bool better = false;
    for (const Rollout::Episode& episode : rollout_.episodes) {
      if (whole && rollout_.tape != nullptr) {
        better = take(episode.last, episode.evaluations.back(), Whose::passed) || better;
      } else if (!whole && !episode.best.empty()) {
        better = take(episode.best, episode.best_evaluation, Whose::passed) || better;
      }
    }
    if (better && best_.evaluation.feasible && context_.progress) {
      context_.progress(best_.evaluation.objective_us, what);
    }
  }

  /// From every start for itself until none gets better: what each leads to differs.
  void greedy_passes(std::vector<Judged> at) {
    std::vector<Placement> began;
    for (const Judged& each : at) began.push_back(problem_.groups().expand(start_at(each)));
    how_.greedy = true;
    how_.samples = static_cast<int>(at.size());
    bool better = true;
    // Another pass from nothing would be the same one.
    const int passes = options_.starts == RefineOptions::Starts::none ? 1 : options_.passes;
    for (int pass = 0; pass < passes && better && !context_.stopped(); ++pass) {
      how_.initial.assign(1, {});
      for (const Judged& each : at) how_.initial[0].push_back(start_at(each));
      play("greedy pass " + std::to_string(pass + 1));
      if (rollout_.tape == nullptr) return;  // ended on the way
      take_own(began);
      better = false;
      for (std::size_t i = 0; i < at.size(); ++i) {
        const Rollout::Episode& episode = rollout_.episodes[i];
        if (episode.best.empty()) continue;
        better = at[i].take(episode.best, episode.best_evaluation) || better;
      }
    }
  }

  /// The best of the placements with which greedy episodes ended that had begun there, in the first pass.
  /// One that every episode which ends with it had begun with is no decision of the policy: nothing moved.
  void take_own(const std::vector<Placement>& began) {
    own_ = {};
    for (const Rollout::Episode& episode : rollout_.episodes) {
      own_.take(episode.last, episode.evaluations.back());
    }
    kept_ = options_.starts != RefineOptions::Starts::none;
    for (std::size_t i = 0; i < began.size() && kept_; ++i) {
      kept_ = rollout_.episodes[i].last != own_.placement || began[i] == own_.placement;
    }
  }

  void learn() {
    Advantages advantages(options_);
    how_.greedy = false;
    how_.samples = options_.samples;
    Judged from;           // where episodes start
    double slowest_s = 0;  // of the updates, without what they learn from
    double samples_s = 0;  // of an update, the longest
    for (std::int64_t i = 0; course_.left(i) > 0 && !context_.stopped(); ++i) {
      const double left = course_.left(i);
      // The greedy pass at the end takes about as long as an update's samples.
      if (!course_.leaves(slowest_s + 2 * samples_s)) break;
      const Course::Clock::time_point before = Course::Clock::now();
      // All from one start: what differs is then the decisions' doing. Each plain start and what its
      // episodes lead to, then the best so far.
      if (left <= kPolishing) {
        from = best_;
      } else if (i % kUpdatesPerStart == 0 && !plain_.empty()) {
        from = plain_[static_cast<std::size_t>(i / kUpdatesPerStart) % plain_.size()].judged;
      }
      how_.initial.assign(1, {begin_at(from)});
      how_.seed = seeds_.next();
      play("update " + std::to_string(i + 1));
      if (rollout_.tape == nullptr) break;
      const double takes_samples_s = seconds_since(before);
      const Course::Clock::time_point sampled = Course::Clock::now();
      const double takes_s = updates_ == 0 ? kFirstUpdate * seconds_since(before) : slowest_s;
      if (!course_.allows(takes_s)) break;
      always_certain_ = always_certain_ && certain(rollout_);
      ++updates_;
      samples_s = std::max(samples_s, takes_samples_s);
      from = {};
      berth::take(from, rollout_);
      const std::vector<double>& values = advantages.of(rollout_);
      always_flat_ = always_flat_ && !tells_apart(rollout_, advantages.returns());
      UpdateOptions update;
      update.learning_rate = options_.learning_rate * (0.1 + 0.9 * left);
      update.entropy_weight = options_.entropy * left;
      update.max_norm = options_.max_norm;
      policy_.update(rollout_, values, update);
      slowest_s = std::max(slowest_s, seconds_since(sampled));
    }
  }

  LearnedPolicy& policy_;
  Evaluator& evaluator_;
  const Problem& problem_;
  const PlaceContext& context_;
  const RefineOptions& options_;
  const Course& course_;
  const std::vector<Start> plain_;  ///< where nothing better is known
  Start first_;                     ///< the best of them
  Random seeds_;
  Judged best_;
  Whose whose_ = Whose::passed;  ///< the best
  Judged own_;                   ///< with which the last greedy episodes ended
  bool kept_ = false;            ///< the policy's own: nothing moved from where its episode began
  RolloutOptions how_;
  Rollout rollout_;
  std::int64_t updates_ = 0;
  bool always_certain_ = true;  ///< in all updates
  bool always_flat_ = true;     ///< in all updates the reward told no episodes apart
};

/// One that was given may be finer than the groups, and stays so where it fits.
Placement repaired_best(Evaluator& evaluator, const Judged& best, const PlaceContext& context,
                        const RefineOptions& options) {
  const Problem& problem = evaluator.problem();
  GroupPlacement placement = group_placement(problem, best.placement);
  if (best.evaluation.feasible && problem.groups().expand(placement) != best.placement) {
    return best.placement;
  }
  return repair_placement(problem, evaluator, std::move(placement), options.repair, context);
}

/// Told to stop, a repair may return another placement than it was given, and the policy's own would then
/// be none: this one is not told. What finds no room stays as it is, and does not fit.
Placement repaired_own(Evaluator& evaluator, const Placement& own, const RefineOptions& options) {
  const Problem& problem = evaluator.problem();
  const GroupPlacement placement = group_placement(problem, own);
  try {
    return repair_placement(problem, evaluator, placement, options.repair, {});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::infeasible) throw;
    return repair_placement(problem, evaluator, placement, /*fit_memory=*/false, {});
  }
}

/// The best, repaired, or `own` where that is better: it did not fit and was repaired, which may make less of
/// it than of the best. Throws as a repair of the best, where `own` does not fit either.
Placement best_or_own(Evaluator& evaluator, const Judged& best, const Placement& own,
                      const PlaceContext& context, const RefineOptions& options) {
  const Evaluation of_own = evaluator.evaluate(own);
  try {
    const Placement repaired = repaired_best(evaluator, best, context, options);
    if (repaired == own) return own;
    Judged judged{repaired, evaluator.evaluate(repaired)};
    judged.take(own, of_own);
    return judged.placement;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::infeasible || !of_own.feasible) throw;
    return own;
  }
}

PolicyAnswer repaired(LearnedPolicy& policy, Evaluator& evaluator, const PlaceContext& context,
                      const RefineOptions& options, const Course& course) {
  Refinement refinement(policy, evaluator, context, options, course);
  LearnedAnswer learned = refinement.run();
  const Judged& best = refinement.best();
  const Placement own = learned.own;
  if (!own.empty()) learned.own = repaired_own(evaluator, own, options);
  PolicyAnswer answer = learned.own == own
                            ? repaired_best(evaluator, best, context, options)
                            : best_or_own(evaluator, best, learned.own, context, options);
  if (answer.placement == learned.own && !refinement.kept()) {
    learned.whose = Whose::own;
  } else if (answer.placement != best.placement) {
    learned.whose = Whose::repaired;
  }
  answer.learned = std::move(learned);
  const std::vector<std::string> notes = refinement.notes();
  answer.notes.insert(answer.notes.begin(), notes.begin(), notes.end());
  if (course.timed()) answer.end = SearchEnd::budget;
  return answer;
}

/// One episode of the policy decides a neighbourhood.
DecideNeighbourhood by_episodes(LearnedPolicy& policy, const PlaceContext& context) {
  return [&policy, &context, rollout = Rollout()](Evaluator& within, GroupPlacement start,
                                                  std::uint64_t seed) mutable {
    Evaluator* const evaluators[] = {&within};
    RolloutOptions how;
    how.samples = 1;
    how.seed = seed;
    how.should_stop = context.should_stop;
    how.initial = {{std::move(start)}};
    policy.rollout(evaluators, how, rollout);
    Decided decided;
    take(decided.best, rollout);
    const Rollout::Episode& episode = rollout.episodes.front();
    if (!episode.last.empty()) decided.last = {episode.last, episode.evaluations.back()};
    return decided;
  };
}

/// The problem coarsened to `count` groups and placed; learned on, where there are updates.
PolicyAnswer coarsened(LearnedPolicy& policy, Evaluator& evaluator, const PlaceContext& context,
                       const RefineOptions& options, const Course& course, GroupId count) {
  const Problem& problem = evaluator.problem();
  const bool as_published =
      options.grouping == Grouping::placeto && problem.constraints() == nullptr;
  const auto groups =
      as_published ? placeto_groups(problem.graph(), problem.costs(), count)
                   : coarsen(problem.graph(), problem.costs(), count, problem.constraints().get());
  PolicyAnswer answer =
      repaired(policy, *make_regrouped_evaluator(evaluator, groups), context, options, course);
  answer.notes.push_back(cat(problem.groups().count(), " groups were placed as ", groups->count()));
  return answer;
}

/// Few groups, which take a moment, then many, with half of the time that is left: which of them is
/// the better start for neighbourhoods differs from graph to graph.
PolicyAnswer coarsened_twice(LearnedPolicy& policy, Evaluator& evaluator,
                             const PlaceContext& context, const RefineOptions& options,
                             const Course& course) {
  using Clock = Course::Clock;
  const Clock::time_point began = Clock::now();
  PolicyAnswer few = coarsened(policy, evaluator, context, options, course, options.neighbourhood);
  if (options.groups <= options.neighbourhood || context.stopped()) return few;
  PlaceContext inner = context;
  inner.budget_s = (context.budget_s - seconds_since(began)) / 2;
  inner.initial = {few.placement};
  inner.should_stop = [&, begin = Clock::now()] {
    return context.stopped() || seconds_since(begin) >= inner.budget_s;
  };
  PolicyAnswer many = coarsened(policy, evaluator, inner, options, course, options.groups);
  Judged best{few.placement, evaluator.evaluate(few.placement)};
  return best.take(many.placement, evaluator.evaluate(many.placement)) ? many : few;
}

}  // namespace

PolicyAnswer refine(LearnedPolicy& policy, Evaluator& evaluator, const PlaceContext& context,
                    const RefineOptions& options) {
  const GroupId count = evaluator.problem().groups().count();
  const Course course(options, context, Course::Clock::now());
  if (course.learns() && options.baseline == RefineOptions::Baseline::best && options.samples < 2) {
    throw Error(
        ErrorCode::invalid_argument,
        cat("policy '", policy.name(),
            "': with samples=1 no sample has a next best, by which baseline=best teaches; give "
            "samples=2 or more, or baseline=average"));
  }
  const auto start = [&] {
    if (options.groups == 0 || count <= options.groups) {
      return repaired(policy, evaluator, context, options, course);
    }
    // Few groups are too few to learn on.
    if (options.neighbourhood == 0 || course.learns()) {
      return coarsened(policy, evaluator, context, options, course, options.groups);
    }
    return coarsened_twice(policy, evaluator, context, options, course);
  };
  PolicyAnswer answer = start();
  if (options.neighbourhood == 0 || count <= options.neighbourhood || context.stopped()) {
    return answer;
  }
  Judged best;
  best.take(answer.placement, evaluator.evaluate(answer.placement));
  for (const Placement& given : context.initial) best.take(given, evaluator.evaluate(given));
  Placement searched = search_neighbourhoods(evaluator, context, std::move(best),
                                             options.neighbourhood, by_episodes(policy, context))
                           .placement;
  if (searched != answer.placement) answer.learned->whose = Whose::search;
  answer.placement = std::move(searched);
  answer.notes.push_back(
      cat("then ", options.neighbourhood, " other groups at a time around the best placement"));
  return answer;
}

}  // namespace berth
