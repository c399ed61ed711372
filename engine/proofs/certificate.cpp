// Chooses the proof of a certificate: that of the largest bound which has one.
#include <algorithm>
#include <utility>

#include "berth/bounds.h"
#include "berth/support/text.h"
#include "proofs/bound_facts.h"
#include "proofs/heads.h"
#include "proofs/refutation.h"

namespace berth {
namespace bounds {
namespace {

std::string counted(std::size_t count, const char* one, const char* many) {
  return cat(count, " ", count == 1 ? one : many);
}

/// In words, how the proof ends.
struct Ending {
  std::string operator()(std::monostate) const { return "no op at all"; }
  std::string operator()(const Overfull& window) const {
    if (window.nowhere) return "ops that must share a device and have no kind left";
    if (window.parts > 0) {
      return cat("clusters that need more than a ", window.parts + 1, "th of the time between ",
                 window.from_us, " and ", window.to_us, " us, and too few devices");
    }
    return cat("more work than devices between ", window.from_us, " and ", window.to_us, " us");
  }
  std::string operator()(const WorkShares& shares) const {
    const bool priced = std::any_of(shares.prices.begin(), shares.prices.end(),
                                    [](double price) { return price > 0; });
    return priced ? "all work over all devices, and the memory that parameters need"
                  : "all work over all devices";
  }
  std::string operator()(const Crowd& crowd) const {
    if (crowd.each == 0) return "the longest co-location class or op";
    return cat("the largest classes, ", crowd.each + 1, " on one device");
  }
};

/// `us` or, where rounding is all that is missing, a little less.
bool refute_about(Refutation& refutation, double us, OpId ops, Proof& proof) {
  const double margin = 4e-14 * static_cast<double>(ops) + 1e-11;
  for (const double t_us : {us, us * (1 - margin)}) {
    if (!refutation.refute(t_us)) continue;
    proof = refutation.proof();
    return true;
  }
  return false;
}

Proof largest_proof(const Facts& facts, const std::vector<LowerBound>& known) {
  const bool steps = facts.problem().options().objective == Objective::latency &&
                     facts.kind_count() <= Heads::kMaxKinds;
  std::vector<Proof> proofs = work_proofs(facts);
  Proof best = *std::max_element(proofs.begin(), proofs.end(),
                                 [](const Proof& a, const Proof& b) { return a.us < b.us; });
  std::vector<LowerBound> descending = known;
  std::stable_sort(descending.begin(), descending.end(),
                   [](const LowerBound& a, const LowerBound& b) { return a.us > b.us; });
  if (!steps) return best;
  Refutation refutation(facts);
  for (const LowerBound& bound : descending) {
    if (bound.us <= best.us) break;
    if (refute_about(refutation, bound.us, facts.graph().op_count(), best)) break;
  }
  return best;
}

}  // namespace

std::vector<std::string> Proof::rests_on() const {
  std::size_t joins = 0;
  std::size_t backlogs = 0;
  std::size_t kinds = 0;
  std::size_t edges = 0;
  std::size_t hubs = 0;
  for (const ProofRound& round : rounds) {
    joins = std::max(joins, round.heads.size() + round.tails.size());
    backlogs += round.backlog_heads.size() + round.backlog_tails.size();
    kinds += round.op_not_on.size() + round.cluster_not_on.size();
    edges += round.together.size();
    hubs += round.crowded_hubs.size();
  }
  std::vector<std::string> words;
  if (!rounds.empty()) words.emplace_back("paths with their transfers");
  if (joins > 0) {
    words.push_back(cat("joins, whose producers arrive too late or share the device: ",
                        counted(joins, "head or tail", "heads and tails")));
  }
  if (backlogs > 0) {
    words.push_back(cat("backlogs, which take devices until an op can start: ",
                        counted(backlogs, "head or tail", "heads and tails")));
  }
  if (kinds > 0) {
    words.push_back(cat(counted(kinds, "kind", "kinds"), " on which ops cannot be in time"));
  }
  if (edges > 0) {
    words.push_back(cat(counted(edges, "edge", "edges"), " for whose transfer there is no time"));
  }
  if (hubs > 0) {
    words.push_back(cat(counted(hubs, "cluster", "clusters"),
                        " for whose inputs links, or the device itself, have no time"));
  }
  words.push_back(std::visit(Ending(), end));
  return words;
}

}  // namespace bounds

Certificate certify(const Problem& problem, const std::vector<LowerBound>& known) {
  const bounds::Facts facts(problem);
  auto proof = std::make_shared<const bounds::Proof>(bounds::largest_proof(facts, known));
  return {{proof->us, proof->source}, proof->rests_on(), proof};
}

}  // namespace berth
