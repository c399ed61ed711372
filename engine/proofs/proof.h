// A lower bound's proof, step by step, so that others can check it. engine/core/files/formats/certificate.md
// says what each step means and why it holds.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "berth/types.h"

namespace berth::bounds {

/// A head or a tail that joins raise above what paths give.
struct RaisedHead {
  OpId op;
  KindId kind;
  double us;
};

/// Work that must run between a time and an op (or, for a tail, between the op and a time before the
/// end of the step) raises its head on every kind.
struct Backlog {
  OpId op;
  double us;       ///< the head, or the tail
  double from_us;  ///< heads (tails) of all that counts are no less
  OpId of;         ///< any op of the class whose device runs it all; kNoOp: all devices do
};

/// A cluster, by any member, that cannot be on a kind: neither can all that it reads come over links
/// in time, nor can enough of its producers share its device.
struct CrowdedHub {
  OpId op;
  KindId kind;
  double from_us, to_us;       ///< the window of the device
  double opens_us, closes_us;  ///< the window of its incoming engine
  double price;                ///< of the engine's time, in the device's
};

/// Deductions of one round of a refutation, from those of the rounds before it.
struct ProofRound {
  std::vector<RaisedHead> heads, tails;
  std::vector<std::pair<OpId, KindId>> op_not_on;       ///< too long a path through the op
  std::vector<std::pair<OpId, OpId>> together;          ///< ends of edges
  std::vector<std::pair<OpId, KindId>> cluster_not_on;  ///< too much for one device; any member
  std::vector<CrowdedHub> crowded_hubs;
  /// Backlogs of the first round; they hold in all of them.
  std::vector<Backlog> backlog_heads, backlog_tails;
};

/// A window of time that cannot hold its work, with the heads and tails of the last round; or, with
/// the whole step as the window, a cluster that can be on no kind.
struct Overfull {
  double from_us, to_us;
  std::vector<double> weights;  ///< by kind
  int parts;  ///< 0: the work is too much; n: too many clusters that need more than a part of n + 1
  bool nowhere;  ///< a cluster has no kind left
};
/// The work of all classes, divided over the kinds, and the price of their memory. Of no round.
struct WorkShares {
  std::vector<double> weights, prices;  ///< by kind
};
/// A device runs `each` + 1 of the `each` times devices + 1 largest classes; 0: the largest. Belongs
/// to no round.
struct Crowd {
  std::int64_t each;
};
/// No feasible placement has an objective below `us`.
struct Proof {
  double us = 0;
  std::string source;  ///< as LowerBound has it
  std::vector<ProofRound> rounds;
  std::variant<std::monostate, Overfull, WorkShares, Crowd> end;
  /// The premises of the proof, in words.
  [[nodiscard]] std::vector<std::string> rests_on() const;
};

}  // namespace berth::bounds
