#include "proofs/demand.h"

#include <algorithm>
#include <numeric>

namespace berth::bounds {

bool Demand::possible(const Facts& facts, const Known& known, const std::vector<OpId>& cluster,
                      KindId kind) {
  return std::all_of(cluster.begin(), cluster.end(), [&](OpId op) {
    return known.op_us[at(op) * at(facts.kind_count()) + at(kind)] < kCannotRun;
  });
}

Demand::Demand(const Facts& facts, const Known& known, const Heads& heads, const Heads& tails,
               const std::vector<OpId>& cluster, KindId kind, double t_us) {
  for (const OpId op : cluster) {
    const double op_us = known.op_us[at(op) * at(facts.kind_count()) + at(kind)];
    const double us = op_us + facts.pause_us(op, kind);
    if (us == 0) continue;
    const double rest_us = std::max(0.0, tails.head_us(op, kind) - facts.pause_us(op, kind));
    spans_.push_back({us, heads.head_us(op, kind), t_us - rest_us});
    total_us_ += us;
  }
  if (spans_.size() < 2) return;
  std::stable_sort(spans_.begin(), spans_.end(),
                   [](const Span& a, const Span& b) { return a.earliest_us < b.earliest_us; });
  by_latest_.resize(spans_.size());
  std::iota(by_latest_.begin(), by_latest_.end(), 0);
  std::stable_sort(by_latest_.begin(), by_latest_.end(), [this](std::size_t a, std::size_t b) {
    return spans_[a].latest_us > spans_[b].latest_us;
  });
}

double Demand::needed_one_by_one_us(double from_us, double to_us) const {
  double needed_us = 0;
  for (const Span& span : spans_) needed_us += within_us(span, from_us, to_us);
  return needed_us;
}

double Demand::before_us(double us) const {
  double end_us = -kCannotRun;  // of all that can start so early
  double run_us = 0;
  for (const Span& span : spans_) {
    if (span.earliest_us >= us) break;
    end_us = std::max(end_us, span.earliest_us) + span.us;
    run_us += span.us;
  }
  return run_us - std::max(0.0, end_us - us);
}

double Demand::after_us(double us) const {
  double start_us = kCannotRun;  // of all that can end so late
  double run_us = 0;
  for (const std::size_t i : by_latest_) {
    const Span& span = spans_[i];
    if (span.latest_us <= us) break;
    start_us = std::min(start_us, span.latest_us) - span.us;
    run_us += span.us;
  }
  return run_us - std::max(0.0, us - start_us);
}

}  // namespace berth::bounds
