// Tensors that have no size once a model is read.
#pragma once

#include <string>
#include <vector>

#include "berth/graph.h"

namespace berth::frontend {

/// The tensors without a size that no other such tensor leads to.
[[nodiscard]] std::vector<TensorId> lost_sizes(const Graph& graph);

/// The name that --shape takes: the tensor's own, or its op's with the port behind it, if that is
/// not 0. Readable.
[[nodiscard]] std::string tensor_label(const Graph& graph, TensorId tensor);

/// The note on tensors without a size: how many there are, where they begin, and what helps. Empty
/// if there is none.
[[nodiscard]] std::string sizes_note(const Graph& graph);

}  // namespace berth::frontend
