// What may become one group: ops that may be on the same devices.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <span>

#include "berth/constraints.h"
#include "berth/costs.h"
#include "berth/groups.h"
#include "groups/kind_sets.h"

namespace berth {

/// [thread-compatible]
class MergeRules {
 public:
  /// `constraints` may be null.
  MergeRules(const Costs& costs, const Constraints* constraints)
      : costs_(costs),
        constraints_(constraints),
        places_(constraints != nullptr ? constraints->device_count() : costs.kind_count()) {}

  /// What counts of a set of ops when it comes to merging.
  struct State {
    KindSets::Id places = 0;  ///< the kinds, or under constraints the devices, that all may be on
    std::int32_t label = 0;   ///< Constraints::label_of_class; 0 = apart from nothing

    friend auto operator<=>(const State&, const State&) = default;
  };
  /// Of the ops of one class (co-located by the graph and by constraints).
  [[nodiscard]] State of(std::span<const OpId> members);

  /// Only what may be on the same devices: one op that a host alone can run would keep all others
  /// of its group there. Nor what is to be apart from different ops.
  [[nodiscard]] static bool allow(State a, State b) noexcept {
    return a.places == b.places && (a.label == b.label || a.label == 0 || b.label == 0);
  }
  /// The same for many at once, whatever the order in which they would merge.
  [[nodiscard]] static bool allow(std::span<const State> states) noexcept;
  /// Of both together; they are allowed to merge.
  [[nodiscard]] static State join(State a, State b) noexcept {
    return {a.places, std::max(a.label, b.label)};
  }

 private:
  const Costs& costs_;
  const Constraints* constraints_;
  KindSets places_;
};

}  // namespace berth
