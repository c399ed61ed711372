// Explanations of a placement, and of an op in it, as Lua tables.
#pragma once

#include <lua.hpp>

#include "berth/explanation.h"
#include "berth/outcome.h"

namespace berth::lua {

/// Pushes what the step waited for: the table of meta.lua's berth.Explanation.
void push_explanation(lua_State* L, const Outcome& outcome);
/// Why an op is where it is: berth.OpExplanation.
void push_op_explanation(lua_State* L, const OpExplanation& op);

}  // namespace berth::lua
