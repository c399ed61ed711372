#include "proofs/refutation.h"

#include <algorithm>
#include <optional>

#include "berth/support/one_machine.h"
#include "berth/support/text.h"

namespace berth::bounds {
namespace {

/// Rounds for one T. Few lengths need more than four.
constexpr int kMostRounds = 8;
/// Limit on Refutation::work: a few seconds.
constexpr std::int64_t kMostWork = 300'000'000;
/// It ends where this share of T is left between what is refuted and what is not.
constexpr double kClose = 0.002;

}  // namespace

Refutation::Refutation(const Facts& facts)
    : facts_(facts),
      all_(facts),
      heads_(facts, all_, Heads::Direction::forward, Heads::Reasons::all),
      tails_(facts, all_, Heads::Direction::backward, Heads::Reasons::all),
      least_heads_(at(facts.graph().op_count()), 0),
      least_tails_(least_heads_),
      known_(all_),
      windows_(facts),
      hubs_(facts) {
  for (const Backlog& each : heads_.backlogs()) least_heads_[at(each.op)] = each.us;
  for (const Backlog& each : tails_.backlogs()) least_tails_[at(each.op)] = each.us;
  work_ = heads_.work() + tails_.work();
}

bool Refutation::goes_on() const {
  return work() <= kMostWork && !facts_.stopped();
}

bool Refutation::refuted(const char* reason) {
  proof_.source = cat("refutation of shorter steps (", reason, ")");
  return true;
}

bool Refutation::refute(double t_us) {
  forget();
  // Beyond T by more than all that may have been rounded; see Paths::rounded_down.
  const double limit_us =
      t_us * (1 + 2e-14 * static_cast<double>(facts_.graph().op_count()) + 1e-12);
  const double margin_us = (limit_us - t_us) * static_cast<double>(known_.op_us.size() + 1);
  proof_.us = t_us;
  for (int round = 0; round < kMostRounds && changed_ && goes_on(); ++round) {
    changed_ = false;
    std::optional<Heads> own_heads, own_tails;
    if (!fresh_) {
      constexpr auto kReasons = Heads::Reasons::paths_and_joins;
      own_heads.emplace(facts_, known_, Heads::Direction::forward, kReasons, least_heads_);
      own_tails.emplace(facts_, known_, Heads::Direction::backward, kReasons, least_tails_);
      work_ += own_heads->work() + own_tails->work();
    }
    fresh_ = false;
    const Heads& heads = own_heads ? *own_heads : heads_;
    const Heads& tails = own_tails ? *own_tails : tails_;
    proof_.rounds.push_back(
        {heads.raised(), tails.raised(), {}, {}, {}, {}, heads.backlogs(), tails.backlogs()});
    narrow_kinds(heads, tails, limit_us);
    if (nowhere_) return refuted("op too long for every kind");
    merge_ends(heads, tails, limit_us);
    gather_clusters();
    narrow_clusters(heads, tails, limit_us);
    if (nowhere_) return refuted("cluster too long for one device");
    for (const CrowdedHub& hub : hubs_.crowded(known_, clusters_, heads, tails, t_us, margin_us)) {
      proof_.rounds.back().crowded_hubs.push_back(hub);
      remove(clusters_[at(known_.class_of[at(hub.op)])], hub.kind);
    }
    if (nowhere_) return refuted("links into a cluster too slow");
    const auto window = windows_.overfull(known_, clusters_, heads, tails, t_us, margin_us);
    if (window.has_value()) {
      proof_.end = *window;
      return refuted("overfull window of time");
    }
  }
  return false;
}

void Refutation::forget() {
  known_ = all_;
  sets_ = DisjointSets(at(facts_.classes().count()));
  gather_clusters();
  proof_ = {};
  changed_ = true;
  fresh_ = true;
  nowhere_ = false;
}

void Refutation::gather_clusters() {
  clusters_.assign(at(facts_.classes().count()), {});
  for (OpId op = 0; op < facts_.graph().op_count(); ++op) {
    const GroupId cluster = sets_.find(facts_.classes().of(op));
    known_.class_of[at(op)] = cluster;
    clusters_[at(cluster)].push_back(op);
  }
}

void Refutation::remove(const std::vector<OpId>& members, KindId kind) {
  changed_ = true;
  for (const OpId op : members) op_us(op, kind) = kCannotRun;
  bool somewhere = false;
  for (KindId other = 0; other < facts_.kind_count(); ++other) {
    somewhere = somewhere || can_be_on(members, other);
  }
  if (somewhere || nowhere_) return;
  nowhere_ = true;
  proof_.end = Overfull{0, proof_.us, std::vector<double>(at(facts_.kind_count()), 1), 0, true};
}

bool Refutation::can_be_on(const std::vector<OpId>& members, KindId kind) const {
  return std::all_of(members.begin(), members.end(),
                     [&](OpId op) { return op_us(op, kind) < kCannotRun; });
}

void Refutation::narrow_kinds(const Heads& heads, const Heads& tails, double limit_us) {
  for (const std::vector<OpId>& members : clusters_) {
    for (KindId kind = 0; kind < facts_.kind_count() && !members.empty(); ++kind) {
      if (op_us(members.front(), kind) == kCannotRun) continue;
      const auto too_long = std::find_if(members.begin(), members.end(), [&](OpId op) {
        return heads.with_op_us(op, kind) + tails.head_us(op, kind) > limit_us;
      });
      if (too_long == members.end()) continue;
      round().op_not_on.emplace_back(*too_long, kind);
      remove(members, kind);
    }
  }
}

void Refutation::merge_ends(const Heads& heads, const Heads& tails, double limit_us) {
  for (OpId op = 0; op < facts_.graph().op_count(); ++op) {
    for (const Edge& edge : facts_.graph().out_edges(op)) {
      const GroupId a = facts_.classes().of(edge.src);
      const GroupId b = facts_.classes().of(edge.dst);
      if (sets_.find(a) == sets_.find(b)) continue;
      if (cut_us(facts_, heads, tails, edge) <= limit_us) continue;
      sets_.merge(a, b);
      round().together.emplace_back(edge.src, edge.dst);
      changed_ = true;
    }
  }
}

void Refutation::narrow_clusters(const Heads& heads, const Heads& tails, double limit_us) {
  std::vector<MachineJob> jobs;
  for (const std::vector<OpId>& members : clusters_) {
    for (KindId kind = 0; kind < facts_.kind_count() && !members.empty(); ++kind) {
      if (!can_be_on(members, kind)) {
        // One of the clusters that have become one could not be on the kind.
        const bool some = std::any_of(members.begin(), members.end(),
                                      [&](OpId op) { return op_us(op, kind) < kCannotRun; });
        if (!some) continue;
        round().cluster_not_on.emplace_back(members.front(), kind);
        remove(members, kind);
        continue;
      }
      if (members.size() == 1) continue;
      jobs.clear();
      for (const OpId op : members) {
        const double pause_us = facts_.pause_us(op, kind);
        jobs.push_back({heads.head_us(op, kind), op_us(op, kind) + pause_us,
                        std::max(0.0, tails.head_us(op, kind) - pause_us)});
      }
      if (one_machine_us(jobs) <= limit_us) continue;
      round().cluster_not_on.emplace_back(members.front(), kind);
      remove(members, kind);
    }
  }
}

LowerBound longest_refuted(Refutation& refutation, double low_us) {
  LowerBound refuted;
  // Steps are doubled until one is not refuted, then halved.
  double high_us = kCannotRun;
  for (double step = 5 * kClose; refutation.goes_on();) {
    const bool open = high_us == kCannotRun;
    if (!open && high_us <= low_us * (1 + kClose)) break;
    const double t_us = open ? low_us * (1 + step) : low_us + (high_us - low_us) / 2;
    if (t_us == kCannotRun) return {};  // nothing is feasible
    if (refutation.refute(t_us)) {
      refuted = {t_us, refutation.proof().source};
      low_us = t_us;
      step *= 2;
    } else {
      high_us = t_us;
    }
  }
  return refuted;
}

}  // namespace berth::bounds
