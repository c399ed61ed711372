#include "berth/sdk/learning.h"

#include <algorithm>
#include <cmath>

#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/text.h"

namespace berth {
namespace {

/// The FNV-1a hash of Fowler, Noll and Vo: as large as a double is exact.
std::uint64_t fingerprint(const GroupPlacement& placement) {
  std::uint64_t hash = 14695981039346656037U;
  for (const DeviceId device : placement.devices()) {
    hash = (hash ^ static_cast<std::uint64_t>(device)) * 1099511628211U;
  }
  return hash >> 11;
}

}  // namespace

Rollout::Tape::~Tape() = default;
LearnedPolicy::~LearnedPolicy() = default;
DistributedLearner::~DistributedLearner() = default;

void Rollout::begin(std::span<const EpisodeStart> starts) {
  episodes.resize(starts.size());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    Episode& episode = episodes[i];
    const std::size_t steps = starts[i].order.size();
    episode.problem = starts[i].problem;
    episode.start = fingerprint(starts[i].initial);
    episode.steps = static_cast<std::int32_t>(steps);
    episode.measured = 0;
    episode.best.clear();
    episode.evaluations.resize(steps + 1);
    episode.log_probability.resize(steps);
    episode.entropy.resize(steps);
  }
}

void Rollout::note(std::size_t index, const Environment::Episode& state) {
  Episode& episode = episodes[index];
  episode.evaluations[state.step] = state.evaluation;
  if (episode.best.empty() || better(state.evaluation, episode.best_evaluation)) {
    episode.best_evaluation = state.evaluation;
    episode.best = state.problem->groups().expand(state.placement);
  }
  if (!state.done()) return;
  episode.measured = static_cast<std::int32_t>(state.measured);
  episode.last = state.problem->groups().expand(state.placement);
}

std::vector<EpisodeStart> episode_starts(std::span<const Problem* const> problems,
                                         const RolloutOptions& options,
                                         std::vector<Random>* random) {
  check_rollout(options, problems.size());
  Random seeds(options.seed);
  std::vector<EpisodeStart> starts;
  for (std::size_t p = 0; p < problems.size(); ++p) {
    for (std::size_t s = 0; s < at(options.samples); ++s) {
      Random own = seeds.split();
      EpisodeStart start;
      start.problem = p;
      start.order = traversal_order(problems[p]->groups(), options.traversal, own);
      const bool given = !options.initial.empty() && !options.initial[p].empty();
      start.initial = given ? options.initial[p][s % options.initial[p].size()]
                            : random_placement(*problems[p], own);
      starts.push_back(std::move(start));
      if (random != nullptr) random->push_back(own);
    }
  }
  return starts;
}

void check_rollout(const RolloutOptions& options, std::size_t problems) {
  if (problems == 0 || options.samples < 1) {
    throw Error(ErrorCode::invalid_argument,
                "a rollout needs at least one problem and at least one sample of it");
  }
  if (!options.initial.empty() && options.initial.size() != problems) {
    throw Error(ErrorCode::invalid_argument,
                "initial placements for " + std::to_string(options.initial.size()) +
                    " problems of " + std::to_string(problems) + "; give a list for each");
  }
  if (!(options.epsilon >= 0 && options.epsilon <= 1)) {
    throw Error(ErrorCode::invalid_argument, "epsilon is a probability, from 0 to 1");
  }
  if (!(options.noise >= 0) || !std::isfinite(options.noise)) {
    throw Error(ErrorCode::invalid_argument, "noise is a finite number >= 0");
  }
}

void check_advantages(const Rollout& rollout, std::span<const double> advantages) {
  std::size_t decisions = 0;
  for (const Rollout::Episode& episode : rollout.episodes) decisions += episode.entropy.size();
  if (advantages.size() != decisions) {
    throw Error(ErrorCode::invalid_argument, std::to_string(advantages.size()) +
                                                 " advantages for " + std::to_string(decisions) +
                                                 " decisions; give one for each");
  }
  for (std::size_t i = 0; i < advantages.size(); ++i) {
    if (std::isfinite(advantages[i])) continue;
    throw Error(ErrorCode::invalid_argument,
                "advantage " + std::to_string(i + 1) + " is not a finite number; look at the " +
                    "reward and the baseline that gave it (nothing was learned from it)");
  }
}

void check_update(const UpdateOptions& options) {
  const auto require = [](const char* name, double value, bool negative) {
    if (std::isfinite(value) && (negative || value >= 0)) return;
    throw Error(ErrorCode::invalid_argument,
                cat(name, " is ", value, "; give a finite number", negative ? "" : " >= 0",
                    " (nothing was learned)"));
  };
  require("learning_rate", options.learning_rate, /*negative=*/false);
  require("max_norm", options.max_norm, /*negative=*/false);
  require("entropy_weight", options.entropy_weight, /*negative=*/true);
}

bool changes_weights(std::span<const double> advantages, const UpdateOptions& options) {
  if (options.learning_rate == 0) return false;
  return options.entropy_weight != 0 ||
         std::any_of(advantages.begin(), advantages.end(), [](double value) { return value != 0; });
}

bool tells_apart(const Rollout& rollout, std::span<const double> returns) {
  check_advantages(rollout, returns);
  const auto objective_us = [](const Rollout::Episode& episode) {
    return episode.evaluations[static_cast<std::size_t>(episode.steps)].objective_us;
  };
  bool objectives_differ = false;
  std::size_t first = 0;  // episode of its problem
  std::span<const double> of_first;
  for (std::size_t e = 0; e < rollout.episodes.size(); ++e) {
    const Rollout::Episode& episode = rollout.episodes[e];
    const std::span<const double> own = returns.first(episode.entropy.size());
    returns = returns.subspan(own.size());
    if (e == 0 || episode.problem != rollout.episodes[first].problem) {
      first = e;
      of_first = own;
      continue;
    }
    if (!std::equal(own.begin(), own.end(), of_first.begin(), of_first.end())) return true;
    objectives_differ =
        objectives_differ || objective_us(episode) != objective_us(rollout.episodes[first]);
  }
  return !objectives_differ;
}

}  // namespace berth
