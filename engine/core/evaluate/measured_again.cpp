#include "evaluate/measured_again.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "berth/error.h"
#include "berth/support/text.h"
#include "support/median.h"
#include "support/units.h"

namespace berth {

namespace {

constexpr std::size_t kFinalists = 4;
/// Enough to see through one measurement that was disturbed. The last two are measured more often.
constexpr std::size_t kRunsOfFinalists = 3;
/// Odd, so that one of them is the median. All above the true median, or all below, are 2 in 2^7: the
/// range holds it with 98 % certainty, whatever the distribution.
constexpr std::size_t kRuns = 7;

struct Contender {
  Placement placement;
  std::vector<Evaluation> runs = {};       ///< by runtime
  std::optional<Evaluation> refused = {};  ///< it did not fit: no runtime counts any more
};

const Evaluation& median_of(const Contender& contender) {
  return contender.runs[contender.runs.size() / 2];
}

bool counts(const Contender& contender) {
  return !contender.refused && !contender.runs.empty();
}

class Contest {
 public:
  Contest(Evaluator& evaluator, const std::function<bool()>& should_stop)
      : evaluator_(evaluator), should_stop_(should_stop) {}

  /// The number of a placement; one that is there already keeps its own.
  std::size_t add(const Placement& placement) {
    const auto same = std::find_if(all_.begin(), all_.end(), [&](const Contender& each) {
      return each.placement == placement;
    });
    if (same != all_.end()) return static_cast<std::size_t>(same - all_.begin());
    all_.push_back({placement});
    return all_.size() - 1;
  }
  [[nodiscard]] const Contender& at(std::size_t number) const { return all_[number]; }

  /// Measures these in rounds until each has so many runs; a round is one batch, as what measures may be many machines.
  void run(std::vector<std::size_t> numbers, std::size_t runs) {
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    const auto ends = [&](std::size_t number) {
      return all_[number].refused || all_[number].runs.size() >= runs;
    };
    for (;;) {
      std::erase_if(numbers, ends);
      if (numbers.empty() || should_stop_()) return;
      std::vector<Placement> placements;
      for (const std::size_t number : numbers) placements.push_back(all_[number].placement);
      std::vector<Evaluation> found(placements.size());
      evaluator_.evaluate(placements, found);
      for (std::size_t i = 0; i < numbers.size(); ++i) take(all_[numbers[i]], std::move(found[i]));
    }
  }

  /// The one with the least median, the first of equal ones; the first where none has any.
  [[nodiscard]] std::size_t best_of(const std::vector<std::size_t>& numbers) const {
    std::size_t best = numbers.front();
    for (const std::size_t number : numbers) {
      if (!counts(all_[number])) continue;
      if (!counts(all_[best]) ||
          median_of(all_[number]).objective_us < median_of(all_[best]).objective_us) {
        best = number;
      }
    }
    return best;
  }

 private:
  static void take(Contender& contender, Evaluation evaluation) {
    if (!evaluation.feasible) {
      contender.refused = std::move(evaluation);
      return;
    }
    const auto place = std::upper_bound(
        contender.runs.begin(), contender.runs.end(), evaluation,
        [](const Evaluation& a, const Evaluation& b) { return a.objective_us < b.objective_us; });
    contender.runs.insert(place, std::move(evaluation));
  }

  Evaluator& evaluator_;
  const std::function<bool()>& should_stop_;
  std::vector<Contender> all_;
};

std::string runs_text(const Contender& contender) {
  const std::size_t runs = contender.runs.size();
  if (runs == 0) {
    return "figures were measured once, since the search was stopped: let it end for medians";
  }
  return cat("measured ", runs, runs == 1 ? " time" : " times", " more, ",
             contender.runs.front().objective_us, " to ", contender.runs.back().objective_us,
             " us; the median is given",
             runs >= kRuns ? ", and this range holds the true one with 98 % certainty"
                           : ", of fewer than usual, since it was stopped");
}

std::string change_text(const Contender& answer, const Contender& chosen, bool is_single) {
  return cat(is_single ? "one device answers" : "another placement that was measured answers",
             ", since the policy's ",
             answer.refused ? "did not fit when it was measured again"
                            : "took " + format_us(median_of(answer).objective_us),
             " beside ", format_us(median_of(chosen).objective_us),
             " when both were measured again in turn");
}

/// Gives an evaluation its median, or says that the placement did not fit.
void give(const Contender& contender, Evaluation& out) {
  if (contender.refused) {
    out = *contender.refused;
  } else if (!contender.runs.empty()) {
    out = median_of(contender);
  }
}

/// Another placement than the policy's answers.
void change_answer(const Contender& chosen, PlaceResult& result) {
  result.placement = chosen.placement;
  if (!result.learned) return;
  result.learned->best = chosen.placement;
  result.learned->whose = chosen.placement == result.learned->own ? Whose::own : Whose::passed;
}

}  // namespace

void Finalists::evaluate(std::span<const Placement> placements, std::span<Evaluation> out) {
  evaluator_.evaluate(placements, out);
  for (std::size_t i = 0; i < placements.size(); ++i) note(placements[i], out[i]);
}

void Finalists::note(const Placement& placement, const Evaluation& evaluation) {
  if (first_.empty()) first_ = placement;
  several_ = several_ || placement != first_;
  if (!evaluation.feasible) return;
  const auto same = std::find_if(seen_.begin(), seen_.end(),
                                 [&](const Seen& each) { return each.placement == placement; });
  if (same == seen_.end()) {
    if (seen_.size() >= kFinalists && !(evaluation.objective_us < seen_.back().median_us)) return;
    try {
      problem().validate(placement);
    } catch (const Error&) {
      return;  // it breaks a separation, whatever an evaluator says of it
    }
    seen_.push_back({placement, {evaluation.objective_us}, evaluation.objective_us});
  } else {
    same->us.push_back(evaluation.objective_us);
    same->median_us = median(same->us);
  }
  std::stable_sort(seen_.begin(), seen_.end(),
                   [](const Seen& a, const Seen& b) { return a.median_us < b.median_us; });
  if (seen_.size() > kFinalists) seen_.pop_back();
}

std::vector<Placement> Finalists::best() const {
  std::vector<Placement> placements;
  if (!several_) return placements;
  for (const Seen& each : seen_) placements.push_back(each.placement);
  return placements;
}

void measure_again(Evaluator& evaluator, std::span<const Placement> finalists,
                   const std::function<bool()>& should_stop, PlaceResult& result) {
  const bool has_single = !result.best_single.placement.empty();
  if (!result.evaluation.feasible && finalists.empty()) return;
  Contest contest(evaluator, should_stop);
  const std::size_t answer = contest.add(result.placement);
  const std::size_t single = has_single ? contest.add(result.best_single.placement) : answer;
  std::size_t chosen = answer;
  if (!finalists.empty()) {
    std::vector<std::size_t> all = {answer};
    for (const Placement& each : finalists) all.push_back(contest.add(each));
    all.push_back(single);
    contest.run(all, kRunsOfFinalists);
    chosen = contest.best_of(all);
  }
  std::vector<std::size_t> last = {answer, chosen, single};
  if (result.learned && !result.learned->own.empty() && result.learned->own_evaluation.feasible) {
    last.push_back(contest.add(result.learned->own));
  }
  contest.run(last, kRuns);
  if (!finalists.empty()) chosen = contest.best_of({chosen, answer, single});
  if (chosen != answer) change_answer(contest.at(chosen), result);
  give(contest.at(chosen), result.evaluation);
  give(contest.at(single), result.best_single.evaluation);
  if (result.learned) {
    result.learned->best_evaluation = result.evaluation;
    if (last.size() > 3) give(contest.at(last.back()), result.learned->own_evaluation);
  }
  if (!result.evaluation.feasible) return;
  result.notes.push_back(runs_text(contest.at(chosen)));
  if (chosen != answer) {
    result.notes.push_back(change_text(contest.at(answer), contest.at(chosen), chosen == single));
  }
}

}  // namespace berth
