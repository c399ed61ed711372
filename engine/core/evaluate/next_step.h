// How long a step makes the one behind it wait.
#pragma once

#include <string>

#include "berth/export.h"
#include "berth/problem.h"

namespace berth {

/// A variable that a step updates, or an input that is the result of the step before: its way from the first
/// op that reads it to the op that makes what the next step reads.
struct NextStep {
  std::string name;       ///< of the variable or input; empty = no step waits for the one before
  double us = 0;          ///< at least: the ops and transfers of the way, without waits for devices
  bool variable = false;  ///< older values could be read; an input of the wrong step could not

  /// "the next step reads 'w', which this one makes anew 3.1 ms or more after it read it".
  [[nodiscard]] BERTH_EXPORT std::string text() const;
  /// The case in which steps in flight do not wait: "steps may read older values".
  [[nodiscard]] BERTH_EXPORT std::string exception() const;
};

/// The longest such way where each op is on its fastest device, and nothing is sent.
[[nodiscard]] BERTH_EXPORT NextStep longest_next_step(const Problem& problem);
/// That of a placement.
[[nodiscard]] BERTH_EXPORT NextStep longest_next_step(const Problem& problem,
                                                      const Placement& placement);

}  // namespace berth
