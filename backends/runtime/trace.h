#pragma once

#include "berth/backend.h"
#include "berth/cluster.h"
#include "runtime/executor.h"

namespace berth::runtime {

/// Runtime, peaks and busy times of the step that ran last.
void summarize(const Step& step, StepResult& result);

/// Its whole story, as StepResult says, with what it waited for: an op for the later of its last
/// input and the op before it on its device, a transfer for its producer or the last transfer that
/// held one of its engines.
void add_trace(const Step& step, const Cluster& cluster, StepResult& result);

}  // namespace berth::runtime
