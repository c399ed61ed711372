// A problem between groups as arrays, in the layout of berth/c.h.
#pragma once

#include <cstdint>
#include <vector>

#include "berth/export.h"
#include "berth/problem.h"

namespace berth {

/// Rows by group, device or edge between groups. Exported for libberth_c. [thread-safe: immutable]
struct BERTH_EXPORT ProblemArrays {
  explicit ProblemArrays(const Problem& problem);

  std::vector<double> cost_us;             ///< [groups, devices]
  std::vector<std::int64_t> param_bytes;   ///< [groups]
  std::vector<std::int64_t> memory_bytes;  ///< [devices]
  std::vector<std::int32_t> edge_src, edge_dst;
  std::vector<std::int64_t> edge_bytes;
};

}  // namespace berth
