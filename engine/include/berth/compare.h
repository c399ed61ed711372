/// @file
/// Placing as settings say, in one call; and several policies side by side.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "berth/bound_effort.h"
#include "berth/engine.h"
#include "berth/error.h"
#include "berth/export.h"
#include "berth/outcome.h"
#include "berth/policy.h"
#include "berth/problem.h"
#include "berth/settings.h"

namespace berth {

/// Runs the policy of the settings, or its fallbacks (place_as_set), on a simulating evaluator, and
/// gives everything that is told of the result. "threads" of the settings, else of `context`, bounds
/// evaluator and policy together. Throws as place_as_set does.
[[nodiscard]] BERTH_EXPORT Outcome place_outcome(Engine& engine,
                                                 std::shared_ptr<const Problem> problem,
                                                 const Settings& settings,
                                                 const PlaceContext& context = {});

/// Of the setting "bound"; strong where nothing is said.
[[nodiscard]] BERTH_EXPORT BoundEffort bound_effort(const Settings& settings);

/// One of the policies that were compared.
struct ComparedPolicy {
  std::string name;
  std::optional<Outcome> outcome;  ///< nothing = it failed
  ErrorCode code{};                ///< then: the kind of the failure,
  std::string failure;             ///< and why
};

/// Runs each of `policies` on the problem, in their order: with the settings' options where it is
/// the settings' policy, else with its own defaults; all else as the settings say. Fallbacks are not
/// asked. What a policy fails of is in its entry.
[[nodiscard]] BERTH_EXPORT std::vector<ComparedPolicy> compare_policies(
    Engine& engine, const std::shared_ptr<const Problem>& problem,
    std::span<const std::string> policies, const Settings& settings,
    const PlaceContext& context = {});

}  // namespace berth
