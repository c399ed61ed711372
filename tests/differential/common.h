// What both testers need: which policies take part, with which options, and what runs now.
#pragma once

#include <cstdint>
#include <limits>
#include <set>
#include <string>

#include "berth/options.h"

namespace berth::differential {

constexpr double kNone = std::numeric_limits<double>::infinity();

struct Settings {
  std::int64_t cases = 1000;
  std::uint64_t seed = 1;
  std::set<std::string> policies;  ///< empty = all
  double budget_s = kNone;
  std::int64_t search = 0;
};

/// Short searches: a case takes some milliseconds. Those that prove or enumerate may go to their
/// ends where the optimum is known.
[[nodiscard]] OptionTexts options_of(const std::string& policy, int threads, bool optimum_known,
                                     std::uint64_t number);

/// These take tens of milliseconds for an answer.
[[nodiscard]] bool learns(const std::string& policy);

/// Remembers what runs now: printed where it crashes.
void say_now(const std::string& text);
/// From now on.
void report_crashes();

}  // namespace berth::differential
