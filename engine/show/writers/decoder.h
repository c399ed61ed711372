// A decoder as tools see it that know nothing else: what comes before its layers, them, and what comes
// behind.
#pragma once

#include <string>
#include <vector>

#include "berth/blocks.h"
#include "berth/cluster.h"

namespace berth::writers {

struct Decoder {
  std::vector<BlockId> before;
  std::vector<BlockId> layers;  ///< by number
  std::vector<BlockId> behind;
};

/// Throws Error(unsupported), naming `tool`, for a network that is not one stack of layers.
[[nodiscard]] Decoder decoder_of(const Blocks& blocks, std::string_view tool);

/// Neither a host nor a neural processor: it runs every op.
[[nodiscard]] bool is_gpu(const Device& device);
/// The number of a GPU among GPUs; -1 for another device.
[[nodiscard]] int accelerator_number(const Cluster& cluster, DeviceId device);
[[nodiscard]] int accelerator_count(const Cluster& cluster);
/// That on which accelerate computes what a host holds: the one with the fastest arithmetic of those with
/// room for the largest block; where none has it, of all. kNoDevice where there is none.
[[nodiscard]] DeviceId main_accelerator(const Cluster& cluster, const Blocks& blocks);
/// Parameters of the block that has most.
[[nodiscard]] std::int64_t largest_block_bytes(const Blocks& blocks);

}  // namespace berth::writers
