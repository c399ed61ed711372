#pragma once

#include <filesystem>

#include "berth/sdk/measured_costs.h"

namespace berth::nsight_frontend {

/// The NVTX ranges of a profile that Nsight Systems exported to SQLite. Each is an event by its name:
/// on the host, for as long as it lasted; on GPUs, for as long as the kernels took together that its
/// thread launched in it. A range without a kernel says nothing of GPUs, an op with kernels nothing of
/// the host (see MeasuredEvents::costs). What stands behind the
/// name in PyTorch's ranges (", seq = 5") is left off.
///
/// Throws Error(invalid_file) for a file that is damaged or without NVTX ranges.
/// Source: NVIDIA Nsight Systems, "SQLite Schema Reference" of the export documentation.
[[nodiscard]] MeasuredEvents read_profile(const std::filesystem::path& file, const Graph& graph);

}  // namespace berth::nsight_frontend
