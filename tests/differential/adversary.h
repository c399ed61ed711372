// A search for the problems on which `auto` is worst; see differential.cpp.
#pragma once

#include "common.h"

namespace berth::differential {

/// Changes problems `settings.search` times in all, and tells the worst ratio met on stdout.
void search_bad_instances(const Settings& settings);

}  // namespace berth::differential
