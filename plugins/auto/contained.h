// Where the search starts: the answers of other policies, each as its own authors meant it.
#pragma once

#include <string>
#include <vector>

#include "auto/annealer.h"
#include "berth/policy.h"

namespace berth::policies {

struct Start {
  std::string from;  ///< the policy
  Solution solution;
};

struct Starts {
  std::vector<Start> found;           ///< in the order in which they were run
  std::vector<std::string> failures;  ///< "policy: what it said"
};

/// Runs the policies `names` one after the other through `make`, and measures the placements of
/// context.initial and theirs. Those that are not installed are left out where `skip_missing`. Ends
/// early, once anything fits, where the context says so. Where nothing fits, a placement that
/// ignores memory is the last, for the search to mend.
[[nodiscard]] Starts collect_starts(const PolicyMaker& make, const std::vector<std::string>& names,
                                    bool skip_missing, const Problem& problem, Evaluator& evaluator,
                                    PlaceContext& context);

}  // namespace berth::policies
