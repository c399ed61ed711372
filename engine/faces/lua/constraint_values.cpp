#include "constraint_values.h"

#include <string>
#include <utility>

#include "berth/error.h"
#include "berth/support/text.h"
#include "state.h"

namespace berth::lua {
namespace {

using Kind = ConstraintRule::Kind;

/// How many items an array has; 0 for a table of named fields.
int array_size(lua_State* L, const Value& value) {
  return value.is_table() ? static_cast<int>(lua_objlen(L, value.index())) : 0;
}

/// Pushes the item, which stays on the stack until the binding returns.
Value item(lua_State* L, const Value& list, int i, const char* name) {
  reserve_stack(L, 1);
  lua_rawgeti(L, list.index(), i);
  return {L, lua_gettop(L), name, 0};
}

OpSelector read_selector(lua_State* L, const Value& value) {
  OpSelector selector;
  if (value.is_text()) {
    selector.regex = value.text();
    return selector;
  }
  if (!value.is_table()) value.fail("an expression over names of ops, or a table of selectors,");
  Fields fields(L, value);
  const auto text = [&fields](const char* key, std::string& out) {
    if (const Value field = fields.get(key); field.present()) out = field.text();
  };
  text("name", selector.name);
  text("regex", selector.regex);
  text("type", selector.type);
  text("requested_device", selector.requested_device);
  fields.finish();
  return selector;
}

std::vector<OpSelector> read_ops(lua_State* L, const Value& value, const char* name) {
  const int count = array_size(L, value);
  if (count == 0) return {read_selector(L, value)};
  std::vector<OpSelector> ops;
  for (int i = 1; i <= count; ++i) ops.push_back(read_selector(L, item(L, value, i, name)));
  return ops;
}

std::vector<std::string> read_devices(const Value& value) {
  if (!value.present()) return {};
  if (value.is_text()) return {value.text()};
  return value.texts();
}

ConstraintRule read_margin(const Value& amount, const Value& devices) {
  const std::string text = amount.is_number() ? std::to_string(amount.integer(0)) : amount.text();
  return memory_margin_rule(text, read_devices(devices));
}

ConstraintRule read_rule(lua_State* L, const Value& table) {
  struct Key {
    const char* name;
    Kind kind;
    const char* devices;  ///< the key of its devices
  };
  static constexpr Key kKeys[] = {{"pin", Kind::pin, "to"},
                                  {"forbid", Kind::forbid, "on"},
                                  {"colocate", Kind::colocate, nullptr},
                                  {"separate", Kind::separate, nullptr},
                                  {"respect_devices", Kind::respect_devices, nullptr},
                                  {"memory_margin", Kind::memory_margin, "on"}};
  Fields fields(L, table);
  std::vector<std::pair<const Key*, Value>> given;
  for (const Key& key : kKeys) {
    if (const Value value = fields.get(key.name); value.present()) given.emplace_back(&key, value);
  }
  const Value to = fields.get("to");
  const Value on = fields.get("on");
  fields.finish();
  if (given.size() != 1) {
    table.refuse(
        "a rule has exactly one of pin, forbid, colocate, separate, respect_devices and "
        "memory_margin");
  }
  const auto& [key, value] = given.front();
  const bool takes_to = key->devices != nullptr && std::string_view(key->devices) == "to";
  const bool takes_on = key->devices != nullptr && !takes_to;
  if (to.present() && !takes_to) table.refuse(cat("'to' belongs to pin, not to ", key->name));
  if (on.present() && !takes_on) {
    table.refuse(cat("'on' belongs to forbid and memory_margin, not to ", key->name));
  }
  if (key->kind == Kind::memory_margin) return read_margin(value, on);
  ConstraintRule rule;
  rule.kind = key->kind;
  rule.devices = read_devices(takes_to ? to : on);
  const bool all = key->kind == Kind::respect_devices && !value.is_text() && !value.is_table();
  if (all && !value.boolean()) table.refuse("respect_devices is true, or says which ops");
  if (!all) rule.ops = read_ops(L, value, key->name);
  return rule;
}

}  // namespace

std::vector<ConstraintRule> read_constraints(lua_State* L, const Value& list) {
  list.require_table();
  const int count = array_size(L, list);
  if (count == 0 && !list.keys().empty()) {
    list.refuse("a list of rules is expected: { { pin = \"conv1/.*\", to = \"gpu:0\" }, ... }");
  }
  std::vector<ConstraintRule> rules;
  for (int i = 1; i <= count; ++i) {
    const std::string name = cat("constraints[", i, "]");
    const int top = lua_gettop(L);
    const Value table = item(L, list, i, name.c_str());
    table.require_table();
    try {
      rules.push_back(read_rule(L, table));
    } catch (const Error& error) {
      const std::string message = error.what();
      const bool names_it = message.find(name) != std::string::npos;
      throw Error(error.code(), names_it ? message : cat(name, ": ", message));
    }
    rules.back().text = cat(name, " ", to_text(rules.back()));
    lua_settop(L, top);
  }
  return rules;
}

}  // namespace berth::lua
