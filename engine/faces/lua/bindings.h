// Everything bound, in one list.
#pragma once

#include <span>

#include "object.h"

namespace berth::lua {

/// All bound types.
std::span<const Type* const> bound_types();

/// Functions of the module that make no bound object: "berth.clock".
std::span<const Binding> module_functions();

/// Registers all types and leaves the module's table on the stack.
void push_module(State& state, lua_State* L);

}  // namespace berth::lua
