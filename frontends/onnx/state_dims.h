// Dimensions of caches that the ops which read them fix.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "onnx/types.h"

namespace berth::onnx_frontend {

/// The dimensions of graph inputs that nothing but a name says, and which follow from the other inputs and
/// the attributes of the attention that reads them: heads, the numbers of a head, and the positions of a
/// window, which are no more than those of the longest cache that `size_of` knows.
[[nodiscard]] std::map<std::string, std::int64_t> dims_of_states(
    const onnx::GraphProto& graph,
    const std::function<std::optional<std::int64_t>(const std::string& name)>& size_of);

}  // namespace berth::onnx_frontend
