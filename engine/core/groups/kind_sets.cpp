#include "groups/kind_sets.h"

#include <algorithm>

#include "berth/support/index.h"

namespace berth {

KindSets::Id KindSets::without(Id set, KindId kind) {
  std::vector<bool> kinds = sets_[at(set)];
  kinds[at(kind)] = false;
  return intern(std::move(kinds));
}

KindSets::Id KindSets::common(Id a, Id b) {
  const auto [entry, is_new] = common_.try_emplace({std::min(a, b), std::max(a, b)}, kNone);
  if (is_new) {
    std::vector<bool> kinds = sets_[at(a)];
    const std::vector<bool>& other = sets_[at(b)];
    for (std::size_t k = 0; k < kinds.size(); ++k) kinds[k] = kinds[k] && other[k];
    if (std::find(kinds.begin(), kinds.end(), true) != kinds.end()) {
      entry->second = intern(std::move(kinds));
    }
  }
  return entry->second;
}

KindSets::Id KindSets::intern(std::vector<bool> kinds) {
  const auto [entry, is_new] = ids_.try_emplace(std::move(kinds), static_cast<Id>(sets_.size()));
  if (is_new) sets_.push_back(entry->first);
  return entry->second;
}

}  // namespace berth
