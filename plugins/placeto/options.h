// The options of the policy.
#pragma once

#include <array>
#include <cstddef>

#include "berth/options.h"
#include "berth/sdk/training_options.h"
#include "learning/form.h"

namespace berth::placeto {

inline constexpr const char* kName = "placeto";
inline constexpr const char* kVersion = "1.0";

// The options that the weights depend on come first.
inline constexpr std::size_t kShapeOptions = 12;
inline constexpr std::array<OptionSpec, 18> kOwnOptions = {
    {{"devices",
      OptionType::text,
      "features",
      "how devices are told apart: features (one policy for any cluster), one_hot (as published, "
      "for one number of devices)",
      {},
      "features,one_hot"},
     {"rounds", OptionType::integer, "8", "rounds of message passing; 0 = none",
      OptionRange::at_least(0).up_to(1000)},
     {"sweep", OptionType::boolean, "false",
      "one pass of messages in topological order and back instead of parallel rounds"},
     {"self",
      OptionType::text,
      "transform",
      "what a round's message is added to",
      {},
      "transform,previous,none"},
     {"layers", OptionType::integer, "1",
      "dense layers per function: 1 as in the paper, 2 as the published code's default",
      OptionRange::at_least(1).up_to(100)},
     {"pooling",
      OptionType::text,
      "three",
      "what is pooled: three (ancestors, descendants, parallel), one (all), none",
      {},
      "three,one,none"},
     {"aggregate",
      OptionType::text,
      "mean",
      "what messages and pools are of their terms; mean_pools: messages are sums, pools means (an "
      "option of the published code)",
      {},
      "mean,sum,mean_pools"},
     {"start_time", OptionType::boolean, "true", "the simulated start of a group as a feature"},
     {"memory", OptionType::boolean, "false", "parameter bytes as a feature of the one_hot form"},
     {"logit_bound", OptionType::real, "0", "C of C * tanh(logits); 0 = unbounded",
      OptionRange::at_least(0)},
     {"peers", OptionType::integer, "0",
      "of the groups parallel to the one that is placed, how many are pooled, the nearest in "
      "topological order; 0 = all",
      OptionRange::at_least(0)},
     {"lookahead", OptionType::boolean, "true",
      "form by features: simulate the step with the group on each device before deciding"},
     {"weights", OptionType::text, "",
      "file of a trained policy; empty = the one that comes with Berth where the options above are "
      "its own, else none; none = fresh weights"},
     {"init_seed", OptionType::integer, "1", "seed of fresh weights", OptionRange::at_least(0)},
     {"groups", OptionType::integer, "128",
      "coarsen to this many groups where the problem has more",
      OptionRange::at_least(1).up_to(1 << 15)},
     {"grouping",
      OptionType::text,
      "balanced",
      "into groups of this kind; balanced where there are constraints",
      {},
      "balanced,placeto"},
     {"neighbourhood", OptionType::integer, "16",
      "where the problem has more groups: number of groups to merge into again and again, around "
      "the "
      "best placement, while the budget lasts; 0 = place them once",
      OptionRange::at_least(0).up_to(1 << 15)},
     learning::kFormOption}};
inline constexpr auto kOptions =
    join_options(kOwnOptions, training_options({.episodes = "0"}), kEpisodeOptions);

/// Addanki et al., NeurIPS 2019, with what its released code has by default: a network for one number
/// of devices, two layers per function, eight rounds of sums, no look at what a device would lead to;
/// groups by heaviest edges; eight episodes in an update, all from one random placement; gains in
/// seconds, undiscounted; an entropy of 1. Deviations:
///   - two layers per function are that code's default; the paper's appendix has one (layers=1), which is a third of
///     the weights: 6,419 in place of 20,827 for three devices;
///   - pools are means, an option of that code: with sums the network is certain from the start on
///     graphs of long sequences (nmt);
///   - the entropy falls to 0 as the paper says; in the code it does so only where told;
///   - a baseline is of episodes with the same start, which are the other seven of the update; the released code averages
///     those of past updates too, from whatever they began with;
///   - start times are divided by the largest of the graph, devices that cannot run a group are not chosen, and memory
///     that lacks always costs.
inline constexpr learning::FormValue kPublished[] = {
    {"grouping", "placeto"}, {"neighbourhood", "0"},
    {"devices", "one_hot"},  {"layers", "2"},
    {"lookahead", "false"},  {"aggregate", "mean_pools"},
    {"samples", "8"},        {"learning_rate", "1e-3"},
    {"entropy", "1"},        {"reward", "seconds"},
    {"discount", "1"},       {"advantages", "plain"},
    {"starts", "random"},    {"passes", "1"}};

}  // namespace berth::placeto
