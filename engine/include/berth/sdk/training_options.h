/// @file
/// Options of how a policy learns on the very problem that it is to place (RefineOptions): one table
/// for all that learn.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "berth/export.h"
#include "berth/options.h"
#include "berth/sdk/learning.h"
#include "berth/sdk/repair.h"

namespace berth {

/// The defaults that policies have of their own.
struct TrainingDefaults {
  const char* episodes = "-1";
  const char* samples = "16";
  const char* entropy = "0.02";
  const char* baseline = "steps";
};

[[nodiscard]] constexpr std::array<OptionSpec, 10> training_options(const TrainingDefaults& own) {
  return {
      {{"episodes", OptionType::integer, own.episodes,
        "updates on this very graph before the answer; -1: as many as the budget allows (half of "
        "it where a search follows), none without one",
        OptionRange::at_least(-1)},
       {"samples", OptionType::integer, own.samples, "placements per update",
        OptionRange::at_least(1).up_to(1 << 20)},
       {"learning_rate", OptionType::real, "3e-3", "of the first update; falls linearly to a tenth",
        OptionRange::at_least(0)},
       {"entropy", OptionType::real, own.entropy,
        "weight of the entropy at first; falls linearly to 0", OptionRange::at_least(0)},
       {"reward",
        OptionType::text,
        "log",
        "what a placement costs in training: log (of its runtime, worse where memory is short), "
        "seconds (2 more for each GB that is short, 10 at most), root (of the seconds; 10 where "
        "it does not fit)",
        {},
        "log,seconds,root"},
       {"baseline",
        OptionType::text,
        own.baseline,
        "steps: gains at the same step of other samples, and of those of 10 updates before that "
        "began alike; average: what placements cost lately, a failure to begin with; after 5000 "
        "updates failures teach nothing; best: the best tenth of an update's placements teach, "
        "against the next one",
        {},
        "steps,average,best"},
       {"discount", OptionType::real, "0.98", "of what is gained a step later, with baseline=steps",
        OptionRange::at_least(0).up_to(1)},
       {"advantages",
        OptionType::text,
        "normalised",
        "normalised (to a root mean square of 1 in every update) or plain",
        {},
        "normalised,plain"},
       {"max_norm", OptionType::real, "1.25", "the gradient's norm is clipped to it; 0: not at all",
        OptionRange::at_least(0)},
       kRepairOption}};
}

/// Options of policies that decide one group after another.
inline constexpr std::array<OptionSpec, 2> kEpisodeOptions = {
    {{"passes", OptionType::integer, "16", "greedy passes over the graph at most",
      OptionRange::at_least(1).up_to(1 << 20)},
     {"starts",
      OptionType::text,
      "known",
      "where episodes start: known (a single device, runs of groups, list scheduling), random (one "
      "placement for all samples of an update) or none (only whole placements of the policy's "
      "count)",
      {},
      "known,random,none"}}};

/// Several lists as one, for a descriptor.
template <std::size_t... Counts>
[[nodiscard]] constexpr auto join_options(const std::array<OptionSpec, Counts>&... lists) {
  std::array<OptionSpec, (Counts + ...)> all{};
  std::size_t at = 0;
  ((std::copy(lists.begin(), lists.end(), all.begin() + at), at += Counts), ...);
  return all;
}

/// Sets what training_options and, where they are there, kEpisodeOptions say; leaves the rest of `how`
/// as it is.
BERTH_EXPORT void read_training(const Options& options, RefineOptions& how);

}  // namespace berth
