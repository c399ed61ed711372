// The times at which one device is busy, kept as the gaps in between.
#pragma once

#include <cstddef>
#include <vector>

namespace berth::policies {

/// The busy times of a device that serves one op at a time, and the search for the first gap that
/// is long enough. Gaps are kept by start, in blocks of a bounded size, each with its longest gap.
/// A search looks into two blocks and skips the others with one comparison each. So it reads little
/// memory, and in order. [thread-compatible]
class Timeline {
 public:
  Timeline();

  /// The first instant >= `from_us` (>= 0) from which `duration_us` (>= 0) is free.
  [[nodiscard]] double earliest(double from_us, double duration_us) const;
  /// Takes [start_us, start_us + duration_us), which `earliest` has found free.
  void occupy(double start_us, double duration_us);
  /// From here on it is free forever.
  [[nodiscard]] double end_us() const { return end_us_; }

 private:
  struct Gap {
    double start_us;
    double end_us;
  };
  using Block = std::vector<Gap>;

  /// The last block that starts by `us`; the first where none does.
  [[nodiscard]] std::size_t block_at(double us) const;
  /// How many gaps of `block` start by `us`.
  [[nodiscard]] static std::size_t started(const Block& block, double us);
  void refresh(std::size_t block);
  void split(std::size_t block);

  std::vector<Block> blocks_;       // none is empty; the last gap never ends
  std::vector<double> starts_us_;   // by block: of its first gap
  std::vector<double> longest_us_;  // by block
  double end_us_ = 0;
};

}  // namespace berth::policies
