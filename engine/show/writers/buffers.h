// Memory that tools allot beside weights, caches and what a step keeps, by their own rules: a workspace
// of the ops that use it. A device has the largest of its ops.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/blocks.h"
#include "berth/costs.h"
#include "berth/tools.h"
#include "writers/decoder.h"

namespace berth::writers {

/// The task's costs for a tool whose kernels compute all experts of a layer at once: the arithmetic of all
/// and the weights that are read, in one launch, as of a file that has them in one op. Those of the task
/// where no layer has its experts one by one, or costs were measured or stated.
[[nodiscard]] std::shared_ptr<const Costs> with_fused_experts(const ToolTask& task,
                                                              const Blocks& blocks,
                                                              const Decoder& decoder);

/// The widths of a decoder, in elements. 0 = the graph does not say it.
struct Widths {
  std::int64_t hidden = 0;        ///< of what one layer hands to the next
  std::int64_t feed_forward = 0;  ///< of the widest layer, experts apart
  std::int64_t expert = 0;        ///< of an expert's feed-forward; 0 = there are none
  std::int64_t chosen = 1;        ///< experts for a token
  std::int64_t latent =
      0;  ///< of all queries that attention to latent vectors makes; 0 = it does not
  std::int64_t scan = 0;  ///< of a layer of states and convolutions (Mamba's); 0 = there is none
  std::int64_t words = 0;
  std::int64_t context = 0;    ///< positions of the caches, this step's among them
  std::int64_t cached = 0;     ///< those without this step's
  bool has_caches = false;     ///< whether the file has them
  std::int64_t sequences = 1;  ///< that have caches of their own
  int cache_bits = 0;          ///< of a number of theirs
};
[[nodiscard]] Widths widths_of(const Graph& graph, const Blocks& blocks, const Decoder& decoder);

/// An attribute that is a whole number; 0 where `op` has none of that name.
[[nodiscard]] std::int64_t whole_number(const Graph& graph, OpId op, std::string_view attribute);

/// A sentence on caches that the tool allots, in 16 bits, and the file does not have; empty where it has
/// them, or no keys and values are known.
[[nodiscard]] std::string missing_caches(const Graph& graph, const Blocks& blocks,
                                         const Decoder& decoder, const Widths& widths,
                                         std::string_view tool);

/// The positions for which llama.cpp allots caches: those of the file, in steps of its own.
[[nodiscard]] std::int64_t llama_context(const Widths& widths);
/// Those of a layer that sees `window` of them, for one sequence and without --swa-full: the window and a
/// prompt's tokens (src/llama-kv-cache-iswa.cpp).
[[nodiscard]] std::int64_t llama_window_context(const Widths& widths, std::int64_t window);

/// llama.cpp's compute buffers for a prompt, as src/llama-context.cpp reserves them, with flash
/// attention and without its pipeline, which it gives up where it has no room. In bytes.
struct LlamaBuffers {
  std::int64_t input = 0;      ///< where words are looked up
  std::int64_t attention = 0;  ///< of a layer whose experts are elsewhere
  std::int64_t layer = 0;
  std::int64_t head = 0;
};
[[nodiscard]] LlamaBuffers llama_buffers(const Widths& widths);
/// The task's costs with them.
[[nodiscard]] std::shared_ptr<const Costs> with_llama_buffers(const ToolTask& task,
                                                              const Blocks& blocks,
                                                              const Decoder& decoder);
/// The largest tensor of a layer or the head, a layer's experts being one: what a GPU has room for where
/// the host holds some of them.
[[nodiscard]] std::int64_t llama_largest_tensor(const Graph& graph, const Blocks& blocks,
                                                const Decoder& decoder);

/// The task's costs with the activations of the batch with which vLLM finds out what is left for
/// caches.
[[nodiscard]] std::shared_ptr<const Costs> with_vllm_activations(const ToolTask& task,
                                                                 const Blocks& blocks,
                                                                 const Decoder& decoder);

/// The task's costs with the copy of a tied weight that torch.distributed.pipelining has where it is read
/// first: of all of its readers there, beside the ones that later stages have. It is counted while the first
/// block is computed, and where all are on one GPU too, which then has no copy.
[[nodiscard]] std::shared_ptr<const Costs> with_copied_ties(const ToolTask& task,
                                                            const Blocks& blocks);

}  // namespace berth::writers
