// What may become one group: device kinds and constraints.
#pragma once

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

  /// Not where no place is left. Nor where it could make separated ops impossible to place: what
  /// is apart from others merges with its like and with what leaves it every place it had.
  [[nodiscard]] bool allow(State a, State b);
  /// The same for many at once, whatever the order in which they would merge.
  [[nodiscard]] bool allow(std::span<const State> states);
  /// Of both together; they are allowed to merge.
  [[nodiscard]] State join(State a, State b);

 private:
  const Costs& costs_;
  const Constraints* constraints_;
  KindSets places_;
};

}  // namespace berth
