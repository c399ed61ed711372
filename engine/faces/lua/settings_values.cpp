#include "settings_values.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "berth/error.h"
#include "berth/files.h"
#include "berth/support/text.h"
#include "detect/here.h"
#include "objects.h"
#include "state.h"

namespace berth::lua {
namespace {

using Json = nlohmann::json;

Json table_json(lua_State* L, const Value& table, const std::string& name, int depth);

Json value_json(lua_State* L, int index, const std::string& name, int depth) {
  const Value value(L, index, name.c_str(), /*argument=*/0);
  if (value.is_table()) return table_json(L, value, name, depth + 1);
  if (value.is<const Cluster>()) return Json::parse(cluster_json(*value.object<const Cluster>()));
  const OptionValue plain = value.option();
  if (const auto* const number = std::get_if<double>(&plain); number && !std::isfinite(*number)) {
    value.fail("finite number");
  }
  return std::visit([](const auto& held) { return Json(held); }, plain);
}

Json table_json(lua_State* L, const Value& table, const std::string& name, int depth) {
  constexpr int kDeepest = 16;
  if (depth > kDeepest) table.refuse("nested too deeply");
  reserve_stack(L, 4);
  const StackGuard guard(L);
  const auto count = static_cast<int>(lua_objlen(L, table.index()));
  Json list = Json::array();
  for (int i = 1; i <= count; ++i) {
    lua_rawgeti(L, table.index(), i);
    list.push_back(value_json(L, lua_gettop(L), cat(name, "[", i, "]"), depth));
    lua_pop(L, 1);
  }
  Json object = Json::object();
  int entries = 0;
  lua_pushnil(L);
  while (lua_next(L, table.index()) != 0) {
    ++entries;
    if (lua_type(L, -2) == LUA_TSTRING) {
      const std::string key = Value(L, lua_gettop(L) - 1, name.c_str(), 0).text();
      object[key] = value_json(L, lua_gettop(L), cat(name, name.empty() ? "" : ".", key), depth);
    }
    lua_pop(L, 1);
  }
  if (entries == count) return list;
  if (entries != static_cast<int>(object.size())) {
    table.refuse("a list, or a table with names as keys, expected");
  }
  return object;
}

}  // namespace

Json json_of(lua_State* L, const Value& value, const std::string& name) {
  return value_json(L, value.index(), name, 0);
}

Settings read_settings(lua_State* L, const Value& table, const std::string& origin) {
  Json json = json_of(L, table, "");
  if (json.is_array() && json.empty()) json = Json::object();
  if (!json.is_object()) table.refuse("names as keys expected: { cluster = \"k80x4\", ... }");
  json.emplace("format", "berth.settings/1");
  return parse_settings(json.dump(), origin);
}

Settings read_settings(lua_State* L, Fields& fields, SettingGroup group) {
  Json json = {{"format", "berth.settings/1"}};
  for (const SettingKey& key : setting_keys()) {
    if (key.group != group) continue;
    const Value value = fields.get(key.name);
    if (!value.present() || value.is_object()) continue;
    json[key.name] = json_of(L, value, key.name);
  }
  Settings settings = parse_settings(json.dump(), "the table");
  detect::find_here(settings);
  return settings;
}

}  // namespace berth::lua
