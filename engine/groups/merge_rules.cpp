#include "groups/merge_rules.h"

#include <algorithm>
#include <utility>

namespace berth {

MergeRules::State MergeRules::of(std::span<const OpId> members) {
  State state;
  state.places = places_.all();
  if (constraints_ != nullptr) {
    const GroupId of_classes = constraints_->classes()->of(members.front());
    state.label = constraints_->label_of_class(of_classes);
    std::vector<bool> places;
    for (DeviceId d = 0; d < constraints_->device_count(); ++d) {
      places.push_back(constraints_->class_can_be_on(of_classes, d));
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

// Merging keeps every way out: of two with one label, one can always go where the other is; one
// with a label keeps its places, and the other has no separated op that could mind.
bool MergeRules::allow(State a, State b) {
  const KindSets::Id common = places_.common(a.places, b.places);
  if (common == KindSets::kNone) return false;
  if (a.label == b.label) return a.label == 0 || common == a.places || common == b.places;
  if (a.label != 0 && b.label != 0) return false;
  return common == (a.label != 0 ? a.places : b.places);
}

bool MergeRules::allow(std::span<const State> states) {
  State all = states.front();
  for (const State state : states) {
    if (all.label != 0 && state.label != 0 && all.label != state.label) return false;
    all = join(all, state);
    if (all.places == KindSets::kNone) return false;
  }
  return all.label == 0 || std::any_of(states.begin(), states.end(), [&](State state) {
           return state.label != 0 && state.places == all.places;
         });
}

MergeRules::State MergeRules::join(State a, State b) {
  return {places_.common(a.places, b.places), std::max(a.label, b.label)};
}

}  // namespace berth
