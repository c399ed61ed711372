// What a file of costs says besides the costs.
#pragma once

#include <string>
#include <string_view>

#include "berth/graph.h"

namespace berth {

/// A note where the tensors of `graph` are together larger or smaller than those that the costs of a
/// berth.costs/1 file were made with; empty where they are not, or the file does not say. `json` is one that
/// parse_costs has read.
[[nodiscard]] std::string note_of_other_sizes(std::string_view json, const std::string& origin,
                                              const Graph& graph);

}  // namespace berth
