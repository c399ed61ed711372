#include "groups/merge_rules.h"

#include <algorithm>
#include <utility>

namespace berth {

MergeRules::State MergeRules::of(std::span<const OpId> members) {
  State state;
  state.places = places_.all();
  if (limits_ != nullptr) {
    const GroupId of_classes = limits_->classes().of(members.front());
    state.label = limits_->label_of(of_classes);
    std::vector<bool> places;
    for (DeviceId d = 0; d < limits_->device_count(); ++d) {
      places.push_back(limits_->can_be_on(of_classes, d));
    }
    state.places = places_.of(std::move(places));
    return state;
  }
  for (KindId kind = 0; kind < costs_.kind_count(); ++kind) {
    const bool can = std::all_of(members.begin(), members.end(),
                                 [&](OpId op) { return costs_.can_run(op, kind); });
    if (!can) state.places = places_.without(state.places, kind);
  }
  return state;
}

bool MergeRules::allow(std::span<const State> states) noexcept {
  State all = states.front();
  return std::all_of(states.begin(), states.end(), [&](State state) {
    if (!allow(all, state)) return false;
    all = join(all, state);
    return true;
  });
}

}  // namespace berth
