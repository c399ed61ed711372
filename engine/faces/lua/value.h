// Reads Lua values with messages that name the argument or field: one set of readers for
// arguments, fields of option tables and config files.
//
// All readers throw berth::Error and never raise a Lua error, so that C++ destructors run; the one
// place that turns an Error into a Lua error is call.cpp's entry point.
#pragma once

#include <cstdint>
#include <lua.hpp>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "berth/options.h"
#include "object.h"

namespace berth::lua {

/// Every integer up to here, and its negative, is a Lua number.
inline constexpr std::int64_t kMaxInteger = std::int64_t{1} << 53;

class Value {
 public:
  /// `argument` > 0: the position of an argument called `name`; 0: a field called `name`.
  Value(lua_State* L, int index, const char* name, int argument)
      : L_(L), index_(index), name_(name), argument_(argument) {}

  [[nodiscard]] bool present() const { return !lua_isnoneornil(L_, index_); }
  [[nodiscard]] bool is_text() const { return lua_type(L_, index_) == LUA_TSTRING; }
  [[nodiscard]] bool is_number() const { return lua_type(L_, index_) == LUA_TNUMBER; }
  [[nodiscard]] bool is_table() const { return lua_istable(L_, index_); }
  [[nodiscard]] bool is_object() const { return lua_type(L_, index_) == LUA_TUSERDATA; }
  [[nodiscard]] int index() const { return index_; }

  [[nodiscard]] std::string text() const;
  /// A text that may hold any characters.
  [[nodiscard]] std::string bytes() const;
  /// Not NaN.
  [[nodiscard]] double number() const;
  [[nodiscard]] std::int64_t integer(std::int64_t least = -kMaxInteger,
                                     std::int64_t most = kMaxInteger) const;
  [[nodiscard]] bool boolean() const;
  /// An id: 1..count in Lua, 0..count-1 in C++.
  [[nodiscard]] std::int32_t id(std::int32_t count) const;
  [[nodiscard]] std::vector<std::string> texts() const;
  [[nodiscard]] std::vector<double> numbers() const;
  [[nodiscard]] std::vector<std::int64_t> integers(std::int64_t least, std::int64_t most) const;
  /// An array of exactly `size` ids; `out` is reused.
  void ids(std::int32_t size, std::int32_t count, std::vector<std::int32_t>& out) const;
  /// A boolean, number or text; a number without fraction is an integer.
  [[nodiscard]] OptionValue option() const;
  /// A table by name of such values.
  [[nodiscard]] std::map<std::string, OptionValue> options() const;
  /// The names of a table whose keys must all be text.
  [[nodiscard]] std::vector<std::string> keys() const;
  void require_table() const;
  void require_function() const;

  /// Whether it is such an object; also of one that was released.
  template <typename T>
  [[nodiscard]] bool is() const {
    return object_at(L_, index_, type_of<std::remove_const_t<T>>()) != nullptr;
  }
  /// Throws if it is not such an object, or was released.
  template <typename T>
  [[nodiscard]] std::shared_ptr<T> object() const {
    return std::static_pointer_cast<T>(object_of(type_of<std::remove_const_t<T>>()));
  }

  /// Throws "argument 2 (cluster): <expected> expected, got <what it is>".
  [[noreturn]] void fail(std::string_view expected) const;
  /// Throws "argument 2 (cluster): <problem>".
  [[noreturn]] void refuse(std::string_view problem) const;

 private:
  [[nodiscard]] const std::shared_ptr<void>& object_of(const Type& type) const;

  lua_State* L_;
  int index_;
  const char* name_;
  int argument_;
};

/// The fields of an options table; a missing table has none. The values it reads stay on the stack
/// until the binding returns.
class Fields {
 public:
  explicit Fields(lua_State* L, const Value& table);

  [[nodiscard]] Value get(const char* key);
  /// Reads the field into `out`, a boolean, a number or texts; where it is missing, leaves `out` as it is.
  /// `least` and `most` hold for integers.
  template <typename T>
  void read(const char* key, T& out, std::int64_t least = -kMaxInteger,
            std::int64_t most = kMaxInteger) {
    const Value value = get(key);
    if (!value.present()) return;
    if constexpr (std::is_same_v<T, bool>) {
      out = value.boolean();
    } else if constexpr (std::is_integral_v<T>) {
      out = static_cast<T>(value.integer(least, most));
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      out = value.texts();
    } else {
      out = value.number();
    }
  }
  /// Throws if the table has a key that get was not asked for, listing those it was asked for.
  void finish() const;

 private:
  lua_State* L_;
  Value table_;
  std::vector<std::string> known_;
};

}  // namespace berth::lua
