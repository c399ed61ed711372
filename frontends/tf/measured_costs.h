// Turns a profile's times into costs of a graph's ops.
#pragma once

#include <string>

#include "berth/frontend.h"
#include "tf/profile.h"

namespace berth::tf_frontend {

/// A measurement on a device counts for the kind of the cluster's device that has this name in
/// TensorFlow (see tensorflow_devices). If there is no such device, it counts for all kinds of its
/// class: hosts for a CPU, accelerators for anything else. If several devices of one kind ran a
/// node, their mean counts.
///
/// A node of an inlined function is an op of the graph like any other. A loop costs the sum of its
/// nodes over all iterations. An op that calls its body (While, If, Case) costs the sum of the
/// nodes with its name as a prefix; on a kind that ran fewer than half of these nodes it counts as
/// not measured. Ops and kinds without a measurement get Costs::roofline.
///
/// Throws Error(invalid_file) naming `file` if nothing in it belongs to the graph and the cluster.
[[nodiscard]] LoadedCosts measured_costs(const Profile& profile, const std::string& file,
                                         const Graph& graph, const Cluster& cluster);

}  // namespace berth::tf_frontend
