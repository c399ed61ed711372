// What every fuzz target asks of what it feeds.
#pragma once

#include <cstdlib>

#include "berth/error.h"

namespace berth::test {

/// Calls `read`, which may throw an Error with a message, and nothing else. True where it threw.
template <typename Read>
bool refused(Read&& read) {
  try {
    read();
    return false;
  } catch (const Error& error) {
    if (*error.what() == '\0') std::abort();
    return true;
  }
}

}  // namespace berth::test
