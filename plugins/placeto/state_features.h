// A state as the network sees it, in two forms.
//
//   one_hot     the published one, per group: [cost, output bytes, done, current, (start),
//               (parameter bytes), one-hot device]
//   by device   for clusters of any size and kind: the device a group is on appears through what it
//               means (its speed for the group, what it shares with neighbours), and every device
//               the current group could go to has features of its own
//
// The form by device can look ahead, which is not published: the step is simulated with the current
// group on every device, and the increase of its runtime is a feature of the device.
//
// Costs, bytes and starts are divided by the largest magnitude among the groups of the state. (The
// released code divides by the largest value, which can be 0 or tiny for relative start times.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/problem.h"
#include "berth/sdk/environment.h"
#include "berth/sdk/observation.h"

namespace berth::placeto {

struct FeatureShape {
  bool one_hot = false;
  bool start = true;        ///< the simulated start: in the released code, not in the 2018 paper
  bool parameters = false;  ///< one-hot form: the published `mem` attribute
  bool lookahead = false;   ///< form by device: what the step would be with the group there
  std::size_t devices = 0;  ///< one-hot form

  /// Per group.
  [[nodiscard]] std::size_t width() const;
  /// Per device the current group could go to; 0 in the one-hot form.
  [[nodiscard]] std::size_t candidate_width() const;
  /// Preferences of a fresh policy, by feature of a device, so that learning does not start at
  /// random. If it looks ahead, it prefers devices with which the step is short, like local search.
  /// Otherwise it prefers devices on which the group ends early given the visited groups, like list
  /// scheduling in the order of visits.
  [[nodiscard]] std::vector<float> prior() const;
};

/// Features of the states of one problem. [thread-safe: immutable]
class FeatureEncoder {
 public:
  /// Keeps a reference to `problem`.
  FeatureEncoder(const Problem& problem, const FeatureShape& shape);

  /// Rows of padded(width()) floats per group; candidate_width() per device; 1 per device that can
  /// run the current group. The episode is not done.
  void encode(const Environment::Episode& episode, float* groups, float* candidates,
              std::uint8_t* allowed) const;

 private:
  void encode_by_device(const Environment::Episode& episode, float* groups,
                        float* candidates) const;
  void encode_group_traffic(const Environment::Episode& episode, const DeviceLoads& loads,
                            float* groups) const;
  void encode_candidates(const Environment::Episode& episode, const DeviceLoads& loads,
                         float* candidates) const;

  void encode_alternatives(const Environment::Episode& episode, float* candidates) const;

  const Problem& problem_;
  FeatureShape shape_;
  GroupFacts facts_;
};

}  // namespace berth::placeto
