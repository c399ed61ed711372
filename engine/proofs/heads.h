// Heads and tails: the least time before each op of a step, and the least time after it.
//
// Times are by op and kind of its device. head(v, k): v does not start earlier on a device of kind
// k. tail(v, k): the step does not end earlier after the end of v, whose device's pause (placeto)
// is counted in it. Tails are the heads of the step that runs backwards, so one class computes
// both; "before" and "after" below are of the direction that it looks in.
//
// Paths. v starts once every producer u is done and its tensor is there:
//   head(v, k) >= max over u of min(head(u, k) + op(u, k) + pause(u, k),
//                                   min over kinds j of head(u, j) + op(u, j) + transfer(j, k))
// for u is on v's device, or on another, of some kind; co-located, it is on v's. Proof by induction along the graph's order.
// Queues, busy links and shared channels only delay further.
//
// Joins (Papadimitriou and Yannakakis, "Towards an architecture-independent analysis of parallel
// algorithms", 1990; Jung, Kirousis and Spirakis, 1993). Let v start by time t on a device d of
// kind k, and let far(u) be the least time between the arrival of u's tensor at d and the start of
// v. If u were elsewhere, its tensor would not arrive before
//   remote(u) = min over kinds j of head(u, j) + op(u, j) + transfer(j, k);
// where remote(u) + far(u) > t, u must be on d itself. By induction from v backwards this gives a
// set M of ops that must all be on d, each with its own head and its own time to go until v starts
// (the longest path through M, which is on d, so that no transfers are needed). d runs them one
// after the other, so v starts no earlier than one machine that may even interrupt ops can end
// them, their times to go included (one_machine_us). If that is later than t, then t is refuted. Up
// to the smallest remote(u) + far(u) of M nothing of this changes with t; so t can be raised to
// that or to the machine's time, whichever is less, and the argument repeated. Any subset of M is
// as valid. Ops co-located with v belong to M, whatever t.
//
// Backlogs (backlogs.h) raise a head on every kind.
//
// An op that two others read counts as if it could be on both their devices. To compute the heads
// of ops outside M anew from M on gained 1 % on one training graph of four, for three times the
// work; the least delays between the ends of small forks and joins gained as much on another.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proofs/bound_facts.h"
#include "proofs/proof.h"

namespace berth::bounds {

/// Facts that hold for every placement in question.
struct Known {
  /// All that is known of feasible placements.
  explicit Known(const Facts& facts);

  std::vector<double> op_us;      ///< op-major, by kind; kCannotRun where the op cannot be
  std::vector<GroupId> class_of;  ///< ops of one class share a device
};

class Heads {
 public:
  enum class Direction { forward, backward };          ///< backward: tails
  enum class Reasons { paths, paths_and_joins, all };  ///< all: backlogs too

  /// `least`: by op, heads that are known already, whatever the kind; may be empty.
  /// Work on joins and backlogs is limited by what is looked at: what is beyond has heads by paths only.
  Heads(const Facts& facts, const Known& known, Direction direction, Reasons reasons,
        std::span<const double> least = {});

  [[nodiscard]] double head_us(OpId op, KindId kind) const noexcept {
    return head_[cell(op, kind)];
  }
  /// With the op itself; kCannotRun if it cannot run on the kind.
  [[nodiscard]] double with_op_us(OpId op, KindId kind) const noexcept {
    return with_op_[cell(op, kind)];
  }
  /// The least of with_op_us over all kinds.
  [[nodiscard]] double least_with_op_us(OpId op) const noexcept;

  /// Heads that joins raised above paths, in the order of the direction.
  [[nodiscard]] const std::vector<RaisedHead>& raised() const noexcept { return raised_; }

  /// Heads that backlogs raised above paths and joins, in the order of time.
  [[nodiscard]] const std::vector<Backlog>& backlogs() const noexcept { return backlogs_; }

  /// Edges looked at for joins: what they have cost.
  [[nodiscard]] std::int64_t work() const noexcept { return work_; }

  /// Beyond this many kinds transfers count as free and joins are not looked for: the recurrences
  /// cost edges x kinds^2.
  static constexpr KindId kMaxKinds = 16;

 private:
  friend class HeadFinder;
  [[nodiscard]] std::size_t cell(OpId op, KindId kind) const noexcept {
    return at(op) * at(kinds_) + at(kind);
  }

  KindId kinds_;
  std::vector<double> head_, with_op_;  // op-major
  std::vector<RaisedHead> raised_;
  std::vector<Backlog> backlogs_;
  std::int64_t work_ = 0;
};

/// The longest path, of `heads` and `tails` for all reasons.
[[nodiscard]] LowerBound backlog_bound(const Facts& facts, const Heads& heads, const Heads& tails);

/// The least runtime of a step in which the ends of `edge` are on different devices.
[[nodiscard]] double cut_us(const Facts& facts, const Heads& heads, const Heads& tails,
                            const Edge& edge);

}  // namespace berth::bounds
