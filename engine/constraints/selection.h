// Which ops and devices the texts of a rule mean.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/cluster.h"
#include "berth/constraints.h"
#include "berth/graph.h"

namespace berth {

/// The ops that `selector` selects, ascending. Throws Error(invalid_argument) where there is none,
/// with what is near; `rule` names the rule in that message.
[[nodiscard]] std::vector<OpId> select_ops(const Graph& graph, const Cluster& cluster,
                                           const OpSelector& selector, const std::string& rule);

/// By device: whether one of `names` names it or its kind. Throws Error(invalid_argument) for a
/// name that is neither.
[[nodiscard]] std::vector<bool> select_devices(const Cluster& cluster,
                                               const std::vector<std::string>& names,
                                               const std::string& rule);

/// By device: whether the text in a model file names it: a device's name or kind whatever the case,
/// or TensorFlow's form ("/job:worker/device:GPU:1"), where GPU:i is, unless there is a device of
/// that name, the i-th device that is no host and CPU:i the i-th host, and "*" or nothing stands
/// for every i. All false where it names none.
[[nodiscard]] std::vector<bool> requested_devices(const Cluster& cluster, std::string_view text);

}  // namespace berth
