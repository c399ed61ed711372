#include "proofs/backlogs.h"

#include <algorithm>

namespace berth::bounds {
namespace {

/// Ops that are looked at for one op, and for all: about 0.3 s.
constexpr std::int64_t kMostBeforeOne = 16384;
constexpr std::int64_t kMostBeforeAll = 100'000'000;
/// Slack for summation in another order.
constexpr double kBacklogRoundedDown = 1 - 1e-11;

}  // namespace

Backlogs::Backlogs(const Facts& facts, const Known& known, bool forward)
    : facts_(facts),
      known_(known),
      forward_(forward),
      weights_(facts.weights_by_speed()),
      shares_(at(facts.graph().op_count())),
      sums_(at(facts.classes().count())) {
  by_time_.reserve(shares_.size());
}

void Backlogs::add(OpId op, double head_us) {
  by_time_.push_back(op);
  Share& share = shares_[at(op)];
  share = {head_us, kCannotRun, kCannotRun, share.wanted_by};
  for (KindId kind = 0; kind < facts_.kind_count(); ++kind) {
    const double us = known_.op_us[at(op) * weights_.size() + at(kind)];
    if (us == kCannotRun) continue;
    share.of_all_us = std::min(share.of_all_us, weights_[at(kind)] * us);
    share.of_one_us = std::min(share.of_one_us, us);
  }
  // It cannot be at all; the heads of what depends on it say so.
  if (share.of_one_us == kCannotRun) share.of_all_us = share.of_one_us = 0;
}

Backlog Backlogs::before(OpId op) {
  std::int64_t wanted = 0;  // and not yet come across
  const auto want = [&](OpId reader) {
    const Graph& graph = facts_.graph();
    for (const Edge& edge : forward_ ? graph.in_edges(reader) : graph.out_edges(reader)) {
      Share& share = shares_[at(forward_ ? edge.src : edge.dst)];
      if (share.wanted_by == op) continue;
      share.wanted_by = op;
      ++wanted;
    }
  };
  want(op);
  Backlog most{op, 0, 0, kNoOp};
  const auto prove = [&](double from_us, double sum_us, OpId of) {
    if (from_us + sum_us > most.us) most = {op, from_us + sum_us, from_us, of};
  };
  double all_us = 0;
  const std::int64_t most_looks = std::min(kMostBeforeOne, kMostBeforeAll - looked_);
  const std::int64_t end = looked_ + (facts_.stopped() ? 0 : most_looks);
  for (auto each = by_time_.rbegin(); wanted > 0 && looked_ < end; ++each, ++looked_) {
    const Share& share = shares_[at(*each)];
    if (share.wanted_by != op) continue;
    --wanted;
    all_us += share.of_all_us;
    prove(share.head_us, all_us, kNoOp);
    Sum& of_class = sums_[at(known_.class_of[at(*each)])];
    if (of_class.before != op) of_class = {0, op};
    of_class.us += share.of_one_us;
    prove(share.head_us, of_class.us, *each);
    want(*each);
  }
  most.us *= kBacklogRoundedDown;
  return most;
}

}  // namespace berth::bounds
