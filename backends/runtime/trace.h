#pragma once

#include "berth/backend.h"
#include "berth/cluster.h"
#include "runtime/executor.h"

namespace berth::runtime {

/// Runtime, peaks and busy times of the step that ran last.
void summarize(const Step& step, StepResult& result);

/// The whole step, as StepResult describes, with what each part waited for: an op for its last
/// input or the previous op on its device, whichever was later; a transfer for its producer, or for
/// the last transfer that held one of its engines.
void add_trace(const Step& step, const Cluster& cluster, StepResult& result);

}  // namespace berth::runtime
