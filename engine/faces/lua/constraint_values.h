// Constraints as Lua tables: the same in a config and in `berth.problem`.
#pragma once

#include <lua.hpp>
#include <vector>

#include "berth/constraints.h"
#include "value.h"

namespace berth::lua {

/// An array of rules, each a table with one of pin, forbid, colocate, separate, respect_devices and
/// memory_margin (scripts/berth/meta.lua: berth.Rule). Throws Error(invalid_argument) naming the
/// rule by its position.
[[nodiscard]] std::vector<ConstraintRule> read_constraints(lua_State* L, const Value& list);

}  // namespace berth::lua
