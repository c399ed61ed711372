#include "writers/buffers.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "berth/support/index.h"
#include "berth/support/text.h"
#include "costs/cost_table.h"
#include "support/units.h"
#include "writers/caches.h"

namespace berth::writers {
namespace {

/// llama.cpp's default of -ub, and what it rounds contexts up to.
constexpr std::int64_t kUbatch = 512;
constexpr std::int64_t kContextStep = 256;
/// Mamba's states for a channel, and positions of its convolution.
constexpr std::int64_t kStates = 16;
constexpr std::int64_t kConvolution = 4;
/// `vllm serve`'s defaults of max_num_batched_tokens and max_num_seqs on a GPU of less than 70 GiB.
constexpr std::int64_t kVllmTokens = 2048;
constexpr std::int64_t kVllmSequences = 256;

std::int64_t in_steps(std::int64_t context) {
  return (context + kContextStep - 1) / kContextStep * kContextStep;
}

std::int64_t last_dim(const Graph& graph, TensorId tensor) {
  if (tensor == kNoTensor || graph.shape(tensor).empty()) return 0;
  return std::max<std::int64_t>(0, graph.shape(tensor).back());
}

bool reads_parameters(const Graph& graph, OpId op) {
  return !graph.is_constant(op) && !graph.parameters(op).empty();
}

/// Of what an op makes or reads in the step, the widest.
std::int64_t width_made(const Graph& graph, OpId op) {
  std::int64_t width = 0;
  for (const TensorId tensor : graph.outputs(op)) width = std::max(width, last_dim(graph, tensor));
  return width;
}
std::int64_t width_read(const Graph& graph, OpId op) {
  std::int64_t width = 0;
  for (const TensorId tensor : graph.inputs(op)) {
    if (tensor == kNoTensor || graph.producer(tensor) == kNoOp) continue;
    width = std::max(width, last_dim(graph, tensor));
  }
  return width;
}

/// The positions of the layers' caches, of those that see all of them where there are any. Where no op makes
/// one longer, and none may be a state of fixed size, the longest.
std::int64_t cached_positions(const Graph& graph, const Blocks& blocks, const Decoder& decoder,
                              bool states) {
  const std::set<BlockId> windowed = windowed_layers(graph, blocks, decoder);
  std::int64_t growing = 0, longest = 0;
  for (const BlockId layer : decoder.layers) {
    if (windowed.contains(layer)) continue;
    for (const Cache& cache : caches_of(graph, blocks[layer])) {
      if (cache.grows) growing = std::max(growing, cache.positions);
      longest = std::max(longest, cache.positions);
    }
  }
  return growing > 0 || states ? growing : longest;
}

/// Sets the sequences that the caches are of, and the bits of a number in them.
void find_caches(const Graph& graph, const Blocks& blocks, const Decoder& decoder, Widths& widths) {
  for (const BlockId layer : decoder.layers) {
    for (const Cache& cache : caches_of(graph, blocks[layer])) {
      const auto shape = graph.shape(cache.tensor);
      if (shape.size() != 4 || cache.positions != widths.cached) continue;
      widths.sequences = std::max(widths.sequences, shape.front());
      widths.cache_bits = std::max(widths.cache_bits, cache.bits);
    }
  }
}

/// The positions that a table of rotations is for, which a model was trained for; 0 where there is none.
std::int64_t trained_positions(const Graph& graph, const Blocks& blocks, const Decoder& decoder) {
  std::int64_t rows = 0;
  for (const BlockId layer : decoder.layers) {
    for (const OpId op : blocks[layer].ops) {
      const std::string& type = graph.op_type(op);
      std::size_t table = 7;
      if (type == "RotaryEmbedding") table = 1;
      if (type == "com.microsoft.RotaryEmbedding") table = 2;
      if (table == 7 && type != "com.microsoft.GroupQueryAttention") continue;
      const auto inputs = graph.inputs(op);
      if (table >= inputs.size() || inputs[table] == kNoTensor) continue;
      const auto shape = graph.shape(inputs[table]);
      if (graph.producer(inputs[table]) == kNoOp && shape.size() == 2) {
        rows = std::max(rows, shape.front());
      }
    }
  }
  return rows;
}

/// Sets widths.hidden; returns the positions of the step.
std::int64_t find_hidden(const Graph& graph, const Blocks& blocks, const Decoder& decoder,
                         Widths& widths) {
  std::int64_t positions = 0;
  for (const BlockId layer : decoder.layers) {
    for (const OpId op : blocks[layer].ops) {
      for (const Edge& edge : graph.out_edges(op)) {
        if (edge.tensor == kNoTensor || blocks.of(edge.dst) == layer) continue;
        const auto shape = graph.shape(edge.tensor);
        // Masks have four dimensions.
        if (shape.size() != 2 && shape.size() != 3) continue;
        if (shape.back() <= widths.hidden) continue;
        widths.hidden = shape.back();
        positions = std::max<std::int64_t>(1, shape[shape.size() - 2]);
      }
    }
  }
  return positions;
}

/// Experts that a token is sent to: a TopK's, or what an op that has them all says.
std::int64_t chosen_by(const Graph& graph, OpId op) {
  if (graph.op_type(op) == "TopK" && !graph.outputs(op).empty()) {
    return last_dim(graph, graph.outputs(op).front());
  }
  return whole_number(graph, op, "k");
}

/// The width of the feed-forward in which an op's weights of all experts are; 0 where it has none.
std::int64_t width_of_stack(const Graph& graph, OpId op, std::int64_t hidden) {
  std::int64_t width = 0;
  for (const TensorId tensor : graph.parameters(op)) {
    const auto shape = graph.shape(tensor);
    if (shape.size() != 3 || (shape[1] != hidden && shape[2] != hidden)) continue;
    const std::int64_t other = shape[1] == hidden ? shape[2] : shape[1];
    width = width == 0 ? other : std::min(width, other);  // gate and up may be one tensor
  }
  return width;
}

/// Sets widths.feed_forward, widths.expert and widths.scan to those of a layer, where they are wider.
void find_feed_forward(const Graph& graph, const Blocks& blocks, BlockId layer, Widths& widths) {
  const std::vector<OpId> experts = expert_ops(graph, blocks, layer);
  const std::set<OpId> among(experts.begin(), experts.end());
  std::int64_t stack = 0;
  for (const OpId op : blocks[layer].ops) {
    if (!reads_parameters(graph, op)) continue;
    const bool expert = among.contains(op);
    const std::int64_t stacked = expert ? width_of_stack(graph, op, widths.hidden) : 0;
    if (stacked > 0) {
      stack = stack == 0 ? stacked : std::min(stack, stacked);
    } else if (width_made(graph, op) == widths.hidden) {
      std::int64_t& widest = expert ? widths.expert : widths.feed_forward;
      widest = std::max(widest, width_read(graph, op));
    }
  }
  widths.expert = std::max(widths.expert, stack);
  for (const OpId op : blocks[layer].ops) {
    if (graph.op_type(op) == "Conv") widths.scan = std::max(widths.scan, widths.feed_forward);
  }
}

/// Attention to latent vectors of keys and values (DeepSeek's): queries as they are, without and with
/// positions, and turned into the latent space, alone and with positions.
std::int64_t latent_queries(const Graph& graph, const Blocks& blocks, BlockId layer) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> widths;  // read and made, by module
  for (const OpId op : blocks[layer].ops) {
    if (!reads_parameters(graph, op)) continue;
    const std::string& module = blocks.module_of(op);
    widths[module.substr(module.rfind('.') + 1)] = {width_read(graph, op), width_made(graph, op)};
  }
  if (!widths.contains("kv_b_proj") || !widths.contains("kv_a_proj_with_mqa")) return 0;
  const std::int64_t queries = widths[widths.contains("q_b_proj") ? "q_b_proj" : "q_proj"].second;
  const std::int64_t latent = widths["kv_b_proj"].first;
  const std::int64_t positions = widths["kv_a_proj_with_mqa"].second - latent;
  // kv_b_proj makes keys without positions, and values, which o_proj reads.
  const std::int64_t of_positions = queries - (widths["kv_b_proj"].second - widths["o_proj"].first);
  const std::int64_t heads = positions > 0 ? of_positions / positions : 0;
  return std::max<std::int64_t>(0, queries + heads * (2 * latent + 2 * positions));
}

/// The task's costs, with these bytes beside the workspace that ops have.
class Workspaces {
 public:
  explicit Workspaces(const ToolTask& task) : graph_(task.graph), table_(task.costs) {}
  void add(const std::vector<OpId>& ops, std::int64_t bytes) {
    for (const OpId op : ops) {
      if (!reads_parameters(graph_, op)) continue;
      std::int64_t& its = table_.workspace_bytes[at(op)];
      its = std::max(its, bytes);
    }
  }
  [[nodiscard]] std::shared_ptr<const Costs> costs() && { return std::move(table_).costs(); }

 private:
  const Graph& graph_;
  CostTable table_;
};

/// The work of an op that computes all of them: the sum of those that read weights, of the largest's kind.
Work fused_work(const Graph& graph, const std::vector<OpId>& experts) {
  Work fused;
  double most = -1;
  double flops = 0, bytes = 0;
  for (const OpId op : experts) {
    if (!reads_parameters(graph, op)) continue;
    const Work work = op_work(graph, op);
    flops += work.flops;
    bytes += work.bytes;
    if (work.bytes <= most) continue;
    most = work.bytes;
    fused = work;
  }
  fused.flops = flops;
  fused.bytes = bytes;
  fused.products = {};
  return fused;
}

/// Whether ops of several experts are in it, and all have costs that follow from their work.
bool is_spelled_out(const Graph& graph, const Blocks& blocks, const std::vector<OpId>& experts) {
  std::set<std::string> modules;
  for (const OpId op : experts) {
    if (!graph.stated_costs(op).empty()) return false;
    const std::string& module = blocks.module_of(op);
    const std::size_t list = module.find("experts.");
    if (list != std::string::npos) modules.insert(module.substr(0, module.find('.', list + 8)));
  }
  return modules.size() > 1;
}

}  // namespace

std::int64_t whole_number(const Graph& graph, OpId op, std::string_view attribute) {
  const AttributeValue* const value = graph.attribute(op, attribute);
  const auto* const number = value == nullptr ? nullptr : std::get_if<std::int64_t>(value);
  return number == nullptr ? 0 : *number;
}

std::shared_ptr<const Costs> with_fused_experts(const ToolTask& task, const Blocks& blocks,
                                                const Decoder& decoder) {
  CostTable table(task.costs);
  const bool computed = task.costs.source().find("roofline") != std::string::npos;
  for (const BlockId layer : computed ? decoder.layers : std::vector<BlockId>()) {
    const std::vector<OpId> experts = expert_ops(task.graph, blocks, layer);
    if (!is_spelled_out(task.graph, blocks, experts)) continue;
    const Work fused = fused_work(task.graph, experts);
    const OpId last = *std::find_if(experts.rbegin(), experts.rend(),
                                    [&](OpId op) { return reads_parameters(task.graph, op); });
    for (KindId kind = 0; kind < task.costs.kind_count(); ++kind) {
      std::vector<double>& row = table.us[at(kind)];
      for (const OpId op : experts) row[at(op)] = row[at(op)] < kCannotRun ? 0 : row[at(op)];
      if (row[at(last)] < kCannotRun) {
        row[at(last)] = roofline_us(fused, task.cluster.kind_device(kind), task.arithmetic);
      }
    }
  }
  return std::move(table).costs();
}

Widths widths_of(const Graph& graph, const Blocks& blocks, const Decoder& decoder) {
  Widths widths;
  const std::int64_t positions = find_hidden(graph, blocks, decoder, widths);
  for (const BlockId layer : decoder.layers) {
    find_feed_forward(graph, blocks, layer, widths);
    widths.latent = std::max(widths.latent, latent_queries(graph, blocks, layer));
    for (const OpId op : blocks[layer].ops) {
      widths.chosen = std::max(widths.chosen, chosen_by(graph, op));
    }
  }
  widths.cached = cached_positions(graph, blocks, decoder, widths.scan > 0);
  for (const BlockId block : decoder.behind) {
    for (const OpId op : blocks[block].ops) {
      if (reads_parameters(graph, op)) widths.words = std::max(widths.words, width_made(graph, op));
    }
  }
  widths.context = widths.cached + positions;
  // Tools refuse a context beyond what the model was trained for.
  const std::int64_t trained = trained_positions(graph, blocks, decoder);
  if (trained > 0 && widths.cached <= trained) {
    widths.context = std::min(widths.context, trained);
  }
  widths.has_caches = widths.cached > 0;
  if (widths.has_caches) find_caches(graph, blocks, decoder, widths);
  return widths;
}

std::string missing_caches(const Graph& graph, const Blocks& blocks, const Decoder& decoder,
                           const Widths& widths, std::string_view tool) {
  // Projections of keys, values, the latent vector of both; and of both with queries.
  static const std::set<std::string> kApart = {
      "k_proj", "v_proj", "key", "value", "k", "v", "kv_a_proj_with_mqa"};
  static const std::set<std::string> kTogether = {"qkv_proj", "query_key_value", "c_attn", "Wqkv"};
  if (widths.has_caches) return {};
  std::int64_t numbers = 0;  // of a position, in all layers
  for (const BlockId layer : decoder.layers) {
    for (const OpId op : blocks[layer].ops) {
      // A bias is added to what was counted.
      if (!reads_parameters(graph, op) || graph.op_type(op) == "Add") continue;
      const std::string& module = blocks.module_of(op);
      const std::string name = module.substr(module.rfind('.') + 1);
      const std::int64_t width = width_made(graph, op);
      if (kApart.contains(name)) numbers += width;
      if (kTogether.contains(name)) numbers += std::max<std::int64_t>(0, width - widths.hidden);
    }
  }
  if (numbers == 0) return {};
  return cat("this file has no caches, for which ", tool, " takes ",
             format_bytes(2 * numbers * widths.context), " more for ", format_count(widths.context),
             " positions; export the model with them, so that the plan has that room");
}

std::int64_t llama_context(const Widths& widths) {
  // A file without caches says nothing of the context.
  const std::int64_t least = widths.has_caches ? 1 : kUbatch;
  return in_steps(std::max(least, widths.context));
}

std::int64_t llama_window_context(const Widths& widths, std::int64_t window) {
  const std::int64_t context = llama_context(widths);
  return window >= context ? context : std::min(context, in_steps(window + kUbatch));
}

LlamaBuffers llama_buffers(const Widths& widths) {
  const std::int64_t context = llama_context(widths);
  const std::int64_t tokens = std::min(kUbatch, context);
  const std::int64_t mask = tokens * context * 2;
  const auto floats = [&](std::int64_t width) { return tokens * width * 4; };
  LlamaBuffers buffers;
  buffers.input = floats(2 * widths.hidden) + mask;
  buffers.attention = floats(5 * widths.hidden + widths.latent) + mask;
  // Results of experts have a place of their own where they do not fit that of gate and up.
  const std::int64_t inner = widths.chosen * widths.expert;
  const std::int64_t made = widths.chosen * widths.hidden;
  const std::int64_t experts = 3 * inner + (made > 2 * inner ? made : 0);
  const std::int64_t beside = (widths.expert > 0 ? 5 : 3) * widths.hidden;
  buffers.layer = std::max(
      buffers.attention,
      floats(std::max(3 * widths.feed_forward, widths.expert > 0 ? experts : 0) + beside) + mask);
  if (widths.scan > 0) {
    // Each sequence has states, and what the convolution reads of the positions before.
    const std::int64_t states = widths.scan * (kStates + kConvolution - 1) * 4;
    buffers.layer = std::max(buffers.layer, floats(6 * widths.scan + 3 * widths.hidden) + states);
  }
  buffers.head = floats(widths.words + widths.hidden);
  return buffers;
}

std::shared_ptr<const Costs> with_llama_buffers(const ToolTask& task, const Blocks& blocks,
                                                const Decoder& decoder) {
  const LlamaBuffers buffers = llama_buffers(widths_of(task.graph, blocks, decoder));
  Workspaces workspaces(task);
  for (const BlockId block : decoder.before) workspaces.add(blocks[block].ops, buffers.input);
  for (const BlockId layer : decoder.layers) {
    const std::vector<OpId> experts = expert_ops(task.graph, blocks, layer);
    workspaces.add(experts.empty() ? blocks[layer].ops : experts, buffers.layer);
    workspaces.add(blocks[layer].ops, buffers.attention);
  }
  for (const BlockId block : decoder.behind) workspaces.add(blocks[block].ops, buffers.head);
  return std::move(workspaces).costs();
}

std::int64_t llama_largest_tensor(const Graph& graph, const Blocks& blocks,
                                  const Decoder& decoder) {
  std::int64_t largest = 0;
  const auto look = [&](const std::vector<OpId>& ops) {
    for (const OpId op : ops) {
      for (const TensorId tensor : graph.parameters(op)) {
        largest = std::max(largest, graph.bytes(tensor));
      }
    }
  };
  for (const BlockId layer : decoder.layers) {
    look(blocks[layer].ops);
    // One tensor has a projection of all experts: weights of the same name, or at the same place of their expert.
    std::map<std::string, std::int64_t> merged;
    std::map<std::string, int> place;
    for (const OpId op : expert_ops(graph, blocks, layer)) {
      const std::string& module = blocks.module_of(op);
      for (const TensorId tensor : graph.parameters(op)) {
        std::string name = module.substr(module.rfind('.') + 1);
        const bool numbered =
            std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c); });
        if (numbered) name = std::to_string(place[module]++);
        std::int64_t& bytes = merged[name];
        bytes += graph.bytes(tensor);
        largest = std::max(largest, bytes);
      }
    }
  }
  for (const BlockId block : decoder.behind) look(blocks[block].ops);
  return largest;
}

std::shared_ptr<const Costs> with_vllm_activations(const ToolTask& task, const Blocks& blocks,
                                                   const Decoder& decoder) {
  const Widths widths = widths_of(task.graph, blocks, decoder);
  Workspaces workspaces(task);
  for (const BlockId layer : decoder.layers) {
    // Gate, up and their product, residual and hidden state, in 16 bits.
    const std::int64_t dense = 3 * widths.feed_forward + widths.hidden;
    const std::int64_t experts =
        widths.expert > 0 ? widths.chosen * (3 * widths.expert + widths.hidden) : 0;
    workspaces.add(blocks[layer].ops, kVllmTokens * 2 * (std::max(dense, experts) + widths.hidden));
  }
  // Logits in 16 bits, in 32, and their probabilities.
  for (const BlockId block : decoder.behind) {
    workspaces.add(blocks[block].ops, kVllmSequences * widths.words * 10);
  }
  return std::move(workspaces).costs();
}

std::shared_ptr<const Costs> with_copied_ties(const ToolTask& task, const Blocks& blocks) {
  std::map<BlockId, std::int64_t> copies;
  for (const Blocks::Tie& tie : blocks.ties()) {
    copies[tie.blocks.front()] += task.graph.bytes(tie.parameter);
  }
  Workspaces workspaces(task);
  for (const auto& [block, bytes] : copies) workspaces.add(blocks[block].ops, bytes);
  return std::move(workspaces).costs();
}

}  // namespace berth::writers
