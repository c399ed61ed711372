// A problem as DOPPLER's networks see it: what no episode changes.
#pragma once

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/problem.h"
#include "berth/sdk/observation.h"

namespace berth::doppler {

/// Features of a group: cost, bytes of outputs, of inputs and of parameters, the longest paths to and from it,
/// edges in and out.
inline constexpr std::int64_t kGroupFeatures = 8;
/// Features of a device that a group could go to; see DeviceFeature in episode.cpp.
inline constexpr std::int64_t kDeviceFeatures = 10;

/// Immutable.
struct ProblemView {
  explicit ProblemView(const Problem& of);

  Problem problem;
  GroupFacts facts;
  std::size_t groups, devices;
  double scale_us;  ///< what a device would compute if each took an equal share

  torch::Tensor features;      ///< [groups, kGroupFeatures]
  torch::Tensor from_parents;  ///< [groups, groups] rows of means, weighted by bytes
  torch::Tensor from_children;
  torch::Tensor
      path_to_sink;  ///< [groups, groups] rows of means over the longest path, itself included
  torch::Tensor path_from_source;  ///< likewise
  torch::Tensor tail;              ///< [groups] as GroupFacts
  torch::Tensor barred;            ///< [groups, devices] bool: it cannot run there

  /// The groups that wait for each, and the number that it waits for. Groups are numbered topologically;
  /// where co-location forces a cycle, an edge back is not waited for.
  std::vector<std::vector<GroupId>> waiting;
  std::vector<std::int32_t> waits_for;
};

}  // namespace berth::doppler
