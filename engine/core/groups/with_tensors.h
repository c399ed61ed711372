// Graphs whose tensors have other sizes.
#pragma once

#include <map>
#include <memory>

#include "berth/graph.h"

namespace berth {

/// A copy of the graph in which these tensors are as said; ops keep their ids, tensors may not. Throws as
/// GraphBuilder does.
[[nodiscard]] std::shared_ptr<const Graph> with_tensors(
    const Graph& graph, const std::map<TensorId, TensorInfo>& changed);

}  // namespace berth
