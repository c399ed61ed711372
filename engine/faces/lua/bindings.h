// Everything bound, in one list.
#pragma once

#include <span>

#include "object.h"

namespace berth::lua {

/// Fields of Lua's registry: the paths of the scripts that were run, and the failure with which the script
/// that runs is to end.
inline constexpr const char* kScripts = "berth.scripts";
inline constexpr const char* kFailure = "berth.failure";

/// All bound types.
std::span<const Type* const> bound_types();

/// Functions of the module that make no bound object: "berth.clock".
std::span<const Binding> module_functions();

/// Registers all types and leaves the module's table on the stack.
void push_module(State& state, lua_State* L);

}  // namespace berth::lua
