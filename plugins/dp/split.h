// The best contiguous split between given ideals.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "dp/contraction.h"
#include "dp/ideals.h"

namespace berth::policies::dp {

/// A device class and the nodes it gets, in topological order of the parts.
struct SplitPart {
  std::size_t of_class;
  std::vector<Node> nodes;
};

struct Split {
  double load_us = kCannotRun;  ///< the largest of any part
  std::vector<SplitPart> parts;
};

/// Dynamic programming over ideals (Tarnawski et al., "Efficient Algorithms for Device Placement of
/// DNN Graph Operators", NeurIPS 2020, section 5.1): for each ideal and each number of devices used
/// of each class, the least largest load of a split of the ideal into that many parts; a part is
/// the difference of two ideals. A load is compute, every distinct tensor received, and every
/// distinct tensor sent once; hosts pay for transfers with other hosts alone; a part's parameters fit its device.
///
/// The addition here is a known limit T on the load. Each node has a weight: the least over the
/// classes of (the class's speed x its time). So a part within T weighs at most speed x T. A split
/// of ideal I that uses devices u can then be completed only if the rest of the graph weighs at
/// most the rest of the devices times T. Few ideals pass for each u, and few pairs of ideals must
/// be examined. Ideals are sorted by weight, so that bisection finds those. The result is exact for
/// every T.
class SplitSearch {
 public:
  /// Keeps references to both.
  SplitSearch(const SplitGraph& graph, const Ideals& ideals);

  /// A lower bound of the load of every split between any ideals.
  [[nodiscard]] double bound_us() const noexcept { return bound_us_; }

  struct Limits {
    double load_us;                     ///< T: only splits below it are wanted
    std::int64_t pairs;                 ///< of ideals to look at
    std::function<bool()> should_stop;  ///< may be empty
  };
  enum class Outcome { found, none, gave_up };
  /// found: `split` is the best below limits.load_us. gave_up: `split` is below it where its
  /// load is finite, but better ones may have been missed; should_stop or the pairs ended it.
  Outcome below(const Limits& limits, Split& split);
  /// Pairs looked at so far.
  [[nodiscard]] std::int64_t pairs() const noexcept { return pairs_; }

 private:
  struct Entry {
    double load_us;
    std::uint32_t before;  // ideal, by rank
    std::uint32_t of_class;
  };
  /// A tensor that leaves an ideal, with its consumers outside: a range of consumers_.
  struct Waiting {
    std::size_t tensor;
    std::size_t first_consumer, last_consumer;
  };

  void weigh();
  void number_states();
  void sum_ideals();
  void find_leaving_tensors();

  [[nodiscard]] const std::uint64_t* bits(std::size_t rank) const {
    return bits_.data() + rank * words_;
  }
  [[nodiscard]] Entry& entry(std::size_t rank, std::size_t state) {
    return table_[rank * states_ + state];
  }
  [[nodiscard]] std::size_t used_of(std::size_t of_class, std::size_t state) const {
    return state / stride_[of_class] % (graph_.classes()[of_class].devices.size() + 1);
  }
  /// The weight that devices of this speed together can take within the limit, with room for
  /// rounding.
  [[nodiscard]] double room(double speed) const {
    return std::max(0.0, speed) * limit_us_ + slack_;
  }

  /// States of the ideal that may lead to a split below the limit, into active_, with the weight
  /// that one more part can take (reach_) and the least that it must lead to (need_).
  bool collect_active(std::size_t rank);
  [[nodiscard]] std::size_t first_reach(std::size_t from) const;
  void collect_waiting(std::size_t rank);
  [[nodiscard]] bool is_subset(std::size_t from, std::size_t to) const;
  void extend(std::size_t from, std::size_t to);
  void sum_transfers(std::size_t from, std::size_t to);
  [[nodiscard]] Split trace() const;

  const SplitGraph& graph_;
  std::size_t words_;
  std::size_t count_;  // ideals
  std::size_t classes_;
  std::size_t states_ = 1;

  std::vector<double> speed_;  // by class
  std::vector<double> node_weight_;
  double bound_us_ = 0;

  // Indexed by rank: ideals sorted by weight, then size.
  std::vector<std::uint64_t> bits_;
  std::vector<double> weight_;
  std::vector<double> us_;             // rank-major, by class
  std::vector<std::uint32_t> unable_;  // rank-major, by class: nodes that cannot run there
  std::vector<double> bytes_;
  std::vector<std::size_t> leaving_begin_;
  std::vector<std::uint32_t> leaving_;  // tensors with a consumer outside

  std::vector<std::size_t> stride_;  // by class
  std::vector<double> left_speed_;   // by state: of the devices it does not use
  std::vector<std::uint32_t> used_;  // by state: devices
  std::vector<Entry> table_;         // rank-major, by state

  // For the search at hand.
  double limit_us_ = 0;
  double slack_ = 0;  // rounding of a weight
  std::int64_t pairs_ = 0;
  // For the ideal at hand.
  std::vector<std::size_t> active_;
  double reach_ = 0;
  double need_ = 0;
  std::vector<Waiting> waiting_;
  std::vector<Node> consumers_;
  std::vector<double> receive_us_, send_us_;  // by class, for the pair at hand
};

}  // namespace berth::policies::dp
