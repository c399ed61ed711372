#include "value.h"

#include <algorithm>
#include <cmath>

#include "berth/error.h"
#include "berth/support/text.h"
#include "state.h"

namespace berth::lua {
namespace {

/// The value on the top of the stack, shortly, for messages.
std::string shown(lua_State* L, int index) {
  switch (lua_type(L, index)) {
    case LUA_TNUMBER:
      return cat(lua_tonumber(L, index));
    case LUA_TSTRING: {
      std::size_t size = 0;
      const char* text = lua_tolstring(L, index, &size);
      constexpr std::size_t kShown = 40;
      return size > kShown ? cat("'", std::string_view(text, kShown), "...'") : cat("'", text, "'");
    }
    case LUA_TBOOLEAN:
      return lua_toboolean(L, index) ? "true" : "false";
    case LUA_TNONE:
    case LUA_TNIL:
      return "nothing";
    default:
      return type_name_at(L, index);
  }
}

bool is_integer(double value, std::int64_t least, std::int64_t most) {
  return value == std::floor(value) && value >= static_cast<double>(least) &&
         value <= static_cast<double>(most);
}

/// "integer >= 1", "integer in 1..4", "integer"
std::string integer_range(std::int64_t least, std::int64_t most) {
  if (least == -kMaxInteger && most == kMaxInteger) return "integer";
  if (most == kMaxInteger) return cat("integer >= ", least);
  return cat("integer in ", least, "..", most);
}

/// Calls visit(i) with element i = 1.. of the array at `index` on the top of the stack.
template <typename Visit>
void each_element(lua_State* L, int index, Visit&& visit) {
  reserve_stack(L, 2);
  const int size = static_cast<int>(lua_objlen(L, index));
  for (int i = 1; i <= size; ++i) {
    lua_rawgeti(L, index, i);
    visit(i);
    lua_pop(L, 1);
  }
}

}  // namespace

void Value::fail(std::string_view expected) const {
  refuse(cat(expected, " expected, got ", shown(L_, index_)));
}

void Value::refuse(std::string_view problem) const {
  throw Error(ErrorCode::invalid_argument,
              argument_ > 0 ? cat("argument ", argument_, " (", name_, "): ", problem)
                            : cat("field '", name_, "': ", problem));
}

std::string Value::bytes() const {
  if (!is_text()) fail("text");
  std::size_t size = 0;
  const char* const text = lua_tolstring(L_, index_, &size);
  return {text, size};
}

std::string Value::text() const {
  std::string text = bytes();
  // It would end every message that quotes the text.
  if (text.find('\0') != std::string::npos) {
    refuse(cat("text without NUL characters expected; one follows '", text.c_str(), "'"));
  }
  return text;
}

double Value::number() const {
  if (!is_number()) fail("number");
  const double value = lua_tonumber(L_, index_);
  if (std::isnan(value)) fail("number");
  return value;
}

std::int64_t Value::integer(std::int64_t least, std::int64_t most) const {
  if (!is_number() || !is_integer(lua_tonumber(L_, index_), least, most)) {
    fail(integer_range(least, most));
  }
  return static_cast<std::int64_t>(lua_tonumber(L_, index_));
}

bool Value::boolean() const {
  if (!lua_isboolean(L_, index_)) fail("boolean");
  return lua_toboolean(L_, index_) != 0;
}

std::int32_t Value::id(std::int32_t count) const {
  if (count == 0) refuse("there are none");
  return static_cast<std::int32_t>(integer(1, count)) - 1;
}

std::vector<std::string> Value::texts() const {
  require_table();
  std::vector<std::string> result;
  each_element(L_, index_, [&](int i) {
    if (lua_type(L_, -1) != LUA_TSTRING) {
      refuse(cat("entry ", i, ": text expected, got ", shown(L_, -1)));
    }
    result.emplace_back(lua_tostring(L_, -1), lua_objlen(L_, -1));
  });
  return result;
}

std::vector<double> Value::numbers() const {
  require_table();
  std::vector<double> result;
  each_element(L_, index_, [&](int i) {
    if (lua_type(L_, -1) != LUA_TNUMBER) {
      refuse(cat("entry ", i, ": number expected, got ", shown(L_, -1)));
    }
    result.push_back(lua_tonumber(L_, -1));
  });
  return result;
}

std::vector<std::int64_t> Value::integers(std::int64_t least, std::int64_t most) const {
  require_table();
  std::vector<std::int64_t> result;
  each_element(L_, index_, [&](int i) {
    if (lua_type(L_, -1) != LUA_TNUMBER || !is_integer(lua_tonumber(L_, -1), least, most)) {
      refuse(cat("entry ", i, ": ", integer_range(least, most), " expected, got ", shown(L_, -1)));
    }
    result.push_back(static_cast<std::int64_t>(lua_tonumber(L_, -1)));
  });
  return result;
}

void Value::ids(std::int32_t size, std::int32_t count, std::vector<std::int32_t>& out) const {
  require_table();
  const auto given = lua_objlen(L_, index_);
  if (given != static_cast<std::size_t>(size)) {
    refuse(cat("an array of ", size, " expected, got one of ", given));
  }
  out.resize(given);
  each_element(L_, index_, [&](int i) {
    const double value = lua_type(L_, -1) == LUA_TNUMBER ? lua_tonumber(L_, -1) : 0;
    if (!is_integer(value, 1, count)) {
      refuse(cat("entry ", i, ": integer in 1..", count, " expected, got ", shown(L_, -1)));
    }
    out[static_cast<std::size_t>(i) - 1] = static_cast<std::int32_t>(value) - 1;
  });
}

OptionValue Value::option() const {
  switch (lua_type(L_, index_)) {
    case LUA_TBOOLEAN:
      return boolean();
    case LUA_TSTRING:
      return text();
    case LUA_TNUMBER: {
      const double value = number();
      if (is_integer(value, -kMaxInteger, kMaxInteger)) return static_cast<std::int64_t>(value);
      return value;
    }
    default:
      fail("boolean, number or text");
  }
}

std::vector<std::string> Value::keys() const {
  require_table();
  reserve_stack(L_, 3);
  std::vector<std::string> result;
  lua_pushnil(L_);
  while (lua_next(L_, index_) != 0) {
    lua_pop(L_, 1);
    if (lua_type(L_, -1) != LUA_TSTRING) {
      refuse(cat("names as keys expected, got ", shown(L_, -1)));
    }
    result.emplace_back(lua_tostring(L_, -1), lua_objlen(L_, -1));
  }
  return result;
}

std::map<std::string, OptionValue> Value::options() const {
  std::map<std::string, OptionValue> result;
  for (const std::string& key : keys()) {
    lua_pushlstring(L_, key.data(), key.size());
    lua_rawget(L_, index_);
    result[key] = Value(L_, lua_gettop(L_), key.c_str(), /*argument=*/0).option();
    lua_pop(L_, 1);
  }
  return result;
}

void Value::require_table() const {
  if (!is_table()) fail("table");
}

void Value::require_function() const {
  if (!lua_isfunction(L_, index_)) fail("function");
}

const std::shared_ptr<void>& Value::object_of(const Type& type) const {
  const std::shared_ptr<void>* object = object_at(L_, index_, type);
  if (object == nullptr) fail(type.name);
  if (*object == nullptr) refuse(cat("this ", type.name, " was released"));
  return *object;
}

Fields::Fields(lua_State* L, const Value& table) : L_(L), table_(table) {
  if (table_.present()) table_.require_table();
}

Value Fields::get(const char* key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  reserve_stack(L_, 1);
  if (table_.present()) {
    lua_pushstring(L_, key);
    lua_rawget(L_, table_.index());
  } else {
    lua_pushnil(L_);
  }
  return {L_, lua_gettop(L_), key, /*argument=*/0};
}

void Fields::finish() const {
  if (!table_.present()) return;
  for (const std::string& key : table_.keys()) {
    if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
      throw Error(ErrorCode::invalid_argument,
                  cat("unknown field '", key, "'", known_names(key, known_, known_.size())));
    }
  }
}

}  // namespace berth::lua
