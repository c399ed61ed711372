// Weights that hosts keep for another device (Cluster::with_hosts_keeping_for).
#pragma once

#include "berth/outcome.h"

namespace berth {

/// Shows them as the step has them: an op that a host holds runs on the device that works for it
/// (Cluster::works_in), behind a transfer of its weights, which takes what the op costs more on the host.
/// Nothing else comes from such a host. The outcome has a simulated step, its problem and its placement.
void show_sent_weights(Outcome& outcome);

}  // namespace berth
