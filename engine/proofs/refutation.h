// Is a step of length T possible?
//
// A refutation deduces what every placement with a runtime of at most T has in common, round by
// round, until nothing more follows or nothing is left. A round:
//
// heads and tails  Those of heads.h, from all that is known so far.
// kinds            An op for which head + op + tail > T on a kind is not on it, nor is its class.
// co-location      An edge between different devices takes the head of one end with its op, the
//                  fastest transfer, and the other end's op with its tail. Where that is more than
//                  T, the ends share a device. Their classes are one cluster from then on.
// one machine      A cluster's ops run one after the other on its one device (one_machine_us, with
//                  heads and tails). Where that takes longer than T on a kind, the cluster is not
//                  on it.
// hubs             A cluster is not on a kind if links cannot bring what it reads in time, nor can
//                  its producers share its device (hubs.h).
// windows          See windows.h.
//
// T is refuted where a cluster has no kind left or a window is overfull. Nothing here depends on
// the semantics beyond what heads.h and hubs.h say: in both, a device runs one op at a time.
//
// Shaving (Martin and Shmoys, "A new approach to computing optimal schedules for the job-shop
// scheduling problem", IPCO 1996) was built on it and taken out: some seconds for a tenth more on
// graphs of some hundred ops, and nothing on larger ones.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "berth/support/disjoint_sets.h"
#include "proofs/bound_facts.h"
#include "proofs/heads.h"
#include "proofs/hubs.h"
#include "proofs/proof.h"
#include "proofs/windows.h"

namespace berth::bounds {

class Refutation {
 public:
  /// Keeps the reference. At most Heads::kMaxKinds kinds.
  explicit Refutation(const Facts& facts);

  /// Heads of all placements, whatever their runtime.
  [[nodiscard]] const Heads& heads() const noexcept { return heads_; }
  [[nodiscard]] const Heads& tails() const noexcept { return tails_; }

  /// Whether it has proven that no step is as short as `t_us`.
  [[nodiscard]] bool refute(double t_us);
  /// The proof of the last call of refute that returned true.
  [[nodiscard]] const Proof& proof() const noexcept { return proof_; }

  /// Whether more can be refuted: neither the limit on work is reached nor is it to stop.
  [[nodiscard]] bool goes_on() const;
  /// Edges looked at for joins and ops in windows, of all calls.
  [[nodiscard]] std::int64_t work() const noexcept {
    return work_ + windows_.work() + hubs_.work();
  }

 private:
  void forget();
  /// Gives the proof its source.
  bool refuted(const char* reason);
  void gather_clusters();
  /// These narrow what is known, and set changed_.
  void narrow_kinds(const Heads& heads, const Heads& tails, double limit_us);
  void merge_ends(const Heads& heads, const Heads& tails, double limit_us);
  void narrow_clusters(const Heads& heads, const Heads& tails, double limit_us);
  void remove(const std::vector<OpId>& members, KindId kind);
  [[nodiscard]] ProofRound& round() noexcept { return proof_.rounds.back(); }

  [[nodiscard]] bool can_be_on(const std::vector<OpId>& members, KindId kind) const;

  [[nodiscard]] double& op_us(OpId op, KindId kind) noexcept {
    return known_.op_us[at(op) * at(facts_.kind_count()) + at(kind)];
  }
  [[nodiscard]] double op_us(OpId op, KindId kind) const noexcept {
    return known_.op_us[at(op) * at(facts_.kind_count()) + at(kind)];
  }

  const Facts& facts_;
  const Known all_;
  // Heads and tails of all placements, whatever T.
  const Heads heads_;
  const Heads tails_;
  std::vector<double> least_heads_, least_tails_;  // what backlogs raise; by op
  Known known_;
  DisjointSets sets_;  // of classes
  std::vector<std::vector<OpId>> clusters_;
  Windows windows_;
  Hubs hubs_;
  Proof proof_;
  bool changed_ = false;
  bool fresh_ = true;  // nothing but all_ is known
  bool nowhere_ = false;
  std::int64_t work_ = 0;
};

/// The longest T above `low_us` that a binary search refutes, with what refutes it; 0 us if it
/// finds none. Limited by work, and by time only where the facts are told to stop.
[[nodiscard]] LowerBound longest_refuted(Refutation& refutation, double low_us);

}  // namespace berth::bounds
