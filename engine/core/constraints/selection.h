// Which ops and devices the texts of a rule mean.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/cluster.h"
#include "berth/constraints.h"
#include "berth/graph.h"

namespace berth {

/// The ops that `selector` selects, ascending. Throws Error(invalid_argument) if there are none,
/// listing similar names; `rule` names the rule in the message.
[[nodiscard]] std::vector<OpId> select_ops(const Graph& graph, const Cluster& cluster,
                                           const OpSelector& selector, const std::string& rule);

/// Whether one of `names` names each device or its kind. Throws Error(invalid_argument) for a
/// name that is neither.
[[nodiscard]] std::vector<bool> select_devices(const Cluster& cluster,
                                               const std::vector<std::string>& names,
                                               const std::string& rule);

/// Whether the text in a model file names each device. The text may be a device's name or kind,
/// in any case, or TensorFlow's form, whole or in part ("/job:worker/task:1/device:GPU:1"). Where names of the
/// cluster state jobs or tasks, it names the devices that agree in all that both state; a name without a type is of
/// the i-th CPU (host) or GPU of its task. Elsewhere only type and number count: unless a device has that
/// name, GPU:i is the i-th device that is no host and CPU:i the i-th host, and a task alone
/// ("/job:ps/task:3") leaves all devices open. "*" or nothing stands for every i. All false if it names none.
[[nodiscard]] std::vector<bool> requested_devices(const Cluster& cluster, std::string_view text);

/// Whether the text asks for a job or task alone, which no name of the cluster states.
[[nodiscard]] bool leaves_task_open(const Cluster& cluster, std::string_view text);

}  // namespace berth
