// The work of a cluster that a device has to run within a window of time.
//
// Let a step take T at most, an op start no earlier than its head, end no later than T less its
// tail, and take p. In a window from a to b its device runs it for at least
//   min(p, head + p - a, b - (T - tail - p), b - a), where that is positive
// (Fernandez and Bussell, "Bounds on the number of processors and time for multiprocessor optimal
// schedules", 1973). A pause counts as a part of its op.
//
// The ops of a cluster run one after the other on one device. What that device can have run of them
// before a is at most what a machine has run by then that may interrupt ops and is idle only while
// none of the others can have started; likewise after b, backwards from T, by their tails. So in
// the window it runs at least the work of them all less these two, and at least the sum of what its
// ops need one by one.
#pragma once

#include <algorithm>
#include <vector>

#include "proofs/bound_facts.h"
#include "proofs/heads.h"

namespace berth::bounds {

/// A cluster on a kind, if a step takes no longer than some time.
class Demand {
 public:
  Demand(const Facts& facts, const Known& known, const Heads& heads, const Heads& tails,
         const std::vector<OpId>& cluster, KindId kind, double t_us);

  /// Whether all ops of a cluster can be on the kind, as far as is known.
  [[nodiscard]] static bool possible(const Facts& facts, const Known& known,
                                     const std::vector<OpId>& cluster, KindId kind);

  /// A piece of work that a machine does at a stretch.
  struct Span {
    double us;
    double earliest_us, latest_us;  ///< start and end
  };
  /// Ops with their pauses that take time, by earliest_us.
  [[nodiscard]] const std::vector<Span>& spans() const noexcept { return spans_; }
  /// The least of it that lies between the two times.
  [[nodiscard]] static double within_us(const Span& span, double from_us, double to_us) {
    const double us =
        std::min(std::min(span.us, to_us - from_us),
                 std::min(span.earliest_us + span.us - from_us, to_us - span.latest_us + span.us));
    return std::max(0.0, us);
  }

  /// At least what the device runs of the cluster between the two times.
  [[nodiscard]] double needed_us(double from_us, double to_us) const {
    const double each_us = needed_one_by_one_us(from_us, to_us);
    if (spans_.size() < 2) return each_us;
    return std::max(each_us, total_us_ - before_us(from_us) - after_us(to_us));
  }
  /// The plain form of needed_us, op by op.
  [[nodiscard]] double needed_one_by_one_us(double from_us, double to_us) const;
  [[nodiscard]] double total_us() const noexcept { return total_us_; }
  /// At most what it has run of the cluster before `us`, and what it can run after it.
  [[nodiscard]] double before_us(double us) const;
  [[nodiscard]] double after_us(double us) const;

 private:
  std::vector<Span> spans_;
  std::vector<std::size_t> by_latest_;  // the latest first
  double total_us_ = 0;
};

}  // namespace berth::bounds
