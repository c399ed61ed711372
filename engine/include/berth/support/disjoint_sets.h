/// @file
/// Union-find over dense ids.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "berth/support/index.h"

namespace berth {

/// A partition of 0, 1, ..., size - 1 that only ever gets coarser. Each set is named by one of its
/// elements. Both calls take logarithmic time, amortised. [thread-compatible]
class DisjointSets {
 public:
  /// Every element is a set of its own.
  explicit DisjointSets(std::size_t size = 0) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  [[nodiscard]] std::size_t size() const noexcept { return parent_.size(); }

  /// A new element, a set of its own.
  std::int32_t add() {
    parent_.push_back(static_cast<std::int32_t>(parent_.size()));
    return parent_.back();
  }

  /// The name of the element's set.
  [[nodiscard]] std::int32_t find(std::int32_t element) {
    while (parent_[at(element)] != element) {
      std::int32_t& up = parent_[at(element)];
      up = parent_[at(up)];
      element = up;
    }
    return element;
  }

  /// Merges the sets of `from` and `into` under the name of the latter. False where they are one
  /// set already.
  bool merge(std::int32_t from, std::int32_t into) {
    from = find(from);
    into = find(into);
    parent_[at(from)] = into;
    return from != into;
  }
  /// The same under the smaller of both names: where nothing else merges, the smallest element of a
  /// set names it.
  bool merge_to_smallest(std::int32_t a, std::int32_t b) {
    a = find(a);
    b = find(b);
    return merge(std::max(a, b), std::min(a, b));
  }

  /// The name of every element's set.
  [[nodiscard]] std::vector<std::int32_t> names() {
    std::vector<std::int32_t> result(parent_.size());
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = find(static_cast<std::int32_t>(i));
    return result;
  }

 private:
  std::vector<std::int32_t> parent_;
};

}  // namespace berth
