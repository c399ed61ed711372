// Which devices of a machine are alike.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "berth/problem.h"

namespace berth::policies::stages {

/// Answers, in time that grows with the number of devices, what exchanging two devices changes. A channel is known by the
/// sum of random numbers of the links that share it, so that the two links' parts are all that an exchange replaces.
class Exchanges {
 public:
  /// The problem must outlive it.
  explicit Exchanges(const Problem& problem);

  /// Whether the machine is the same with the two devices exchanged.
  [[nodiscard]] bool change_nothing(DeviceId a, DeviceId b) const;

 private:
  [[nodiscard]] bool same_route(DeviceId src, DeviceId dst, DeviceId other_src,
                                DeviceId other_dst) const;

  const Problem& problem_;
  std::unordered_map<ChannelId, std::uint64_t> sums_;
};

}  // namespace berth::policies::stages
