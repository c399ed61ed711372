// Mixtures of experts in TensorFlow's graphs.
#pragma once

#include <optional>

#include "support/experts.h"
#include "tf/program.h"

namespace berth::tf_frontend {

/// What `node` (Where) chooses, if its mask says which tokens go to an expert: followed back to the
/// TopK by which a router chooses. Empty for any other op, and where sizes are not known.
[[nodiscard]] std::optional<frontend::Routed> routed(const Program& program, const Node& node,
                                                     LoadOptions::Experts given);

}  // namespace berth::tf_frontend
