#include "learn/advantages.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "berth/sdk/learning.h"
#include "learn/neighbourhoods.h"

namespace berth {
namespace {

/// Rollouts that the baseline looks back on; 10 in the sample settings of Placeto's released code.
constexpr std::size_t kBaselineRollouts = 10;
/// Decay of the moving average (TensorFlow's code of ICLR 2018; the paper of ICML 2017 gives none).
constexpr double kAverageDecay = 0.9;
/// Updates after which placements that do not fit teach nothing (ICML 2017).
constexpr std::int64_t kFailuresTeach = 5000;
/// Cost of a failure: the square root of 100 s, as a cost or in seconds.
constexpr double kFailure = 10;
constexpr double kSecondsPerGB = 2;
/// Share of an update's samples that teach where only the best do.
constexpr double kBestShare = 0.1;

/// A placement that breaks a rule and lacks no memory counts as if a GB lacked.
double lacking_gb(const Evaluation& evaluation) {
  if (!evaluation.feasible && evaluation.excess_bytes == 0) return 1;
  return static_cast<double>(evaluation.excess_bytes) / 1e9;
}

double cost(const Evaluation& evaluation, RefineOptions::Reward reward) {
  const double seconds = evaluation.objective_us / 1e6;
  switch (reward) {
    case RefineOptions::Reward::log:
      break;
    case RefineOptions::Reward::seconds:
      return std::min(kFailure, seconds + kSecondsPerGB * lacking_gb(evaluation));
    case RefineOptions::Reward::root:
      return evaluation.feasible ? std::sqrt(seconds) : kFailure;
  }
  return log_cost(evaluation);
}

}  // namespace

Advantages::Advantages(const RefineOptions& options) : options_(options), average_(kFailure) {}

const std::vector<double>& Advantages::of(const Rollout& rollout) {
  switch (options_.baseline) {
    case RefineOptions::Baseline::steps:
      by_step(rollout);
      break;
    case RefineOptions::Baseline::average:
      against_average(rollout);
      break;
    case RefineOptions::Baseline::best:
      against_next_best(rollout);
      break;
  }
  if (options_.normalised) normalise();
  return values_;
}

Advantages::Sums& Advantages::sums_of(std::vector<Sums>& all, std::uint64_t start,
                                      std::size_t steps) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [start](const Sums& sums) { return sums.start == start; });
  if (found != all.end()) return *found;
  return all.emplace_back(Sums{start, 0, std::vector<double>(steps, 0.0)});
}

void Advantages::by_step(const Rollout& rollout) {
  const auto steps = static_cast<std::size_t>(rollout.episodes.front().steps);
  const auto samples = rollout.episodes.size();
  std::vector<Sums> now;
  values_.assign(steps * samples, 0.0);
  for (std::size_t e = 0; e < samples; ++e) {
    const Rollout::Episode& episode = rollout.episodes[e];
    Sums& sums = sums_of(now, episode.start, steps);
    ++sums.samples;
    double later = 0;
    for (std::size_t t = steps; t-- > 0;) {
      const double gain = cost(episode.evaluations[t], options_.reward) -
                          cost(episode.evaluations[t + 1], options_.reward);
      later = gain + options_.discount * later;
      values_[e * steps + t] = later;
      sums.by_step[t] += later;
    }
  }
  returns_ = values_;
  subtract_baseline(rollout, now, steps);
  past_.push_back(std::move(now));
  if (past_.size() > kBaselineRollouts) past_.pop_front();
}

void Advantages::against_average(const Rollout& rollout) {
  const bool all_teach = ++updates_ <= kFailuresTeach;
  values_.clear();
  returns_.clear();
  double sum = 0, count = 0;
  for (const Rollout::Episode& episode : rollout.episodes) {
    const Evaluation& last = episode.evaluations.back();
    const bool teaches = all_teach || last.feasible;
    const double own = cost(last, options_.reward);
    values_.insert(values_.end(), static_cast<std::size_t>(episode.steps),
                   teaches ? average_ - own : 0.0);
    returns_.insert(returns_.end(), static_cast<std::size_t>(episode.steps), -own);
    if (!teaches) continue;
    sum += own;
    ++count;
  }
  if (count > 0) average_ += (1 - kAverageDecay) * (sum / count - average_);
}

void Advantages::against_next_best(const Rollout& rollout) {
  std::vector<double> costs;
  for (const Rollout::Episode& episode : rollout.episodes) {
    costs.push_back(cost(episode.evaluations.back(), options_.reward));
  }
  std::vector<double> sorted = costs;
  std::sort(sorted.begin(), sorted.end());
  const auto teaching = std::max<std::size_t>(
      1, static_cast<std::size_t>(kBestShare * static_cast<double>(sorted.size())));
  const double bar = sorted[std::min(teaching, sorted.size() - 1)];
  values_.clear();
  returns_.clear();
  for (std::size_t e = 0; e < costs.size(); ++e) {
    const auto steps = static_cast<std::size_t>(rollout.episodes[e].steps);
    values_.insert(values_.end(), steps, std::max(0.0, bar - costs[e]));
    returns_.insert(returns_.end(), steps, -costs[e]);
  }
}

/// The mean of samples that began alike, those of updates before among them: where an episode starts says
/// more of what is gained than what is decided, so that others would drown what differs.
void Advantages::subtract_baseline(const Rollout& rollout, const std::vector<Sums>& now,
                                   std::size_t steps) {
  for (std::size_t e = 0; e < rollout.episodes.size(); ++e) {
    Sums alike{rollout.episodes[e].start, 0, std::vector<double>(steps, 0.0)};
    const auto add = [&](const Sums& sums) {
      alike.samples += sums.samples;
      for (std::size_t t = 0; t < steps; ++t) alike.by_step[t] += sums.by_step[t];
    };
    const auto add_alike = [&](const std::vector<Sums>& update) {
      for (const Sums& sums : update) {
        if (sums.start == alike.start) add(sums);
      }
    };
    add_alike(now);
    for (const std::vector<Sums>& update : past_) add_alike(update);
    if (alike.samples == 1) {
      alike = {alike.start, 0, std::vector<double>(steps, 0.0)};
      for (const Sums& sums : now) add(sums);
    }
    if (alike.samples == 1) continue;  // alone
    const auto others = static_cast<double>(alike.samples - 1);
    for (std::size_t t = 0; t < steps; ++t) {
      double& value = values_[e * steps + t];
      value -= (alike.by_step[t] - value) / others;
    }
  }
}

void Advantages::normalise() {
  double squares = 0;
  for (const double value : values_) squares += value * value;
  if (squares == 0) return;
  const double scale = std::sqrt(static_cast<double>(values_.size()) / squares);
  for (double& value : values_) value *= scale;
}

}  // namespace berth
