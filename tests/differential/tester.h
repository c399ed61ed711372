// Every policy on random problems; see differential.cpp for what is asked of it.
#pragma once

#include "common.h"

namespace berth::differential {

/// Whether all went well; what did not is told on stderr, the rest in a table on stdout.
[[nodiscard]] bool test_cases(const Settings& settings);

}  // namespace berth::differential
