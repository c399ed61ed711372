// Which engines a transfer holds in the `dataflow` semantics: a device has one that sends and one that
// receives, or one of each per link (Device::engine_per_link).
#pragma once

#include <cstddef>

#include "berth/problem.h"
#include "berth/support/index.h"

namespace berth::policies {

/// Numbers of engines, below count(); those that send are numbered apart from those that receive.
class Engines {
 public:
  /// Keeps a reference. In `placeto` semantics every device has one bus, which has its number.
  explicit Engines(const Problem& problem)
      : cluster_(problem.cluster()),
        devices_(at(cluster_.device_count())),
        some_per_link_(cluster_.has_engines_per_link() &&
                       problem.options().semantics == Semantics::dataflow) {}

  [[nodiscard]] std::size_t count() const noexcept {
    return devices_ * (some_per_link_ ? devices_ + 1 : 1);
  }
  [[nodiscard]] bool one_per_link(DeviceId device) const noexcept {
    return some_per_link_ && cluster_.device(device).engine_per_link;
  }
  [[nodiscard]] std::size_t outgoing(DeviceId src, DeviceId dst) const noexcept {
    return one_per_link(src) ? link(src, dst) : at(src);
  }
  [[nodiscard]] std::size_t incoming(DeviceId src, DeviceId dst) const noexcept {
    return one_per_link(dst) ? link(src, dst) : at(dst);
  }

 private:
  [[nodiscard]] std::size_t link(DeviceId src, DeviceId dst) const noexcept {
    return devices_ * (1 + at(src)) + at(dst);
  }

  const Cluster& cluster_;
  std::size_t devices_;
  bool some_per_link_;
};

}  // namespace berth::policies
