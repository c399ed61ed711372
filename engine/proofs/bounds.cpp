#include "berth/bounds.h"

#include <algorithm>

#include "proofs/bound_facts.h"
#include "proofs/heads.h"
#include "proofs/refutation.h"

namespace berth {
namespace {

/// The plain bounds of no more ops take no time that anybody waits for: they are whole whoever stops the others.
constexpr OpId kManyOps = 65'536;

void sort(std::vector<LowerBound>& all) {
  std::stable_sort(all.begin(), all.end(),
                   [](const LowerBound& a, const LowerBound& b) { return a.us > b.us; });
}

bool is_worth_refuting(const bounds::Facts& facts, double low_us) {
  return facts.problem().options().objective == Objective::latency && low_us > 0 &&
         facts.kind_count() <= bounds::Heads::kMaxKinds;
}

/// At least one, also where they are stopped at once.
std::vector<LowerBound> plain_bounds(const bounds::Facts& facts) {
  std::vector<LowerBound> all;
  bounds::add_path_bounds(facts, all);
  if (all.empty() || !facts.stopped()) bounds::add_work_bounds(facts, all);
  sort(all);
  return all;
}

}  // namespace

std::vector<LowerBound> lower_bounds(const Problem& problem) {
  return plain_bounds(bounds::Facts(problem));
}

LowerBound lower_bound(const Problem& problem) {
  return lower_bounds(problem).front();
}

std::vector<LowerBound> strong_lower_bounds(const Problem& problem,
                                            const std::function<bool()>& should_stop) {
  const bounds::Facts facts(problem, should_stop);
  const bool many = problem.graph().op_count() > kManyOps;
  std::vector<LowerBound> all = many ? plain_bounds(facts) : lower_bounds(problem);
  if (is_worth_refuting(facts, all.front().us) && !facts.stopped()) {
    bounds::Refutation refutation(facts);
    all.push_back(bounds::backlog_bound(facts, refutation.heads(), refutation.tails()));
    sort(all);
    const double low_us = all.front().us;
    if (LowerBound refuted = bounds::longest_refuted(refutation, low_us); refuted.us > low_us) {
      all.push_back(std::move(refuted));
      sort(all);
    }
  }
  for (LowerBound& bound : all) bound.cut_short = facts.was_stopped();
  return all;
}

LowerBound strong_lower_bound(const Problem& problem, const std::function<bool()>& should_stop) {
  return strong_lower_bounds(problem, should_stop).front();
}

}  // namespace berth
