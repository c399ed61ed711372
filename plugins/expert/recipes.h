// The choices of a person who knows the network: a part of the machine for every layer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "berth/graph.h"
#include "berth/sdk/layers.h"

namespace berth::policies::expert {

/// The parts are numbered from 0; the number says which device in turn.
struct Recipe {
  std::vector<int> part_of_layer;
  std::string text;  ///< what was done, for people
};

/// One recurrent layer (all steps with the same weights) per part, in the order in which the layers
/// start; layers before them with the first, all that comes after any (attention, softmax) with the
/// last. Empty without recurrent layers.
[[nodiscard]] std::optional<Recipe> recurrent_layer_per_part(const Graph& graph,
                                                             const Layers& layers, int parts);

/// Parallel branches on different parts. The longest branch of a block stays on part 0, with
/// everything outside blocks; the others follow on parts 1, 2, ... and around. Blocks are found by
/// scopes ("branch_2", "combine_0", "tower_1", "comb_iter_3"), or if names do not tell, by the
/// concatenations that end them. Empty if no block has two branches with layers.
[[nodiscard]] std::optional<Recipe> branch_per_part(const Graph& graph, const Layers& layers,
                                                    int parts);

/// Contiguous parts with equally many layers that have weights. Empty without any.
[[nodiscard]] std::optional<Recipe> equal_layers_per_part(const Graph& graph, const Layers& layers,
                                                          int parts);

}  // namespace berth::policies::expert
