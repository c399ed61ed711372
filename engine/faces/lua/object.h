// C++ objects in Lua: one userdata shape for all of them.
//
//   Box = [ type tag | shared_ptr ]
//
// Every type gets the same metatable: its methods, `release`, __gc, __eq, __tostring. A C++ object
// that is already in Lua is pushed as the same userdata again, so that it works as a table key.
#pragma once

#include <lua.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace berth::lua {

class Call;
struct State;

/// A bound function. The name is the one that meta.lua documents ("berth.load",
/// "graph:op_name"); errors start with it. `body` reads its arguments, makes one call into the
/// engine, pushes the results and returns how many. It may throw and never raises a Lua error.
struct Binding {
  constexpr Binding(const char* name_, int (*body_)(Call& call))
      : name(name_),
        body(body_),
        is_method(std::string_view(name_).find(':') != std::string_view::npos) {}

  const char* name;
  int (*body)(Call& call);
  bool is_method;
  /// "load", "op_name"
  [[nodiscard]] const char* key() const noexcept;
};

/// A bound C++ type.
struct Type {
  const char* name;                             ///< "graph"
  std::span<const Binding> functions;           ///< of the module: "berth.load"
  std::span<const Binding> methods;             ///< "graph:op_name"
  std::string (*describe)(const void* object);  ///< for tostring, after the name
};

/// The Type of a bound class; each bind_*.cpp specialises it for its own.
template <typename T>
const Type& type_of();

/// Pushes `binding` as a function.
void push_binding(State& state, lua_State* L, const Binding& binding);

/// Makes the metatable of `type`; once per state and type.
void register_type(State& state, lua_State* L, const Type& type);

void push_object(State& state, lua_State* L, const Type& type, std::shared_ptr<void> object);

/// Never null. A const object stays const: only the bindings of its type ever see it.
template <typename T>
void push(State& state, lua_State* L, std::shared_ptr<T> object) {
  using Object = std::remove_const_t<T>;
  push_object(state, L, type_of<Object>(), std::const_pointer_cast<Object>(std::move(object)));
}

/// The object at `index`, null inside if it was released; nullptr if it is not of `type`.
const std::shared_ptr<void>* object_at(lua_State* L, int index, const Type& type);

/// The type of a value as messages give it: "graph" for a bound one, else Lua's own name.
const char* type_name_at(lua_State* L, int index);

/// `release` and the metamethods, which all types share.
int release_object(Call& call);

}  // namespace berth::lua
