// The options of the policy.
#pragma once

#include <cstddef>

#include "berth/options.h"
#include "common/repair.h"

namespace berth::placeto {

inline constexpr const char* kName = "placeto";
inline constexpr const char* kVersion = "1.0";

// The options that the weights depend on come first.
inline constexpr std::size_t kShapeOptions = 11;
inline constexpr OptionSpec kOptions[] = {
    {"devices", OptionType::text, "features",
     "how devices are told apart: features (one policy for any cluster), one_hot (as published, "
     "for "
     "one number of devices)"},
    {"rounds", OptionType::integer, "8", "rounds of message passing, >= 0; 0 = none"},
    {"sweep", OptionType::boolean, "false",
     "one pass of messages in topological order and back instead of parallel rounds"},
    {"self", OptionType::text, "transform",
     "what a round's message is added to: transform, previous, none"},
    {"layers", OptionType::integer, "1",
     "dense layers per function: 1 as published, 2 as the published code's default"},
    {"pooling", OptionType::text, "three",
     "what is pooled: three (ancestors, descendants, parallel), one (all), none"},
    {"aggregate", OptionType::text, "mean",
     "what messages and pools are of their terms: mean, sum (as published)"},
    {"start_time", OptionType::boolean, "true", "the simulated start of a group as a feature"},
    {"memory", OptionType::boolean, "false", "parameter bytes as a feature of the one_hot form"},
    {"logit_bound", OptionType::real, "0", "C of C * tanh(logits), >= 0; 0 = unbounded"},
    {"peers", OptionType::integer, "0",
     "of the groups parallel to the one that is placed, how many are pooled, the nearest in "
     "topological order; 0 = all"},
    {"lookahead", OptionType::boolean, "true",
     "form by features: simulate the step with the group on each device before deciding"},
    {"weights", OptionType::text, "",
     "file of a trained policy; empty = the one that comes with Berth where the options above are "
     "its own, else none; none = fresh weights"},
    {"init_seed", OptionType::integer, "1", "seed of fresh weights, >= 0"},
    {"groups", OptionType::integer, "128",
     "coarsen to this many groups where the problem has more, >= 1"},
    {"passes", OptionType::integer, "16", "greedy passes over the graph at most, >= 1"},
    {"episodes", OptionType::integer, "0", "updates on this very graph before the answer, >= 0"},
    {"samples", OptionType::integer, "16", "episodes per update, >= 1"},
    {"learning_rate", OptionType::real, "3e-3", "of the first update; falls linearly to a tenth"},
    {"entropy", OptionType::real, "0.02", "weight of the entropy at first; falls linearly to 0"},
    policies::kRepairOption};

}  // namespace berth::placeto
