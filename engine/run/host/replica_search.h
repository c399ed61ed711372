// The search over plans of replicas.
#pragma once

#include <string>

#include "berth/outcome.h"
#include "berth/run.h"
#include "host/replica_models.h"

namespace berth {

/// Throws Error(unsupported) for settings that a replicated step does not serve.
void check_replicable(const Settings& settings);

/// The best plan that is found under the settings' budget (30 s where they name none), or the best
/// placement of the plain step, whichever is faster; a plan or a number that the settings name is
/// placed, mirrored and improved.
[[nodiscard]] Outcome run_replicated(Engine& engine, const std::string& model,
                                     const Settings& settings, const RunHooks& hooks);

}  // namespace berth
