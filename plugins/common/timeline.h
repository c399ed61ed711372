// When one device, engine or channel is taken, kept as the gaps in between.
#pragma once

#include <cstdint>
#include <vector>

namespace berth::policies {

/// Stays of one resource that serves one customer at a time. Finds the first gap that is long
/// enough in O(log n) of the stays: a treap of gaps by start, each node knowing the longest gap
/// below it. [thread-compatible]
class Timeline {
 public:
  Timeline();

  /// The first instant >= `from_us` from which `duration_us` (>= 0) is free.
  [[nodiscard]] double earliest(double from_us, double duration_us) const;
  /// Takes [start_us, start_us + duration_us), which `earliest` has found free.
  void occupy(double start_us, double duration_us);
  /// From here on it is free forever.
  [[nodiscard]] double end_us() const { return end_us_; }

 private:
  using Index = std::int32_t;
  static constexpr Index kNone = -1;
  struct Gap {
    double start_us;
    double end_us;
    double longest_us;  ///< among this gap and those below it
    std::uint64_t priority;
    Index left = kNone;
    Index right = kNone;
  };

  [[nodiscard]] Gap& gap(Index index) { return gaps_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] const Gap& gap(Index index) const { return gaps_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] double longest_us(Index index) const {
    return index == kNone ? -1 : gap(index).longest_us;
  }
  void refresh(Index index);
  /// The first gap below `root` that starts after `from_us` and is long enough; kNone = none.
  [[nodiscard]] Index first_fitting(Index root, double from_us, double duration_us) const;
  Index insert(Index root, Index added);
  Index rotate_right(Index root);
  Index rotate_left(Index root);

  std::vector<Gap> gaps_;
  std::vector<Index> path_;  // scratch of occupy
  Index root_ = kNone;
  double end_us_ = 0;
};

}  // namespace berth::policies
