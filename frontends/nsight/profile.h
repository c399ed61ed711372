#pragma once

#include <cstdint>
#include <filesystem>

#include "berth/sdk/measured_costs.h"

namespace berth::nsight_frontend {

/// The NVTX ranges of a profile that Nsight Systems exported to SQLite. Each is an event by its name:
/// on the host, for as long as it lasted; on GPUs, for as long as the kernels took together that its
/// thread launched in it. A range without a kernel says nothing of GPUs, an op with kernels nothing of
/// the host (see MeasuredEvents::costs). What stands behind the
/// name in PyTorch's ranges (", seq = 5") is left off.
struct Profile {
  MeasuredEvents events;
  /// Kernels that end before they begin or lack a time. How long ranges with one took is not known: they
  /// are no events.
  std::int64_t broken_kernels = 0;
};

/// Throws Error(invalid_file) for a file that is damaged, without NVTX ranges, or all of whose kernels
/// are broken.
/// Source: NVIDIA Nsight Systems, "SQLite Schema Reference" of the export documentation.
[[nodiscard]] Profile read_profile(const std::filesystem::path& file, const Graph& graph);

}  // namespace berth::nsight_frontend
