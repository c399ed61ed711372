// One call from Lua into C++.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <lua.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "berth/error.h"
#include "object.h"
#include "state.h"
#include "value.h"
#include "values.h"

namespace berth::lua {

/// Every bound function enters here: it runs the binding's body and turns whatever that throws
/// into a Lua error that starts with the script's line and the binding's name.
int enter_binding(lua_State* L);

class Call {
 public:
  Call(lua_State* L_, State& state_, const Binding& binding_)
      : L(L_), state(state_), binding(binding_), first_(binding_.is_method ? 2 : 1) {}

  lua_State* const L;
  State& state;
  const Binding& binding;

  /// Argument 1.. as the script counts them, without `self`.
  [[nodiscard]] Value argument(int number, const char* name) const {
    return {L, first_ + number - 1, name, number};
  }
  /// The last argument, a table of options that may be missing.
  [[nodiscard]] Fields options(int number, const char* name = "options") const {
    return Fields(L, argument(number, name));
  }
  /// The object that a method is called on. Throws with the hint that ':' calls a method.
  template <typename T>
  [[nodiscard]] std::shared_ptr<T> self() const {
    return std::static_pointer_cast<T>(self_of(type_of<std::remove_const_t<T>>()));
  }

  // Each pushes one value and returns 1, the number of results.
  int number(double value) const {
    lua_pushnumber(L, value);
    return 1;
  }
  int integer(std::int64_t value) const { return number(static_cast<double>(value)); }
  /// 1.. from 0..; nil for the negative that means none.
  int id(std::int32_t value) const;
  int boolean(bool value) const {
    lua_pushboolean(L, value);
    return 1;
  }
  int text(std::string_view value) const {
    lua_pushlstring(L, value.data(), value.size());
    return 1;
  }
  /// nil for an empty text that means none.
  int text_or_nil(std::string_view value) const;
  int nil() const {
    lua_pushnil(L);
    return 1;
  }
  template <typename T>
  int object(std::shared_ptr<T> value) const {
    push(state, L, std::move(value));
    return 1;
  }
  /// The same for an object just made, whose memory Lua's collector does not see.
  template <typename T>
  int made(std::shared_ptr<T> value) const {
    collect_when_due(state, L);
    return object(std::move(value));
  }
  // A value of any of these types; an array of ids is 1.. from 0...
  int value(bool value) const { return boolean(value); }
  template <typename T>
  requires std::is_arithmetic_v<T>
  int value(T value) const { return number(static_cast<double>(value)); }
  int value(std::string_view value) const { return text(value); }
  template <typename T>
  int value(std::shared_ptr<T> value) const {
    return object(std::move(value));
  }
  int value(std::span<const std::int32_t> ids) const {
    push_ids(L, ids);
    return 1;
  }
  int value(std::span<const double> numbers) const {
    push_numbers(L, numbers);
    return 1;
  }
  int value(std::span<const std::int64_t> integers) const {
    push_integers(L, integers);
    return 1;
  }
  int value(std::span<const std::string> texts) const {
    push_texts(L, texts);
    return 1;
  }
  /// Returns the object itself, so that calls can be chained.
  int self_again() const {
    lua_pushvalue(L, 1);
    return 1;
  }

 private:
  [[nodiscard]] const std::shared_ptr<void>& self_of(const Type& type) const;

  int first_;
};

template <typename Member>
struct MemberOf;
template <typename T, typename Object_>
struct MemberOf<T Object_::*> {
  using Object = Object_;
};

/// A method that only returns what a member of its object is, or gives without arguments.
template <auto member>
int getter(Call& call) {
  using Object = typename MemberOf<decltype(member)>::Object;
  return call.value(std::invoke(member, *call.self<const Object>()));
}

}  // namespace berth::lua
