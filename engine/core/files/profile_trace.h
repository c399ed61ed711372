/// @file
/// Costs from the traces that other tools' profilers write.
#pragma once

#include <string>
#include <string_view>

#include "berth/cluster.h"
#include "berth/export.h"
#include "berth/graph.h"
#include "berth/sdk/measured_costs.h"

namespace berth {

/// In the note of a trace whose ops had outputs of other sizes.
inline constexpr std::string_view kOfOtherSizes = " ops had outputs of other sizes there";

/// Whether JSON is such a trace, by its beginning.
[[nodiscard]] BERTH_EXPORT bool is_profile_trace(std::string_view json);

/// Reads a trace of PyTorch's profiler (Kineto) or of ONNX Runtime's (`enable_profiling`). An event
/// counts for the op that has its name; of several the median, so that the first step's warm-up does
/// not. Times on the processor count for hosts, those on a GPU for all other kinds; of an op that ran on
/// a GPU the processor's time is that of the launch and does not count:
///  - PyTorch: ops and `record_function` ranges, and on GPUs the kernels of those ranges;
///  - ONNX Runtime: nodes that its CPU provider ran. For other providers its profile has only the
///    time of the launch, which is left aside. The note tells of measured nodes that are no ops of
///    the graph, as those are that an optimization made, and
///    of ops whose outputs had other sizes.
///
/// Throws Error(invalid_file) for what is no trace and where no event is of an op of the graph, and
/// what costs_of_measured throws.
[[nodiscard]] BERTH_EXPORT MeasuredCosts parse_profile_trace(std::string_view json,
                                                             const std::string& origin,
                                                             const Graph& graph,
                                                             const Cluster& cluster);

}  // namespace berth
