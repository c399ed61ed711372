// Costs of a file, and a note on them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "berth/cluster.h"
#include "berth/costs.h"
#include "berth/graph.h"

namespace berth {

/// As the public parse_costs. `note` says where the tensors of `graph` are together larger or smaller than
/// those that the costs were made with; it is empty where they are not, or the file does not say.
[[nodiscard]] std::shared_ptr<const Costs> parse_costs(std::string_view json,
                                                       const std::string& origin,
                                                       const Graph& graph, const Cluster& cluster,
                                                       std::string& note);

}  // namespace berth
