// Chains of ops, which every partitioner should keep whole.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "plugins/small_problem.h"

namespace berth::test {

/// `count` chains of `length` ops, heavy edges inside; chain i feeds chain i + 1 a little.
inline std::shared_ptr<const Problem> chains(int count, int length,
                                             const std::vector<SmallDevice>& devices,
                                             const std::vector<double>& us,
                                             std::vector<LinkSpec> links = {}) {
  std::vector<SmallOp> ops;
  std::vector<SmallEdge> edges;
  for (int c = 0; c < count; ++c) {
    for (int i = 0; i < length; ++i) {
      const OpId op = c * length + i;
      ops.push_back({us, 0});
      if (i > 0) edges.push_back({op - 1, op, 1000});
      if (c > 0 && i == 0) edges.push_back({op - length, op, 1});
    }
  }
  return small_problem(devices, ops, edges, std::move(links));
}

/// The device of each chain; -1 where a chain is split.
inline std::vector<DeviceId> devices_of_chains(const Placement& placement, int count, int length) {
  std::vector<DeviceId> devices;
  for (int c = 0; c < count; ++c) {
    const auto begin = placement.begin() + c * length;
    const bool whole = std::all_of(begin, begin + length, [&](DeviceId d) { return d == *begin; });
    devices.push_back(whole ? *begin : -1);
  }
  return devices;
}

}  // namespace berth::test
