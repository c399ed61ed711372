// A step that can be gone on from: when its ops ended, and the pauses that were kept of it. What a
// pause holds beside that is for whoever records (moves/incremental_step.h).
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "simulator/plan.h"

namespace berth::simulator {

inline constexpr std::uint32_t kNotEnded = std::numeric_limits<std::uint32_t>::max();

/// `Pause` has two members that are kept up here: `ended`, the number of ops that had ended, and
/// `first`, an op before which all had. Pauses are ordered by `ended`; their memory is used again.
/// [thread-compatible]
template <typename Pause>
class StepRecord {
 public:
  /// Forgets the step, and expects one of so many ops.
  void clear(std::uint32_t ops) {
    count_ = 0;
    first_ = 0;
    position_.assign(ops, kNotEnded);
  }
  /// Keeps the first `count` pauses alone. When ops ended is still known.
  void keep(std::size_t count) {
    assert(count <= count_);
    count_ = count;
  }
  /// Keeps the pauses that `wanted(pause, before, is_last)` says; `before` is the last one kept, or
  /// null.
  template <typename Wanted>
  void thin_out(const Wanted& wanted) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      if (!wanted(pauses_[i], kept > 0 ? &pauses_[kept - 1] : nullptr, i + 1 == count_)) continue;
      if (kept != i) std::swap(pauses_[kept], pauses_[i]);
      ++kept;
    }
    count_ = kept;
  }
  /// Recording goes on from the last pause (from the start of the step, where there is none): what
  /// ended later has not ended yet. How many ops have.
  std::uint32_t go_on() {
    const std::uint32_t ended = count_ > 0 ? pauses_[count_ - 1].ended : 0;
    first_ = count_ > 0 ? pauses_[count_ - 1].first : 0;
    // Without a branch, so that it is vectorized.
    for (std::uint32_t& position : position_) position = position < ended ? position : kNotEnded;
    return ended;
  }
  /// A pause after `ended` ops, behind all others. Its other members hold what they held.
  Pause& add(std::uint32_t ended) {
    assert(count_ == 0 || pauses_[count_ - 1].ended <= ended);
    while (first_ < position_.size() && position_[first_] != kNotEnded) ++first_;
    if (count_ == pauses_.size()) pauses_.emplace_back();
    Pause& pause = pauses_[count_++];
    pause.ended = ended;
    pause.first = first_;
    return pause;
  }

  /// No step was recorded yet.
  [[nodiscard]] bool empty() const noexcept { return position_.empty(); }
  /// How many ops had ended when this one did.
  [[nodiscard]] std::uint32_t position(Index op) const noexcept { return position_[op]; }
  /// The same by op, to be written by whoever follows the step.
  [[nodiscard]] std::uint32_t* positions() noexcept { return position_.data(); }

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] Pause& operator[](std::size_t i) noexcept { return pauses_[i]; }
  [[nodiscard]] const Pause& operator[](std::size_t i) const noexcept { return pauses_[i]; }
  [[nodiscard]] std::size_t number_of(const Pause& pause) const noexcept {
    return static_cast<std::size_t>(&pause - pauses_.data());
  }
  /// How many pauses are no later than after `ended` ops.
  [[nodiscard]] std::size_t no_later_than(std::uint32_t ended) const {
    const auto after = std::upper_bound(
        pauses_.begin(), pauses_.begin() + static_cast<std::ptrdiff_t>(count_), ended,
        [](std::uint32_t position, const Pause& pause) { return position < pause.ended; });
    return static_cast<std::size_t>(after - pauses_.begin());
  }

 private:
  std::vector<std::uint32_t> position_;  // by Index
  std::vector<Pause> pauses_;            // the first count_ are of the step
  std::size_t count_ = 0;
  Index first_ = 0;  // ops before it have ended
};

}  // namespace berth::simulator
