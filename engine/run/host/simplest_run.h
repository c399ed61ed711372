// The part of a run that a tool asks for: its policy, and the simplest placement near to the best.
#pragma once

#include "berth/engine.h"
#include "berth/outcome.h"
#include "berth/run.h"
#include "berth/settings.h"
#include "berth/tools.h"

namespace berth {

/// The tool that the plan is for; null where there is none. An error names the key's place.
[[nodiscard]] const Tool* tool_of(const Settings& settings);
/// The settings of a search for their tool: its policy with its options, where it has one. Throws
/// Error(not_found) for an unknown tool, Error(invalid_argument) for a policy that keeps to no runs of
/// layers where the tool has them.
[[nodiscard]] Settings search_settings(const Settings& settings);
/// The share that settings ask for, or a tool's own.
[[nodiscard]] double within_of(const Settings& settings);
/// The simplest placement at most `within` slower than the outcome, or than what `stages` finds where
/// `rivals`. The outcome itself where it does not fit, and where `within` is 0.
[[nodiscard]] Outcome simplified(Engine& engine, Outcome outcome, const Settings& settings,
                                 bool rivals, const RunHooks& hooks);

}  // namespace berth
