// Drawing decisions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "berth/sdk/random.h"

namespace berth::learning {

/// Thrown inside a rollout, by what has asked RolloutOptions::should_stop, to end it.
struct Ended {};

/// The index that `uniform` in [0, 1) draws from exp(log_pi).
[[nodiscard]] std::size_t draw(const float* log_pi, std::size_t count, double uniform);
/// One of those with allowed[i] != 0, uniformly; at least one is.
[[nodiscard]] std::size_t draw_allowed(const std::uint8_t* allowed, std::size_t count,
                                       Random& random);
/// The entropy of exp(log_pi), in nats.
[[nodiscard]] double entropy_of(const float* log_pi, std::size_t count);
/// Draws from the standard normal distribution (Box and Muller, 1958).
[[nodiscard]] double draw_normal(Random& random);

}  // namespace berth::learning
