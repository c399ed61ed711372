// Sets of device kinds, or of devices where more than the kind tells them apart, interned:
// many groups share few distinct sets.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "berth/support/index.h"
#include "berth/types.h"

namespace berth {

/// [thread-compatible]
class KindSets {
 public:
  using Id = std::int32_t;
  static constexpr Id kNone = -1;  ///< no kind at all

  explicit KindSets(KindId kind_count) : kind_count_(kind_count) {}

  [[nodiscard]] Id all() { return intern(std::vector<bool>(at(kind_count_), true)); }
  /// The set of those marked; not empty.
  [[nodiscard]] Id of(std::vector<bool> kinds) { return intern(std::move(kinds)); }
  [[nodiscard]] const std::vector<bool>& members(Id set) const { return sets_[at(set)]; }
  /// The set with one kind taken out.
  [[nodiscard]] Id without(Id set, KindId kind);
  /// kNone where the two sets have no kind in common.
  [[nodiscard]] Id common(Id a, Id b);

 private:
  Id intern(std::vector<bool> kinds);

  KindId kind_count_;
  std::map<std::vector<bool>, Id> ids_;
  std::vector<std::vector<bool>> sets_;
  std::map<std::pair<Id, Id>, Id> common_;
};

}  // namespace berth
