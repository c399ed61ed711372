#include "writers/decoder.h"

#include <algorithm>
#include <map>
#include <set>

#include "berth/error.h"
#include "berth/machines.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "layers/module_names.h"

namespace berth::writers {
namespace {

/// Another list with more than this share of the layers' parameters makes two stacks.
constexpr double kSecondStack = 0.05;

/// How many elements a list has, as far as scopes of ops show; at least so many.
int element_count(const Graph& graph, const std::string& list, int count) {
  const std::string prefix = list.empty() ? list : list + ".";
  const Scopes scopes(graph);
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const std::string scope = scopes.of(op);
    if (!scope.starts_with(prefix)) continue;
    const std::vector<std::string> parts = module_parts(scope.substr(prefix.size()));
    count = std::max(count, number_of_part(parts.front()) + 1);
  }
  return count;
}

/// Ops that read a matrix, as those do that multiply with weights or look words up. Parameters without a
/// shape may be matrices.
int matrix_count(const Graph& graph, const Block& block) {
  return static_cast<int>(std::count_if(block.ops.begin(), block.ops.end(), [&](OpId op) {
    const auto parameters = graph.parameters(op);
    const auto is_matrix = [&](TensorId tensor) {
      const auto shape = graph.shape(tensor);
      return !graph.has_shape(tensor) ||
             std::count_if(shape.begin(), shape.end(), [](std::int64_t dim) { return dim > 1; }) >
                 1;
    };
    const bool reads = std::any_of(parameters.begin(), parameters.end(), is_matrix);
    return !graph.is_constant(op) && (reads || graph.stated_param_bytes(op) > 0);
  }));
}

/// Takes first and last elements away that are no layers: fewer matrices than layers have, of which one
/// has two at least, unless all have fewer.
void keep_layers(const Graph& graph, const Blocks& blocks, std::string_view tool,
                 std::vector<BlockId>& layers) {
  std::vector<int> counts;
  for (const BlockId layer : layers) counts.push_back(matrix_count(graph, blocks[layer]));
  const int least = std::min(2, *std::max_element(counts.begin(), counts.end()));
  std::size_t begin = 0, end = layers.size();
  while (begin < end && counts[begin] < least) ++begin;
  while (end > begin && counts[end - 1] < least) --end;
  for (std::size_t i = begin; i < end; ++i) {
    if (counts[i] >= least) continue;
    throw Error(ErrorCode::unsupported,
                cat(tool, " takes decoders, which are one stack of layers alike, and ",
                    blocks[layers[i]].name, " has ", counts[i], " of the ", least,
                    " products with weights that a layer has at least; choose torch-pipelining or "
                    "deepspeed, which cut lists of any elements"));
  }
  layers = {layers.begin() + static_cast<std::ptrdiff_t>(begin),
            layers.begin() + static_cast<std::ptrdiff_t>(end)};
}

/// Throws for a layer that predicts a further word (DeepSeek's, GLM's): tools count it in ways of their own,
/// and run it beside the others.
void refuse_further_words(const Graph& graph, const Blocks& blocks, std::string_view tool,
                          const std::vector<BlockId>& layers) {
  for (const BlockId layer : layers) {
    const Block& block = blocks[layer];
    for (const OpId op : block.ops) {
      if (graph.is_constant(op) || !blocks.module_of(op).ends_with(".eh_proj")) continue;
      throw Error(ErrorCode::unsupported,
                  cat(tool, " runs ", block.name,
                      " apart from the layers of the network, as it predicts a further word ('",
                      blocks.module_of(op), "'); export the model without it"));
    }
  }
}

}  // namespace

Decoder decoder_of(const Graph& graph, const Blocks& blocks, std::string_view tool) {
  Decoder decoder;
  decoder.layers = blocks.layers();
  keep_layers(graph, blocks, tool, decoder.layers);
  refuse_further_words(graph, blocks, tool, decoder.layers);
  std::map<std::string, std::int64_t> bytes;
  for (const Block& block : blocks.all()) {
    if (block.number != kNoBlockNumber) bytes[block.list] += block.param_bytes;
  }
  const auto of_layers = static_cast<double>(bytes[blocks.layer_list()]);
  for (const auto& [list, its] : bytes) {
    if (list == blocks.layer_list() || static_cast<double>(its) <= kSecondStack * of_layers)
      continue;
    throw Error(ErrorCode::unsupported,
                cat(tool, " takes decoders, which are one stack of layers, and this network has ",
                    list, ".* beside ", blocks.layer_list(), ".*"));
  }
  const std::set<BlockId> layers(decoder.layers.begin(), decoder.layers.end());
  for (BlockId block = 0; block < blocks.count(); ++block) {
    if (layers.contains(block)) continue;
    (block < decoder.layers.back() ? decoder.before : decoder.behind).push_back(block);
  }
  return decoder;
}

PipelineLayers pipeline_layers(const Graph& graph, const Blocks& blocks) {
  PipelineLayers layers;
  std::map<std::string, std::set<int>> lists;
  for (BlockId id = 0; id < blocks.count(); ++id) {
    const Block& block = blocks[id];
    if (block.ops.empty()) continue;
    layers.numbers.push_back(static_cast<int>(layers.blocks.size()));
    layers.blocks.push_back(id);
    layers.names.push_back(block.name);
    if (block.number == kNoBlockNumber) {
      lists[block.name];
    } else {
      lists[block.list].insert(block.number);
    }
  }
  const auto name_of = [](const std::string& list, int number) {
    return cat(list, list.empty() ? "" : ".", number);
  };
  const bool in_order =
      std::is_sorted(layers.blocks.begin(), layers.blocks.end(),
                     [&](BlockId a, BlockId b) { return blocks[a].number < blocks[b].number; });
  if (lists.size() == 1 && !lists.begin()->second.empty() && in_order) {
    const std::string& list = lists.begin()->first;
    const int count = element_count(graph, list, *lists.begin()->second.rbegin() + 1);
    layers.names.clear();
    for (int i = 0; i < count; ++i) layers.names.push_back(name_of(list, i));
    for (std::size_t i = 0; i < layers.blocks.size(); ++i) {
      layers.numbers[i] = blocks[layers.blocks[i]].number;
    }
    return layers;
  }
  for (const auto& [list, numbers] : lists) {
    int next = 0;
    for (const int number : numbers) {
      if (number == next++) continue;
      throw Error(ErrorCode::unsupported,
                  cat("DeepSpeed counts layers, and ", name_of(list, next - 1),
                      " has no parameters by which the plan could; torch-pipelining names them"));
    }
  }
  return layers;
}

bool is_gpu(const Device& device) {
  return !device.host && device.runs.every();
}

std::string_view maker_of(const Device& device) {
  for (const KnownDevice& known : known_devices()) {
    if (known.device.kind != device.kind && known.npu.kind != device.kind) continue;
    if (!known.npu.kind.empty()) return "a phone";
    for (const std::string_view maker : {"NVIDIA", "AMD", "Intel", "Apple"}) {
      if (known.description.find(maker) != std::string::npos) return maker;
    }
  }
  return {};
}

int capability_of(const Device& device) {
  const KnownDevice* const known = find_known_device(device.kind);
  return known == nullptr ? 0 : known->capability;
}

bool needs_halves(const Graph& graph, const Cluster& cluster) {
  bool old = false;
  for (DeviceId d = 0; d < cluster.device_count(); ++d) {
    const int capability = capability_of(cluster.device(d));
    old = old || (capability > 0 && capability < kAmpere);
  }
  for (TensorId tensor = 0; old && tensor < graph.tensor_count(); ++tensor) {
    if (graph.dtype(tensor) == DType::bf16) return true;
  }
  return false;
}

bool is_openvinos(const Device& device) {
  return device.host || maker_of(device).empty() || maker_of(device) == "Intel";
}

int accelerator_number(const Cluster& cluster, DeviceId device) {
  if (!is_gpu(cluster.device(device))) return -1;
  int number = 0;
  for (DeviceId d = 0; d < device; ++d) number += is_gpu(cluster.device(d)) ? 1 : 0;
  return number;
}

int accelerator_count(const Cluster& cluster) {
  int count = 0;
  for (DeviceId d = 0; d < cluster.device_count(); ++d) count += is_gpu(cluster.device(d)) ? 1 : 0;
  return count;
}

std::string_view order_variable(const Cluster& cluster) {
  const Device* first = nullptr;
  bool alike = true;
  std::set<std::string_view> makers;
  for (DeviceId d = 0; d < cluster.device_count(); ++d) {
    const Device& device = cluster.device(d);
    if (!is_gpu(device)) continue;
    if (first == nullptr) first = &device;
    alike = alike && device.kind == first->kind;
    makers.insert(maker_of(device));
  }
  if (alike) return {};
  // A maker that nobody named may be NVIDIA.
  if (makers.contains("NVIDIA") || makers.contains("")) return "CUDA_DEVICE_ORDER=PCI_BUS_ID";
  return makers.contains("Intel") ? "ZE_ENABLE_PCI_ID_DEVICE_ORDER=1" : "";
}

std::int64_t largest_block_bytes(const Blocks& blocks) {
  std::int64_t largest = 0;
  for (const Block& block : blocks.all()) largest = std::max(largest, block.param_bytes);
  return largest;
}

std::int64_t bytes_read(const Graph& graph, const std::vector<OpId>& ops) {
  std::int64_t bytes = 0;
  std::set<TensorId> seen;
  for (const OpId op : ops) {
    bytes += graph.stated_param_bytes(op);
    for (const TensorId tensor : graph.parameters(op)) {
      if (seen.insert(tensor).second) bytes += graph.bytes(tensor);
    }
  }
  return bytes;
}

const Block* smallest_block(const Graph& graph, const Blocks& blocks) {
  const Block* smallest = nullptr;
  std::int64_t fewest = 0;
  for (const Block& block : blocks.all()) {
    if (block.ops.empty()) continue;
    // Not what it counts for: a tied head brings its embeddings.
    const std::int64_t bytes = bytes_read(graph, block.ops);
    if (smallest != nullptr && bytes >= fewest) continue;
    smallest = &block;
    fewest = bytes;
  }
  return smallest;
}

bool has_room_for_hosts(const Graph& graph, const Device& device, const Blocks& blocks) {
  const Block* const own = smallest_block(graph, blocks);
  return own == nullptr || device.memory_bytes == kNoLimit ||
         device.memory_bytes - largest_block_bytes(blocks) > bytes_read(graph, own->ops);
}

DeviceId main_accelerator(const Graph& graph, const Cluster& cluster, const Blocks& blocks) {
  const auto rank = [&](DeviceId d) {
    const Device& device = cluster.device(d);
    const bool has_room = has_room_for_hosts(graph, device, blocks);
    return std::pair(has_room, has_room ? std::max(device.flops, device.flops_16)
                                        : static_cast<double>(device.memory_bytes));
  };
  DeviceId best = kNoDevice;
  for (DeviceId d = 0; d < cluster.device_count(); ++d) {
    if (!is_gpu(cluster.device(d))) continue;
    if (best == kNoDevice || rank(d) > rank(best)) best = d;
  }
  return best;
}

}  // namespace berth::writers
