#include "writers/decoder.h"

#include <algorithm>
#include <map>
#include <set>

#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/text.h"

namespace berth::writers {
namespace {

/// Another list with more than this share of the layers' parameters makes two stacks.
constexpr double kSecondStack = 0.05;

}  // namespace

Decoder decoder_of(const Blocks& blocks, std::string_view tool) {
  Decoder decoder;
  decoder.layers = blocks.layers();
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

bool is_gpu(const Device& device) {
  return !device.host && device.runs.every();
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
