// Lua tables as settings: they become JSON, so that Lua and files have one reader.
#pragma once

#include <lua.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "berth/settings.h"
#include "value.h"

namespace berth::lua {

/// A boolean, number, text, or table of such; an empty table is a list. `name` is what errors call
/// it.
[[nodiscard]] nlohmann::json json_of(lua_State* L, const Value& value, const std::string& name);

/// A table with the keys of berth.settings/1 but "format". Throws Error(invalid_file) as
/// parse_settings does.
[[nodiscard]] Settings read_settings(lua_State* L, const Value& table, const std::string& origin);

/// The keys of a group among a table's fields. Objects, such as groups that are made already, are
/// the caller's.
[[nodiscard]] Settings read_settings(lua_State* L, Fields& fields, SettingGroup group);

}  // namespace berth::lua
