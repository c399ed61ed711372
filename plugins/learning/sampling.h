// Drawing decisions, and what is asked of every rollout and update.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "berth/evaluator.h"
#include "berth/learning.h"
#include "berth/random.h"

namespace berth::learning {

/// Thrown inside a rollout, by what has asked RolloutOptions::should_stop, to end it.
struct Ended {};

/// The index that `uniform` in [0, 1) draws from exp(log_pi).
[[nodiscard]] std::size_t draw(const float* log_pi, std::size_t count, double uniform);
/// One of those with allowed[i] != 0, uniformly; at least one is.
[[nodiscard]] std::size_t draw_allowed(const std::uint8_t* allowed, std::size_t count,
                                       Random& random);
/// Of exp(log_pi), in nats.
[[nodiscard]] double entropy_of(const float* log_pi, std::size_t count);
/// Of the standard normal distribution (Box and Muller, 1958).
[[nodiscard]] double draw_normal(Random& random);

/// Throws Error(invalid_argument) for options of a rollout over `problems` that make no sense.
void check_rollout(const RolloutOptions& options, std::size_t problems);

/// Throws Error(invalid_argument) unless there is a finite advantage for every decision.
void check_advantages(const Rollout& rollout, std::span<const double> advantages);

/// Throws Error(invalid_argument) for options of an update that make no sense.
void check_update(const UpdateOptions& options);

}  // namespace berth::learning
