#include "writers/caches.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "groups/with_tensors.h"
#include "ops/attention_window.h"
#include "writers/buffers.h"

namespace berth::writers {
namespace {

/// The dimension along which an op of the layer makes the tensor longer; 0 where none does.
std::size_t growing_dim(const Graph& graph, const Block& layer, TensorId cache) {
  const auto shape = graph.shape(cache);
  for (const OpId op : layer.ops) {
    if (graph.is_input(op)) continue;
    for (const TensorId made : graph.outputs(op)) {
      const auto longer = graph.shape(made);
      if (longer.size() != shape.size()) continue;
      const auto first = std::mismatch(shape.begin(), shape.end(), longer.begin());
      const auto along = static_cast<std::size_t>(first.first - shape.begin());
      if (first.first == shape.end() || along == 0 || *first.second < *first.first) continue;
      if (std::equal(first.first + 1, shape.end(), first.second + 1)) return along;
    }
  }
  return 0;
}

std::size_t longest_dim(std::span<const std::int64_t> shape) {
  // A cache of heads, positions and a head's numbers: positions that nobody gave are 1.
  if (shape.size() == 4 && shape[2] == 1 && shape[1] < shape[3]) return 2;
  return static_cast<std::size_t>(std::max_element(shape.begin() + 1, shape.end()) - shape.begin());
}

/// A cache as a tool allots it in place of the file's.
struct Held {
  double bits = 16;
  std::int64_t positions = 0;  ///< 0 = the file's
};

TensorInfo info_of(const Graph& graph, TensorId tensor, const Cache& cache, const Held& held) {
  const auto shape = graph.shape(tensor);
  TensorInfo info{graph.dtype(tensor), true, {shape.begin(), shape.end()}, kUnknownBytes};
  if (held.positions > 0) info.shape[cache.along] = held.positions;
  // Two numbers of 4 bits are one element.
  const auto elements = static_cast<double>(std::max<std::int64_t>(0, element_count(info.shape)));
  const double numbers = elements * dtype_bits(info.dtype) / cache.bits;
  if (held.bits == 16 && cache.bits != 16) info.dtype = DType::f16;
  info.bytes = static_cast<std::int64_t>(numbers * held.bits / 8);
  return info;
}

/// Adds what changes where the tool has `held` in place of the cache. The result that becomes the cache is
/// written in its place.
void hold(const Graph& graph, const Cache& cache, const Held& held,
          std::map<TensorId, TensorInfo>& changed) {
  const auto states = graph.states();
  const auto state = std::find_if(states.begin(), states.end(), [&](const Graph::State& each) {
    return each.input == cache.input;
  });
  if (state == states.end() && !cache.grows) return;  // may be a mask
  const bool same = held.positions == 0 || held.positions == cache.positions;
  if (same && held.bits == cache.bits) return;
  changed[cache.tensor] = info_of(graph, cache.tensor, cache, held);
  if (state == states.end() || graph.shape(state->result).size() <= cache.along) return;
  changed[state->result] = info_of(graph, state->result, cache, held);
}

}  // namespace

std::vector<Cache> caches_of(const Graph& graph, const Block& layer) {
  bool halves = false;
  for (const OpId op : layer.ops) {
    halves = halves || whole_number(graph, op, "kv_cache_bit_width") == 4;
  }
  std::vector<Cache> caches;
  for (const OpId op : layer.ops) {
    if (!graph.is_input(op)) continue;
    for (const TensorId tensor : graph.outputs(op)) {
      const auto shape = graph.shape(tensor);
      const int bits = dtype_bits(graph.dtype(tensor));
      const bool numbers = graph.dtype(tensor) != DType::boolean && bits > 0 && bits <= 32;
      if (!numbers || shape.size() < 3) continue;
      Cache cache;
      cache.input = op;
      cache.tensor = tensor;
      cache.along = growing_dim(graph, layer, tensor);
      cache.grows = cache.along > 0;
      if (!cache.grows) cache.along = longest_dim(shape);
      cache.positions = shape[cache.along];
      cache.bits = halves && bits == 8 ? 4 : bits;
      caches.push_back(cache);
    }
  }
  return caches;
}

std::int64_t window_of(const Graph& graph, const Block& layer) {
  std::int64_t window = 0;
  for (const OpId op : layer.ops) {
    window = std::max(window, ops::attention_window(ops::OpView(graph, op)));
  }
  return window;
}

std::set<BlockId> windowed_layers(const Graph& graph, const Blocks& blocks,
                                  const Decoder& decoder) {
  std::set<BlockId> windowed;
  for (const BlockId layer : decoder.layers) {
    if (window_of(graph, blocks[layer]) > 0) windowed.insert(layer);
  }
  if (windowed.size() == decoder.layers.size()) windowed.clear();
  return windowed;
}

std::shared_ptr<const Graph> with_llama_caches(std::shared_ptr<const Graph> graph) {
  const Blocks blocks(*graph);
  const Decoder decoder = decoder_of(*graph, blocks, "llama.cpp");
  const Widths widths = widths_of(*graph, blocks, decoder);
  const std::set<BlockId> windowed = windowed_layers(*graph, blocks, decoder);
  std::map<TensorId, TensorInfo> changed;
  for (const BlockId layer : decoder.layers) {
    Held held;
    if (windowed.contains(layer)) {
      const std::int64_t allotted = llama_window_context(widths, window_of(*graph, blocks[layer]));
      held.positions = std::min(allotted, widths.cached);
    }
    for (const Cache& cache : caches_of(*graph, blocks[layer])) {
      // q8_0 and q4_0 have a scale of 16 bits for each 32 numbers.
      held.bits = cache.bits == 8 || cache.bits == 4 ? cache.bits + 0.5 : 16;
      hold(*graph, cache, held, changed);
    }
  }
  return changed.empty() ? graph : with_tensors(*graph, changed);
}

std::shared_ptr<const Graph> with_vllm_caches(std::shared_ptr<const Graph> graph) {
  const Blocks blocks(*graph);
  const Decoder decoder = decoder_of(*graph, blocks, "vLLM");
  std::map<TensorId, TensorInfo> changed;
  for (const BlockId layer : decoder.layers) {
    for (const Cache& cache : caches_of(*graph, blocks[layer])) {
      hold(*graph, cache, {.bits = cache.bits == 8 ? 8.0 : 16.0, .positions = 0}, changed);
    }
  }
  return changed.empty() ? graph : with_tensors(*graph, changed);
}

}  // namespace berth::writers
