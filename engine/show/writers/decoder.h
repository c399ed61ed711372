// A decoder as tools see it that know nothing else: what comes before its layers, them, and what comes
// behind.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/blocks.h"
#include "berth/cluster.h"

namespace berth::writers {

struct Decoder {
  std::vector<BlockId> before;
  std::vector<BlockId> layers;  ///< by number
  std::vector<BlockId> behind;
};

/// First and last elements of the list of layers that are none, such as an embedding, a norm or a head in
/// one sequence with them, are before and behind. Throws Error(unsupported), naming `tool`, for a network
/// that is not one stack of layers.
[[nodiscard]] Decoder decoder_of(const Graph& graph, const Blocks& blocks, std::string_view tool);

/// The layers of DeepSpeed's PipelineModule: the blocks that compute something, or where those are
/// elements of one list, all elements.
struct PipelineLayers {
  std::vector<BlockId> blocks;  ///< that compute something
  std::vector<int> numbers;     ///< theirs among `names`
  std::vector<std::string> names;
};
/// Throws Error(unsupported) naming an element without parameters among several lists.
[[nodiscard]] PipelineLayers pipeline_layers(const Graph& graph, const Blocks& blocks);

/// Shares that llama.cpp's --tensor-split takes: one fewer than the devices it knows (llama_max_devices).
inline constexpr int kLlamaShares = 15;

/// Compute capabilities, ten times: of Volta, and of Ampere, the first with bf16.
inline constexpr int kVolta = 70, kAmpere = 80;

/// Neither a host nor a neural processor: it runs every op.
[[nodiscard]] bool is_gpu(const Device& device);
/// The maker of a device of machines in words: "Intel", "NVIDIA"; "a phone" for the GPU and the neural
/// processor of one. Empty for other devices.
[[nodiscard]] std::string_view maker_of(const Device& device);
/// The compute capability of NVIDIA's GPU, ten times: 70 for Volta. 0 = not known, or another maker's.
[[nodiscard]] int capability_of(const Device& device);
/// Whether the graph computes in bf16, which a GPU of the machine has no arithmetic of.
[[nodiscard]] bool needs_halves(const Graph& graph, const Cluster& cluster);
/// Whether OpenVINO may have it: Intel's GPUs and neural processors alone, and every host.
[[nodiscard]] bool is_openvinos(const Device& device);
/// The number of a GPU among GPUs; -1 for another device.
[[nodiscard]] int accelerator_number(const Cluster& cluster, DeviceId device);
[[nodiscard]] int accelerator_count(const Cluster& cluster);
/// The environment variable with which the maker's runtime numbers GPUs by their slots, as machines do;
/// empty where all are alike, or it does so anyway. CUDA has the fastest first.
[[nodiscard]] std::string_view order_variable(const Cluster& cluster);
/// That on which accelerate computes what a host holds: the one with the fastest arithmetic of those that
/// have room for it; where none has, the largest. kNoDevice where there is none.
[[nodiscard]] DeviceId main_accelerator(const Graph& graph, const Cluster& cluster,
                                        const Blocks& blocks);
/// Room for a block of its own beside the largest that a host holds.
[[nodiscard]] bool has_room_for_hosts(const Graph& graph, const Device& device,
                                      const Blocks& blocks);
/// Parameters that the ops read, each once.
[[nodiscard]] std::int64_t bytes_read(const Graph& graph, const std::vector<OpId>& ops);
/// Parameters of the block that has most.
[[nodiscard]] std::int64_t largest_block_bytes(const Blocks& blocks);
/// The block that computes something and reads fewest. Null where none computes.
[[nodiscard]] const Block* smallest_block(const Graph& graph, const Blocks& blocks);

}  // namespace berth::writers
