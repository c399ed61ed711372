/// @file
/// How simple a placement is: what a person has to set up, and what a runtime has to send.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "berth/evaluator.h"
#include "berth/export.h"
#include "berth/graph.h"
#include "berth/placement.h"
#include "berth/policy.h"

namespace berth {

/// Compared in this order: fewer is simpler.
struct Simplicity {
  /// Pieces of the graph that lie on one device and hang together, less those that there are on a
  /// single device: 0 = nothing is cut.
  std::int64_t cuts = 0;
  std::int64_t transfers = 0;  ///< tensors times the other devices that receive them
  std::int64_t devices = 0;    ///< that hold an op

  auto operator<=>(const Simplicity&) const = default;
};

/// How full devices are, compared in this order. Of placements alike in time and simplicity the lesser one
/// leaves more room: for caches, for longer prompts.
struct Fullness {
  double peak_share = 0;       ///< of its memory, on the device where that is most; 0 = no limits
  double largest_load_us = 0;  ///< Evaluation::busy_us of the busiest device
  std::vector<double> shares;  ///< of each device's memory, the largest first

  auto operator<=>(const Fullness&) const = default;
};
/// Those of an evaluation by that problem.
[[nodiscard]] BERTH_EXPORT Fullness fullness_of(const Problem& problem,
                                                const Evaluation& evaluation);
/// Whether objectives differ by rounding alone: sums of the same costs in another order.
[[nodiscard]] BERTH_EXPORT bool alike_in_time(const Evaluation& a, const Evaluation& b) noexcept;

/// For a device per op. Control edges tie nothing together and transfer nothing.
[[nodiscard]] BERTH_EXPORT Simplicity simplicity_of(const Graph& graph, const Placement& placement);

/// The simplest placement that is found whose objective is at most (1 + `within`) times that of the
/// best of `candidates`. Pieces of each candidate are moved to the devices of their neighbours, small
/// ones first, while that makes it simpler. The best candidate itself where none of them fits. Asks
/// `context.should_stop`. Throws Error(invalid_argument) for a negative `within` and for no
/// candidates.
[[nodiscard]] BERTH_EXPORT Placement simplest_within(Evaluator& evaluator,
                                                     std::span<const Placement> candidates,
                                                     double within, const PlaceContext& context);

}  // namespace berth
