#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "berth/graph.h"
#include "onnx/program.h"
#include "support/sizes.h"

namespace berth::onnx_frontend {

struct Translation {
  /// Ops: graph inputs, then nodes, then constants that the graph returns.
  std::shared_ptr<const Graph> graph;
  std::unordered_map<ValueId, TensorId> tensors;  ///< of the values that are tensors of the graph
  frontend::NotAsked not_asked;
  std::string note_of_bodies;  ///< on tensors without a size in them; empty if there are none
};

/// A program with inferred types as a Graph of dialect "onnx":
///  - graph inputs are ops of type "Input" without work, so that what is fed has a size and a place;
///  - initializers and Constants that the graph does not return are parameters of their readers;
///  - op types of other domains than the standard one are "domain.Type";
///  - an op with a body also reads what its body captures, holds the body's parameters, and has the
///    body's work (of the larger branch of an If, times the trips of a Loop or Scan where known), with
///    what depends on weights alone left out of it if `fold`.
/// Appends warnings for the user to `notes`.
[[nodiscard]] Translation translate(const Program& program, const std::string& name, bool fold,
                                    std::vector<std::string>& notes);

}  // namespace berth::onnx_frontend
