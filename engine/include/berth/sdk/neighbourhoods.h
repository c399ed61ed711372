/// @file
/// Large neighbourhood search (Shaw, CP 1998) over groups: ever other divisions of a problem's groups
/// into a few, around the best placement, each decided by whatever the caller decides with.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "berth/evaluator.h"
#include "berth/export.h"
#include "berth/policy.h"
#include "berth/problem.h"

namespace berth {

/// A placement with its evaluation.
struct Judged {
  Placement placement;  ///< empty: there is none
  Evaluation evaluation;

  /// Keeps the better of both: one that fits before one that does not, then the one with the shorter
  /// runtime, which counts e^4 times where a memory overflows by as much as it holds.
  /// True where `other` is better, and taken. [thread-compatible]
  BERTH_EXPORT bool take(const Placement& other, const Evaluation& seen);
};

/// The result of the decisions of a neighbourhood.
struct Decided {
  Judged best;  ///< of all states on the way; no placement: none was seen
  Judged last;  ///< the state they ended with; no placement: they were cut off
};

/// Decides the groups of `within.problem()` anew, from `start`; `seed` is the only source of
/// randomness. Ends early where the caller of the search wants it to.
using DecideNeighbourhood =
    std::function<Decided(Evaluator& within, GroupPlacement start, std::uint64_t seed)>;

/// Makes `start` better in one neighbourhood of about `groups` groups (at least 1) after another,
/// until the context says stop or the quick lower bound is met; without a budget until 32
/// neighbourhoods in a row bring nothing. A state that a neighbourhood ends with is where the next is
/// drawn, if it is no worse. `start` fits the problem's constraints. The same seed gives the same
/// result, as far as `decide` does and no time ends it. [thread-compatible]
[[nodiscard]] BERTH_EXPORT Judged search_neighbourhoods(Evaluator& evaluator,
                                                        const PlaceContext& context, Judged start,
                                                        GroupId groups,
                                                        const DecideNeighbourhood& decide);

/// One such division, of about `count` groups, none of which is on two devices of `placement`.
/// Training on problems with these groups is training for the search. Throws
/// Error(invalid_argument) if count < 1, and what Problem::validate throws.
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Groups> draw_neighbourhood(
    const Problem& problem, const Placement& placement, GroupId count, std::uint64_t seed);

}  // namespace berth
