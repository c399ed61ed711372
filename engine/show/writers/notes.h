// Notes about a tool's plan for which the plan itself has no place.
#pragma once

#include <string_view>
#include <vector>

#include "berth/blocks.h"
#include "berth/tools.h"
#include "writers/decoder.h"

namespace berth::writers {

/// A form that holds numbers of GPUs has no place for variables.
void note_order(const Cluster& cluster, ToolRules& rules);
/// torch.onnx.export computes constants, such as the rows of a table of positions, from parameters that the
/// file then lacks. A module around others has no entry in a map, so that nothing covers them there.
void note_computed(const ToolTask& task, const Blocks& blocks, ToolRules& rules);
/// Caches that the file lacks, or has for a single position: a dimension that nobody gave.
void note_caches(const ToolTask& task, const Blocks& blocks, const Decoder& decoder,
                 std::string_view tool, ToolRules& rules);
/// The bits of a weight of `ops`, for a tool that loads `its_file` ("a GGUF file") and not this one.
void note_bits(const ToolTask& task, const std::vector<OpId>& ops, std::string_view tool,
               std::string_view its_file, ToolRules& rules);
/// The same of all blocks, for a tool that loads the model's checkpoint, whose weights have 16 bits unless
/// somebody quantised it. Nothing where the file has as many.
void note_quantised(const ToolTask& task, const Blocks& blocks, std::string_view tool,
                    ToolRules& rules);
/// Memory that training takes beside a forward pass, for a tool that trains: it is no part of the plan. Nothing where
/// weights have no shapes.
void note_training(const ToolTask& task, const Blocks& blocks, std::string_view tool,
                   ToolRules& rules);
/// A tool with a pipeline is told of the objective: a plan for the shortest step has none.
void note_one_step(const ToolTask& task, std::string_view tool, ToolRules& rules);
/// vLLM's tensor parallelism, where GPUs are alike.
void note_tensor_parallel(const Cluster& cluster, ToolRules& rules);

}  // namespace berth::writers
