#include "sampling.h"

#include <cmath>
#include <numbers>
#include <string>

#include "berth/error.h"
#include "berth/support/text.h"

namespace berth::learning {

std::size_t draw(const float* log_pi, std::size_t count, double uniform) {
  double total = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double p = std::exp(static_cast<double>(log_pi[i]));
    if (p <= 0) continue;
    last = i;
    total += p;
    if (uniform < total) return i;
  }
  return last;
}

std::size_t draw_allowed(const std::uint8_t* allowed, std::size_t count, Random& random) {
  std::size_t able = 0;
  for (std::size_t i = 0; i < count; ++i) able += allowed[i];
  std::size_t chosen = random.below(able);
  for (std::size_t i = 0;; ++i) {
    if (allowed[i] != 0 && chosen-- == 0) return i;
  }
}

double entropy_of(const float* log_pi, std::size_t count) {
  double entropy = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double p = std::exp(static_cast<double>(log_pi[i]));
    if (p > 0) entropy -= p * static_cast<double>(log_pi[i]);
  }
  return entropy;
}

double draw_normal(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
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

}  // namespace berth::learning
