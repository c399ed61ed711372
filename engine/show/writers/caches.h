// The caches of keys and values that a decoder's layers have, in the file and in tools.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "berth/blocks.h"
#include "berth/graph.h"
#include "writers/decoder.h"

namespace berth::writers {

/// An input of a layer with numbers for each position.
struct Cache {
  OpId input = kNoOp;
  TensorId tensor = kNoTensor;
  std::size_t along = 0;  ///< the dimension of its positions
  std::int64_t positions = 0;
  bool grows = false;  ///< an op of the layer makes it longer, as of no state of fixed size
  int bits = 0;        ///< of a number
};
/// Those of a layer, in the order of its ops. Where no op makes it longer, a cache has its positions along
/// the longest dimension but the first.
[[nodiscard]] std::vector<Cache> caches_of(const Graph& graph, const Block& layer);

/// Positions that attention of the layer sees; 0 = all.
[[nodiscard]] std::int64_t window_of(const Graph& graph, const Block& layer);
/// The layers with a window among others without one: of these tools keep shorter caches. Where all layers
/// have one (Mistral 7B, Phi-3), llama.cpp has the whole context in each.
[[nodiscard]] std::set<BlockId> windowed_layers(const Graph& graph, const Blocks& blocks,
                                                const Decoder& decoder);

/// The graph with the caches that llama.cpp allots: numbers of bits for which there is no option in 16,
/// others with the scales of their blocks; of windowed layers the window and a prompt's tokens.
[[nodiscard]] std::shared_ptr<const Graph> with_llama_caches(std::shared_ptr<const Graph> graph);
/// The graph with the caches that vLLM allots: numbers of 8 bits as they are, all others in 16.
[[nodiscard]] std::shared_ptr<const Graph> with_vllm_caches(std::shared_ptr<const Graph> graph);

}  // namespace berth::writers
