// Shaving (refutation.h).
#include <algorithm>

#include "proofs/refutation.h"

namespace berth::bounds {

bool Refutation::shave(double t_us, std::int64_t most_work) {
  if (refute(t_us)) return true;
  do {
    shaved_ = false;
    if (shave_edges(t_us, most_work) || shave_kinds(t_us, most_work)) return true;
  } while (shaved_ && work() <= most_work);
  return false;
}

bool Refutation::shave_edges(double t_us, std::int64_t most_work) {
  for (OpId op = 0; op < facts_.graph().op_count(); ++op) {
    const auto edges = facts_.graph().in_edges(op);
    for (std::size_t i = 0; i < edges.size() && work() <= most_work; ++i) {
      const OpId before = edges[i].src;
      const GroupId a = facts_.classes().of(before);
      const GroupId b = facts_.classes().of(op);
      if (sets_.find(a) == sets_.find(b) || known_.are_apart(before, op)) continue;
      const auto together = [&] { sets_.merge(a, b); };
      const auto apart = [&] { known_.apart.emplace_back(a, b); };
      if (impossible(t_us, apart)) {
        if (learn(t_us, together)) return true;
      } else if (impossible(t_us, together) && learn(t_us, apart)) {
        return true;
      }
    }
  }
  return false;
}

bool Refutation::shave_kinds(double t_us, std::int64_t most_work) {
  for (GroupId cluster = 0; cluster < facts_.classes().count(); ++cluster) {
    for (KindId kind = 0; kind < facts_.kind_count() && work() <= most_work; ++kind) {
      const std::vector<OpId> members = clusters_[at(cluster)];  // which deducing may change
      int kinds = 0;
      for (KindId other = 0; other < facts_.kind_count() && !members.empty(); ++other) {
        kinds += can_be_on(members, other) ? 1 : 0;
      }
      if (kinds < 2 || !can_be_on(members, kind)) continue;
      if (!impossible(t_us, [&] { keep_only(members, kind, true); })) continue;
      if (learn(t_us, [&] { keep_only(members, kind, false); })) return true;
    }
  }
  return false;
}

template <typename Assume>
bool Refutation::impossible(double t_us, const Assume& assume) {
  const State before{known_, sets_};
  assume();
  changed_ = true;
  const bool is_refuted = deduce(t_us);
  restore(before);
  return is_refuted;
}

template <typename Fact>
bool Refutation::learn(double t_us, const Fact& fact) {
  fact();
  shaved_ = true;
  changed_ = true;
  return deduce(t_us);
}

void Refutation::restore(const State& state) {
  known_ = state.known;
  sets_ = state.sets;
  nowhere_ = false;
  gather_clusters();
}

void Refutation::keep_only(const std::vector<OpId>& members, KindId kind, bool only) {
  for (const OpId op : members) {
    for (KindId other = 0; other < facts_.kind_count(); ++other) {
      if ((other == kind) != only) op_us(op, other) = kCannotRun;
    }
  }
}

bool Refutation::contradicts_apart() {
  for (auto& pair : known_.apart) {
    pair = std::minmax({sets_.find(pair.first), sets_.find(pair.second)});
    if (pair.first == pair.second) return true;
  }
  std::sort(known_.apart.begin(), known_.apart.end());
  return false;
}

}  // namespace berth::bounds
