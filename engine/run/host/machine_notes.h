// Notes on a machine, told before anything is placed on it.
#pragma once

#include <string>
#include <vector>

#include "berth/run.h"

namespace berth {

/// The words that settings name as the machine; empty where they name none, a preset or a file.
[[nodiscard]] std::string words_of_machine(const Settings& settings);

/// Things that words leave open, and figures of a file that no machine has. Small memory is told where the graph is not
/// small itself, as those of examples are.
[[nodiscard]] std::vector<std::string> notes_of_machine(const Settings& settings,
                                                        const Graph& graph, const Cluster& cluster);

/// A note where a placement has work on the host beside a GPU whose memory Apple's system limits, with what raises the
/// limit; empty elsewhere.
[[nodiscard]] std::string gpu_limit_text(const Settings& settings, const Outcome& outcome);

}  // namespace berth
