// Tensors that have no size once a model is read.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "berth/frontend.h"
#include "berth/graph.h"

namespace berth::frontend {

/// LoadOptions::weakness of a name.
[[nodiscard]] inline int weakness_of(const LoadOptions& options, const std::string& name) {
  const auto found = options.weakness.find(name);
  return found == options.weakness.end() ? 0 : found->second;
}

/// Tensors, by id, that no shape is asked for. Empty: there are none of the kind.
struct NotAsked {
  std::vector<bool> shapeless;  ///< lists, maps and the like, which have none
  std::vector<bool> refused;    ///< inputs of their ops do not fit together
};

/// The tensors without a size that no other such tensor leads to, and that a shape would help.
[[nodiscard]] std::vector<TensorId> lost_sizes(const Graph& graph, const NotAsked& not_asked = {});

/// The name that --shape takes: the tensor's own, or its op's with the port behind it, if that is
/// not 0. Readable.
[[nodiscard]] std::string tensor_label(const Graph& graph, TensorId tensor);

/// Names of dimensions that nothing gives a size, by the tensors of lost_sizes that have them.
using OpenDims = std::map<TensorId, std::set<std::string>>;

/// The note on tensors without a size: how many there are, where they begin, and what helps: the names of `open`, that
/// of most tensors first, and shapes of tensors without such names. Empty if there is none but shapeless ones.
[[nodiscard]] std::string sizes_note(const Graph& graph, const NotAsked& not_asked = {},
                                     const OpenDims& open = {});

/// The note on `tensors` without a size in the bodies of these ops.
[[nodiscard]] std::string bodies_note(std::int64_t tensors, const std::vector<std::string>& ops);

}  // namespace berth::frontend
