/// @file
/// Proven lower bounds of the objective.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "berth/export.h"
#include "berth/problem.h"

namespace berth {

/// A proven lower bound of the problem's objective over all feasible placements.
struct LowerBound {
  double us = 0;
  /// The argument that gives it: "critical path", "total work", "memory-forced spread", ...
  std::string source;
  /// There was no time for all that a strong bound tries: more may be provable.
  bool cut_short = false;
};

/// The largest bound that holds for the problem's objective and semantics.
[[nodiscard]] BERTH_EXPORT LowerBound lower_bound(const Problem& problem);
/// All bounds, largest first.
[[nodiscard]] BERTH_EXPORT std::vector<LowerBound> lower_bounds(const Problem& problem);

/// lower_bounds, and the longest step that a binary search over its length refutes (latency only).
/// Takes up to some seconds for graphs of ten thousand ops and more; the same bounds whatever the
/// time it takes. Largest first. `should_stop`: asked often, on the calling thread; once it says so,
/// what is proven by then is returned, all of it cut_short.
[[nodiscard]] BERTH_EXPORT std::vector<LowerBound> strong_lower_bounds(
    const Problem& problem, const std::function<bool()>& should_stop = {});
/// The largest of them.
[[nodiscard]] BERTH_EXPORT LowerBound
strong_lower_bound(const Problem& problem, const std::function<bool()>& should_stop = {});

namespace bounds {
struct Proof;
}

/// A lower bound with its proof. certificate_json (files.h) writes it for others to check.
struct Certificate {
  LowerBound bound;
  std::vector<std::string> rests_on;  ///< what the proof uses, each in a few words
  std::shared_ptr<const bounds::Proof> proof;
};
/// Proves the largest of `bounds` that has a proof in steps: "memory-forced transfer" has none, and
/// "heads, work and tails" only where shorter steps are refuted in another way. Rounding may cost
/// it 1e-9 of the bound. Takes less time than the bounds did.
[[nodiscard]] BERTH_EXPORT Certificate certify(const Problem& problem,
                                               const std::vector<LowerBound>& bounds);

}  // namespace berth
