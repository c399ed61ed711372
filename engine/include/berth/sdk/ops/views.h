/// @file
/// Views: ops whose outputs lie in the memory of what they read.
#pragma once

#include <string_view>

#include "berth/export.h"
#include "berth/graph.h"

namespace berth::ops {

/// The attribute, 1, that makes an op of the dialect "berth" a view.
inline constexpr std::string_view kViewAttribute = "view";

/// Whether the op takes no memory of its own, as Reshape, Identity, a Cast to the type that is there and a
/// Dropout of inference:
/// runtimes give what it reads another shape or name. So does
/// one that writes a part of what it reads. Its outputs take no memory, and what it reads stays until they are gone. False for constants,
/// for inputs of the model and for an op whose result takes a state's place. [thread-safe]
[[nodiscard]] BERTH_EXPORT bool is_view(const Graph& graph, OpId op);

}  // namespace berth::ops
