// Policies that go on after their budget.
#pragma once

#include <string>

#include "berth/support/text.h"

namespace berth {

/// A note of a policy ("policy 'heft'") that took so long. Empty where that is as it should be: policies end the
/// step that they are in, a little later than the budget says.
[[nodiscard]] inline std::string overrun_text(const std::string& policy, double wall_s,
                                              double budget_s) {
  constexpr double kGrace = 0.25;  // of the budget, and seconds
  if (!(wall_s > budget_s * (1 + kGrace) + kGrace)) return {};
  return cat(policy, " took ", wall_s, " s of a budget of ", budget_s,
             " s: it does not ask often enough whether to stop");
}

}  // namespace berth
