// The starts of the search: the answers of other policies, each as its authors intended it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "auto/annealer.h"
#include "berth/options.h"
#include "berth/policy.h"

namespace berth::policies::auto_policy {

/// A policy that the search starts from.
struct Contained {
  std::string text;  ///< as the user names it: "metis:phases=4"
  std::string name;
  OptionTexts options = {};
};

/// A list such as "topo,metis:phases=4:imbalance=0.1". Throws what parse_named_policy throws.
[[nodiscard]] std::vector<Contained> contained_policies(std::string_view list);

struct Start {
  std::string from;  ///< the policy
  Solution solution;
};

struct Starts {
  std::vector<Start> found;           ///< in the order in which they were run
  std::vector<std::string> failures;  ///< "policy: what it said"
  double step_s = 0;                  ///< what the quickest evaluation of a start took
  LowerBound proven = {};             ///< by one of the policies, of all placements
  bool optimal = false;               ///< the best of `found` meets it
  bool hasty = false;  ///< the budget was too short for a search, and went to `instant`
  SearchEnd end = SearchEnd::done;  ///< of `instant` then
};

/// Says how many seconds have passed since some moment.
using Seconds = std::function<double()>;
/// Those of the clock of budgets.
[[nodiscard]] double steady_seconds();

/// Runs `policies` one after the other through `make`, and measures the placements of
/// context.initial and theirs. `m-etf` comes right behind `metis` where the best so far is `heft`'s.
/// Quick ones are also run on parts of the machine. Before `instant` makes its passes, a few of them are tried on such
/// parts and as if all links were alike, and `metis` on chains of ops, where these are installed and `skip_missing` is set. With `skip_missing`, policies that are not
/// installed are left out, and `exact` where the problem is not small. Ends early, once anything fits,
/// if the context says so or a start is optimal. If nothing fits, the last start is a placement that
/// ignores memory, for the search to repair. Of a budget too short for a search `instant` gets what `single` and `metis` leave, where it is
/// installed and `skip_missing` is set. Of a longer one it gets at least the time for its first passes, whatever the others took, and a
/// list scheduler or partitioner that a share of it would cut off is left out. `now` is the clock of all this.
[[nodiscard]] Starts collect_starts(const PolicyMaker& make, const std::vector<Contained>& policies,
                                    bool skip_missing, const Problem& problem, Evaluator& evaluator,
                                    const PlaceContext& context,
                                    const Seconds& now = steady_seconds);

}  // namespace berth::policies::auto_policy
