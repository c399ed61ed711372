// A lower bound's proof, step by step, so that others can check it. engine/files/formats/certificate.md
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

/// What one round of a refutation deduces, from all that the rounds before it have deduced.
struct ProofRound {
  std::vector<RaisedHead> heads, tails;
  std::vector<std::pair<OpId, KindId>> op_not_on;       ///< too long a path through the op
  std::vector<std::pair<OpId, OpId>> together;          ///< ends of edges
  std::vector<std::pair<OpId, KindId>> cluster_not_on;  ///< too much for one device; any member
};

/// A cluster that can be on no kind, after the last round; any member.
struct Nowhere {
  OpId op;
};
/// A window of time that cannot hold its work, with the heads and tails of the last round.
struct Overfull {
  double from_us, to_us;
  std::vector<double> weights;  ///< by kind
};
/// The work of all classes, divided over the kinds, and the price of their memory. Of no round.
struct WorkShares {
  std::vector<double> weights, prices;  ///< by kind
};
/// Of the `each` times devices + 1 largest classes, a device runs `each` + 1; 0: the largest. Of no
/// round.
struct Crowd {
  std::int64_t each;
};
/// The ops whose starts (or rests) are at least `from_us`, on all numbers of devices. Of one round.
struct EndsAndWork {
  bool by_start;
  double from_us;
};

/// No feasible placement has an objective below `us`.
struct Proof {
  double us = 0;
  std::string source;  ///< as LowerBound has it
  std::vector<ProofRound> rounds;
  std::variant<std::monostate, Nowhere, Overfull, WorkShares, Crowd, EndsAndWork> end;
  /// What it rests on, in words.
  [[nodiscard]] std::vector<std::string> rests_on() const;
};

}  // namespace berth::bounds
