// Windows of time that cannot hold what has to run in them.
//
// Energy. A device does no more than b - a in the window. With weights y >= 0 by kind that add up
// to 1 over all devices, the sum over clusters of the least y(k) q(k), where q(k) is what the
// cluster needs within the window on kind k (demand.h), over the kinds k left to it, is at most
// b - a.
//
// Whole clusters. Let n be a number, and n(k) the largest whole number below (n + 1) q(k) / (b - a)
// for a cluster. On one device the sum of q is at most b - a, so the sum of these whole numbers is
// less than n + 1: n at most. So the sum over clusters of the least y(k) n(k) is at most n. (These
// are the dual feasible functions of Fekete and Schepers, "New classes of fast lower bounds for bin
// packing problems", 2001; with n = 1 at most one cluster that needs more than half of the window
// is on each device.)
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "proofs/bound_facts.h"
#include "proofs/demand.h"
#include "proofs/heads.h"
#include "proofs/proof.h"

namespace berth::bounds {

class Windows {
 public:
  /// Keeps the reference.
  explicit Windows(const Facts& facts);

  /// A window that no step of at most `t_us` can have. Sums of times are rounded by less
  /// than `margin_us`. `clusters` has the ops of each; some may have none.
  [[nodiscard]] std::optional<Overfull> overfull(const Known& known,
                                                 const std::vector<std::vector<OpId>>& clusters,
                                                 const Heads& heads, const Heads& tails,
                                                 double t_us, double margin_us);

  /// Ops looked at in windows, of all calls.
  [[nodiscard]] std::int64_t work() const noexcept { return work_; }

 private:
  /// A cluster on a kind that it may be on.
  struct Row {
    Demand demand;
    KindId kind;
    bool last;                                ///< of its cluster
    std::vector<double> before_us, after_us;  ///< by start and by end of the window; of some ops
  };

  /// The demand of a cluster in a window if it is on a kind.
  struct Need {
    double us;
    KindId kind;
    bool last;  ///< of its cluster
  };

  void gather(const Known& known, const std::vector<std::vector<OpId>>& clusters,
              const Heads& heads, const Heads& tails, double t_us);
  void choose_points(double t_us);
  [[nodiscard]] double needed_us(const Row& row, std::size_t from, std::size_t to) const;
  [[nodiscard]] std::optional<Overfull> test(std::size_t from, std::size_t to);
  [[nodiscard]] std::optional<Overfull> sum_up(std::size_t from, std::size_t to, int parts);
  /// Into how many parts a window is divided at most; 0 where clusters are too many.
  [[nodiscard]] int most_parts() const;
  void choose_weights();

  const Facts& facts_;
  std::vector<std::vector<double>> weights_;  // candidates; by kind
  std::vector<double> weights_of_kinds_;      // the same by kind, then by candidate
  double margin_us_ = 0;
  std::vector<Row> rows_;  // by cluster
  std::size_t span_count_ = 0;
  std::vector<double> starts_, ends_;  // of windows
  std::vector<Need> needs_;            // of clusters that need something in one window
  std::vector<double> sums_, least_;   // by weights, of one window
  double most_needed_us_ = 0;          // by any weights, in the last window tested
  std::int64_t work_ = 0;
};

}  // namespace berth::bounds
