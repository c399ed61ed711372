#include "writers/notes.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "berth/module_attribute.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "support/units.h"
#include "writers/buffers.h"
#include "writers/caches.h"

namespace berth::writers {
namespace {

/// The weights that ops multiply with: their number, and the bytes of them with scales and zero points.
struct Weights {
  double count = 0;
  double bytes = 0;
};

/// The scales and zero points of weights that are dequantised by an op of their own.
std::set<TensorId> scales_of(const Graph& graph) {
  std::set<TensorId> scales;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (!graph.op_type(op).ends_with("DequantizeLinear")) continue;
    const auto inputs = graph.inputs(op);
    for (std::size_t i = 1; i < inputs.size(); ++i) {
      if (inputs[i] != kNoTensor) scales.insert(inputs[i]);
    }
  }
  return scales;
}

Weights weights_of(const Graph& graph, const std::vector<OpId>& ops) {
  Weights all;
  const std::set<TensorId> beside = scales_of(graph);
  std::set<TensorId> seen;
  for (const OpId op : ops) {
    if (graph.is_constant(op)) continue;
    // An op says how large its packed matrix is (MatMulNBits).
    const double packed = static_cast<double>(whole_number(graph, op, "K")) *
                          static_cast<double>(whole_number(graph, op, "N"));
    // An op says how many bits of its packed experts are one number (QMoE); scales lie beside them.
    const std::int64_t bits = whole_number(graph, op, "expert_weight_bits");
    double count = 0, bytes = 0;
    for (const TensorId tensor : graph.parameters(op)) {
      if (!seen.insert(tensor).second) continue;
      double elements = graph.shape(tensor).size() < 2 ? 0 : 1;
      for (const std::int64_t dim : graph.shape(tensor)) elements *= static_cast<double>(dim);
      if (beside.contains(tensor)) {
        bytes += static_cast<double>(graph.bytes(tensor));
        continue;
      }
      if (elements == 0 && packed == 0 && bits == 0) continue;
      if (bits > 0) {
        elements *= graph.dtype(tensor) == DType::u8 ? 8 / static_cast<double>(bits) : 0;
      }
      count += elements;
      bytes += static_cast<double>(graph.bytes(tensor));
    }
    if (bytes == 0) continue;
    all.count += packed > 0 ? packed : count;
    all.bytes += bytes;
  }
  return all;
}

/// An input of a layer with numbers of heads, or positions beside longer caches, that nobody gave. Empty
/// where there is none.
std::string cache_of_one(const Graph& graph, const Blocks& blocks, const Decoder& decoder,
                         const Widths& widths) {
  if (widths.cached <= 1) return {};
  for (const BlockId layer : decoder.layers) {
    for (const Cache& cache : caches_of(graph, blocks[layer])) {
      const auto shape = graph.shape(cache.tensor);
      if (shape.size() != 4) continue;
      const bool no_numbers = cache.along == 2 && shape[3] == 1;
      if (no_numbers || cache.positions == 1) return graph.op_name(cache.input);
    }
  }
  return {};
}

/// A weight, its gradient and Adam's two moments in 32 bits; or in 16 the first two, and a copy in 32 bits.
constexpr int kTrainedBytes = 16;

std::vector<OpId> ops_of(const Blocks& blocks) {
  std::vector<OpId> ops;
  for (const Block& block : blocks.all()) {
    ops.insert(ops.end(), block.ops.begin(), block.ops.end());
  }
  return ops;
}

}  // namespace

void note_order(const Cluster& cluster, ToolRules& rules) {
  const std::string_view variable = order_variable(cluster);
  if (variable.empty()) return;
  rules.notes.push_back(cat("the plan numbers GPUs by their slots, as the machine has them; set ",
                            variable, " where it runs"));
}

void note_computed(const ToolTask& task, const Blocks& blocks, ToolRules& rules) {
  std::set<std::string> modules, found;
  for (const Block& block : blocks.all())
    modules.insert(block.modules.begin(), block.modules.end());
  for (OpId op = 0; op < task.graph.op_count(); ++op) {
    const std::string& module = blocks.module_of(op);
    if (module.empty() || task.graph.attribute(op, kModuleAttribute) == nullptr) continue;
    const auto inner = modules.lower_bound(module + ".");
    if (inner == modules.end() || !inner->starts_with(module + ".")) continue;
    for (const TensorId tensor : task.graph.parameters(op)) {
      const bool named = task.graph.tensor_name(tensor).find('.') != std::string::npos;
      if (!named && task.graph.bytes(tensor) > 8) found.insert(module);
    }
  }
  if (found.empty()) return;
  rules.notes.push_back(
      cat("the file has constants that its exporter computed in ",
          join({found.begin(), found.end()}, 5),
          ", maybe from parameters that it lacks; where accelerate misses one, add "
          "it to the map with the device of the first layer that reads it"));
}

void note_caches(const ToolTask& task, const Blocks& blocks, const Decoder& decoder,
                 std::string_view tool, ToolRules& rules) {
  const Widths widths = widths_of(task.graph, blocks, decoder);
  std::string note = missing_caches(task.graph, blocks, decoder, widths, tool);
  if (!note.empty()) rules.notes.push_back(std::move(note));
  if (!widths.has_caches) return;
  if (widths.cached <= 1) {
    rules.notes.push_back(cat("caches are of ", widths.cached,
                              " position, as where their dimension is not given; give the ",
                              "context that ", tool,
                              " is to have with --dim, so that the plan has room for it"));
  }
  const std::string narrow = cache_of_one(task.graph, blocks, decoder, widths);
  if (narrow.empty()) return;
  rules.notes.push_back(
      cat("the plan has no room for what ", tool, " allots: cache '", narrow,
          "' has a dimension of 1, as where it is not given; give it with --dim"));
}

void note_bits(const ToolTask& task, const std::vector<OpId>& ops, std::string_view tool,
               std::string_view its_file, ToolRules& rules) {
  const Weights weights = weights_of(task.graph, ops);
  if (weights.count == 0) return;
  rules.notes.push_back(cat("the plan counts ", format_fixed(8 * weights.bytes / weights.count, 1),
                            " bits for a weight of the layers, as this file has them; ", tool,
                            " loads ", its_file,
                            ", and one of other bits needs a plan of its own"));
}

void note_training(const ToolTask& task, const Blocks& blocks, std::string_view tool,
                   ToolRules& rules) {
  const Weights weights = weights_of(task.graph, ops_of(blocks));
  if (weights.count == 0 || weights.bytes / weights.count >= kTrainedBytes) return;
  const double needed = kTrainedBytes * weights.count;
  double room = 0;
  for (DeviceId d = 0; d < task.cluster.device_count(); ++d) {
    const Device& device = task.cluster.device(d);
    if (!is_gpu(device)) continue;
    room += device.memory_bytes == kNoLimit ? needed : static_cast<double>(device.memory_bytes);
  }
  const std::string bytes = format_bytes(static_cast<std::int64_t>(needed));
  if (needed > room) {
    rules.notes.push_back(cat(
        "the plan counts a forward pass alone: training with Adam takes ", bytes, " (",
        kTrainedBytes, " bytes for each weight, with its gradient and moments), and the GPUs hold ",
        format_bytes(static_cast<std::int64_t>(room)),
        "; name a machine with more of them to train with ", tool));
    return;
  }
  const double kept = 1 - weights.bytes / weights.count / kTrainedBytes;
  rules.notes.push_back(cat(
      "the plan counts a forward pass alone: training with Adam takes ", bytes, " (", kTrainedBytes,
      " bytes for each weight, with its gradient and moments), and stage s of p keeps what p - s "
      "micro-batches need on the way back; to train with ",
      tool, ", keep room for them on each GPU, with --memory-margin ",
      static_cast<int>(std::ceil(100 * kept)), "% or more"));
}

void note_one_step(const ToolTask& task, std::string_view tool, ToolRules& rules) {
  if (task.pipeline || accelerator_count(task.cluster) < 2) return;
  rules.notes.push_back(
      cat("the plan is the fastest for one batch after the other, which may be on one GPU; ", tool,
          " has several micro-batches on the way: --objective throughput makes stages for those"));
}

void note_quantised(const ToolTask& task, const Blocks& blocks, std::string_view tool,
                    ToolRules& rules) {
  const Weights weights = weights_of(task.graph, ops_of(blocks));
  const double bits = weights.count == 0 ? 16 : 8 * weights.bytes / weights.count;
  if (bits > 15) return;
  rules.notes.push_back(
      cat("the plan counts ", format_fixed(bits, 1),
          " bits for a weight, as this file has them, and ", tool,
          " loads a checkpoint of its own: it needs one that is quantised alike; in "
          "16 bits weights take ",
          format_fixed(16 / bits, 1), " times the memory"));
}

void note_tensor_parallel(const Cluster& cluster, ToolRules& rules) {
  const int count = accelerator_count(cluster);
  const Device* first = nullptr;
  for (DeviceId d = 0; d < cluster.device_count(); ++d) {
    const Device& device = cluster.device(d);
    if (!is_gpu(device)) continue;
    if (first == nullptr) first = &device;
    if (device.kind != first->kind || device.memory_bytes != first->memory_bytes) return;
  }
  if (count < 2) return;
  rules.notes.push_back(
      cat("pipelines alone were searched; of equal GPUs vLLM can also have a part of each layer on "
          "every "
          "one (--tensor-parallel-size ",
          count, "), where a token reads the weights of all at once: measure that too"));
}

}  // namespace berth::writers
