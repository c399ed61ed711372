// Backlogs: what must run after some time and before an op starts.
//
// Let s be a time, v an op, and U ops that v depends on none of which starts before s. All of U runs
// between s and v's start, and a device runs one op at a time.
//   All devices. With weights y >= 0 by kind that add up to 1 over all devices, the sum of y times
//     what each device does is at most v's start less s; so
//       start of v >= s + sum over u in U of the least y(k) op(u, k).
//   One device. Ops of U of one class share a device; so
//       start of v >= s + sum over them of the least op(u, k).
// The least are over the kinds k left to u. Of the ops that v depends on, those with the latest heads
// are taken one after the other, s the head of the last. All of this holds backwards too.
//
// A path shows one op after the other, and a join what shares v's own device. A backlog shows what runs
// on any device and is waited for: where a step alternates between narrow and wide, and where work that
// the forward pass has put on one device gates the backward pass (a conv's two gradients), delays of
// each such stretch add up. Inception-V3's bound on four GPUs went from 592 to 667 ms by it.
#pragma once

#include <cstdint>
#include <vector>

#include "proofs/bound_facts.h"
#include "proofs/heads.h"
#include "proofs/proof.h"

namespace berth::bounds {

/// Ops are added in the order of their heads. [thread-compatible]
class Backlogs {
 public:
  /// Keeps `facts` and `known`. Work is limited by the ops looked at: for what is beyond nothing is
  /// proven. `forward`: in which direction ops depend on each other.
  Backlogs(const Facts& facts, const Known& known, bool forward);

  /// The latest start that is proven for `op`, all of whose producers have been added.
  [[nodiscard]] Backlog before(OpId op);
  /// `head_us`: the least of all kinds.
  void add(OpId op, double head_us);

 private:
  struct Share {
    double head_us = 0;
    double of_all_us = 0;    ///< weighted
    double of_one_us = 0;    ///< the least of its kinds
    OpId wanted_by = kNoOp;  ///< the last op that it is before
  };
  struct Sum {
    double us = 0;
    OpId before = kNoOp;  ///< what it is of
  };

  const Facts& facts_;
  const Known& known_;
  bool forward_;
  std::vector<double> weights_;  // by kind
  std::vector<OpId> by_time_;    // the earliest first
  std::vector<Share> shares_;    // by op
  std::vector<Sum> sums_;        // by class
  std::int64_t looked_ = 0;
};

}  // namespace berth::bounds
