// A profile's times as costs of a graph's ops.
#pragma once

#include <string>

#include "berth/frontend.h"
#include "tf/profile.h"

namespace berth::tf_frontend {

/// What was measured on a device counts for the kind of the cluster's device that TensorFlow calls
/// by that name (see tensorflow_device); where there is none, for all kinds of its class: hosts for
/// a CPU, accelerators for anything else. Where several devices of one kind ran a node, their mean.
///
/// A node of an inlined function is an op of the graph like any other. A loop costs the sum of its
/// nodes over all rounds, an op that calls its body (While, If, Case) that of the nodes behind its
/// name; but on a kind that ran fewer than half of the nodes it counts as not measured there. Ops
/// and kinds without a measurement cost what Costs::roofline says.
///
/// Throws Error(invalid_file) naming `file` where nothing of it belongs to the graph and the
/// cluster.
[[nodiscard]] LoadedCosts measured_costs(const Profile& profile, const std::string& file,
                                         const Graph& graph, const Cluster& cluster);

}  // namespace berth::tf_frontend
