// Parts of a network that repeat and parts that belong together, whatever its placement.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "berth/problem.h"
#include "common/weight_layers.h"

namespace berth::policies::auto_policy {

/// Colours by op. Ops of one colour look alike from where they are.
using Colours = std::vector<std::uint64_t>;

/// Colours by how far ops look: ever further, from the op itself on. Equal colours mean the same type,
/// costs and sizes, and the same neighbours as far as that, by colour refinement (Weisfeiler and Leman,
/// "The reduction of a graph to canonical form", 1968). The further they look the fewer are alike; the
/// layers of a stack are told from each other by how far they are from its ends.
[[nodiscard]] std::vector<Colours> colours_of(const Problem& problem);

struct Structure {
  std::vector<Colours> colours;
  std::shared_ptr<const Groups> layers;
};

[[nodiscard]] Structure structure_of(const Problem& problem);

}  // namespace berth::policies::auto_policy
