/// @file
/// States whose result and input do not share a device.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "berth/export.h"
#include "berth/graph.h"

namespace berth {

/// The type of ops that no model has: they bring a result back to the input that it becomes.
inline constexpr std::string_view kCarrierType = "State";

/// The graph with these of its states apart: the input is free of its co-location class, and an op
/// "state of INPUT" behind all other ops, which keep their ids, waits for the result beside the input.
/// So the way back is a transfer like any other. The op takes no time and gives nothing. [thread-safe]
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Graph> carry_states(
    const Graph& graph, std::span<const Graph::State> states);

}  // namespace berth
