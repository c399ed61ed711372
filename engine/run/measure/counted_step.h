// A step that counts, unless whoever stops the measurement has enough of them.
#pragma once

#include <cstddef>
#include <optional>

#include "berth/backend.h"
#include "berth/error.h"

namespace berth {

/// Fewer steps or transfers have no median to speak of.
inline constexpr std::size_t kFewestSamples = 3;

/// Null where the step is stopped and `counted` steps give figures already. Throws what Session::run throws.
[[nodiscard]] inline std::optional<StepResult> counted_step(Session& session,
                                                            const Placement& placement,
                                                            const StepOptions& step,
                                                            std::size_t counted) {
  try {
    return session.run(placement, step);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::cancelled || counted < kFewestSamples) throw;
    return std::nullopt;
  }
}

}  // namespace berth
