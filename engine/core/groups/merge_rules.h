// Decides which ops may become one group: those that may be on the same devices.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <span>

#include "berth/costs.h"
#include "berth/groups.h"
#include "groups/kind_sets.h"

namespace berth {

/// Limits that tell devices of a kind apart, and ops that are to be apart, by classes of ops that
/// stay together anyway.
class MergeLimits {
 public:
  virtual ~MergeLimits() = default;

  [[nodiscard]] virtual const Groups& classes() const = 0;
  [[nodiscard]] virtual DeviceId device_count() const = 0;
  /// Whether nothing, kinds included, keeps the class from the device. Every class has one.
  [[nodiscard]] virtual bool can_be_on(GroupId of_classes, DeviceId device) const = 0;
  /// Classes with the same label are apart from the same others; 0 = apart from none.
  [[nodiscard]] virtual std::int32_t label_of(GroupId of_classes) const = 0;
};

/// [thread-compatible]
class MergeRules {
 public:
  /// `limits` null = kinds alone.
  MergeRules(const Costs& costs, const MergeLimits* limits)
      : costs_(costs),
        limits_(limits),
        places_(limits != nullptr ? limits->device_count() : costs.kind_count()) {}

  /// The facts about a set of ops that count for merging.
  struct State {
    KindSets::Id places = 0;  ///< the kinds, or under limits the devices, that all may be on
    std::int32_t label = 0;   ///< MergeLimits::label_of

    friend auto operator<=>(const State&, const State&) = default;
  };
  /// The state of the ops of one class.
  [[nodiscard]] State of(std::span<const OpId> members);

  /// Only what may be on the same devices: one op that a host alone can run would keep all others
  /// of its group there. Nor what is to be apart from different ops.
  [[nodiscard]] static bool allow(State a, State b) noexcept {
    return a.places == b.places && (a.label == b.label || a.label == 0 || b.label == 0);
  }
  /// The same for many at once, whatever the order in which they would merge.
  [[nodiscard]] static bool allow(std::span<const State> states) noexcept;
  /// The state of both together; they are allowed to merge.
  [[nodiscard]] static State join(State a, State b) noexcept {
    return {a.places, std::max(a.label, b.label)};
  }

 private:
  const Costs& costs_;
  const MergeLimits* limits_;
  KindSets places_;
};

}  // namespace berth
