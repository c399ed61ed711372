#include <algorithm>

#include "berth/evaluator.h"
#include "evaluate/bound_facts.h"

namespace berth {

std::vector<LowerBound> lower_bounds(const Problem& problem) {
  const bounds::Facts facts(problem);
  std::vector<LowerBound> all;
  bounds::add_path_bounds(facts, all);
  bounds::add_work_bounds(facts, all);
  std::stable_sort(all.begin(), all.end(),
                   [](const LowerBound& a, const LowerBound& b) { return a.us > b.us; });
  return all;
}

LowerBound lower_bound(const Problem& problem) {
  return lower_bounds(problem).front();
}

}  // namespace berth
