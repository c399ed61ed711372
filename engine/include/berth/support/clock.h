/// @file
/// The clock of budgets.
#pragma once

#include <chrono>

namespace berth {

[[nodiscard]] inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace berth
