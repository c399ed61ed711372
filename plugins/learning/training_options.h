// Options of how a policy learns on the very problem that it is to place (reinforce.h).
#pragma once

#include "berth/options.h"
#include "berth/sdk/learning.h"

namespace berth::learning {

inline constexpr OptionSpec kRewardOption = {"reward",
                                             OptionType::text,
                                             "log",
                                             "what a placement costs in training: log (of its "
                                             "runtime, worse where memory is short), seconds "
                                             "(2 more for each GB that is short, 10 at most), root "
                                             "(of the seconds; 10 where it does not fit)",
                                             {},
                                             "log,seconds,root"};
inline constexpr const char* kBaseline = "baseline";
/// `first` is the default.
constexpr OptionSpec baseline_option(const char* first) {
  return {kBaseline,
          OptionType::text,
          first,
          "steps: gains at the same step of other samples, and of those of 10 updates before that "
          "began alike; average: what "
          "placements cost lately, a failure to begin with; after 5000 updates failures teach "
          "nothing; best: the best tenth of an update's placements teach, against the next one",
          {},
          "steps,average,best"};
}
inline constexpr OptionSpec kDiscountOption = {
    "discount", OptionType::real, "0.98", "of what is gained a step later, with baseline=steps",
    OptionRange::at_least(0).up_to(1)};
inline constexpr OptionSpec kAdvantagesOption = {
    "advantages", OptionType::text,
    "normalised", "normalised (to a root mean square of 1 in every update) or plain",
    {},           "normalised,plain"};
inline constexpr OptionSpec kStartsOption = {
    "starts",
    OptionType::text,
    "known",
    "where episodes start: known (a single device, runs of groups, list scheduling), random (one "
    "placement for all samples of an update) or none (only whole placements of the policy's count)",
    {},
    "known,random,none"};
inline constexpr OptionSpec kMaxNormOption = {"max_norm", OptionType::real, "1.25",
                                              "the gradient's norm is clipped to it; 0: not at all",
                                              OptionRange::at_least(0)};

/// Sets what the options say, of a policy that has all of them or the baseline alone; leaves the rest of
/// `how` as it is.
void read_training(const Options& options, RefineOptions& how);

}  // namespace berth::learning
