// Figures that no machine has.
#pragma once

#include <string>
#include <vector>

#include "berth/cluster.h"
#include "berth/export.h"

namespace berth {

/// A sentence for each figure far outside what devices and links have: it was meant in another unit, most likely, which
/// the sentence names with the number to write. Equal figures are told once.
[[nodiscard]] BERTH_EXPORT std::vector<std::string> implausible_figures(const Cluster& cluster);

/// The same of memories too small for any GPU or host.
[[nodiscard]] BERTH_EXPORT std::vector<std::string> implausible_memory(const Cluster& cluster);

}  // namespace berth
