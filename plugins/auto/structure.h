// Parts of a network that repeat and parts that belong together, whatever its placement.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "berth/problem.h"

namespace berth::policies::auto_policy {

/// Colours by op. Ops of one colour look alike from where they are.
using Colours = std::vector<std::uint64_t>;

/// Colours by how far ops look: ever further, from the op itself on. Equal colours mean the same type,
/// costs and sizes, and the same neighbours as far as that, by colour refinement (Weisfeiler and Leman,
/// "The reduction of a graph to canonical form", 1968). The further they look the fewer are alike; the
/// layers of a stack are told from each other by how far they are from its ends.
[[nodiscard]] std::vector<Colours> colours_of(const Problem& problem);

/// Layers: ops that read or change the same weights, in any step of a loop and in both directions,
/// with their surroundings. Cycles lead through such layers, so that coarsening never finds them. Null where there
/// are fewer than two.
[[nodiscard]] std::shared_ptr<const Groups> layers_of(const Problem& problem);

struct Structure {
  std::vector<Colours> colours;
  std::shared_ptr<const Groups> layers;
};

[[nodiscard]] Structure structure_of(const Problem& problem);

}  // namespace berth::policies::auto_policy
