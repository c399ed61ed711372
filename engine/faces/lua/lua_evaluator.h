// Evaluators whose results a Lua function gives: of placements that other processes measure, for
// example.
#pragma once

#include <memory>

#include "berth/evaluator.h"
#include "objects.h"
#include "state.h"

namespace berth::lua {

/// `evaluate` is called with an array of placements and returns an array of evaluations. Works on
/// the host's thread alone.
[[nodiscard]] std::unique_ptr<Evaluator> make_lua_evaluator(
    State& state, std::shared_ptr<const Problem> problem, std::unique_ptr<const Reference> evaluate,
    bool measures);

}  // namespace berth::lua
