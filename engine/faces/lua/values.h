// C++ values that become plain Lua tables, and tables that become C++ values.
#pragma once

#include <lua.hpp>
#include <span>
#include <string>
#include <vector>

#include "berth/engine.h"
#include "berth/evaluator.h"
#include "berth/problem.h"
#include "berth/simulator.h"
#include "value.h"

namespace berth::lua {

struct State;

/// Upper limit for an evaluator or a policy.
inline constexpr int kMaxThreads = 1024;

// Each pushes one table.
void push_numbers(lua_State* L, std::span<const double> values);
void push_integers(lua_State* L, std::span<const std::int64_t> values);
void push_ids(lua_State* L, std::span<const std::int32_t> values);  ///< 1.. from 0..
void push_texts(lua_State* L, std::span<const std::string> values);
/// Pushes an array; `push(item)` pushes one value.
template <typename Items, typename Push>
void push_array(lua_State* L, const Items& items, Push&& push) {
  lua_createtable(L, static_cast<int>(items.size()), 0);
  int i = 0;
  for (const auto& item : items) {
    push(item);
    lua_rawseti(L, -2, ++i);
  }
}
/// Pushes an array of tables; `fill(item)` sets the fields of the table on the top.
template <typename Items, typename Fill>
void push_records(lua_State* L, const Items& items, Fill&& fill) {
  push_array(L, items, [&](const auto& item) {
    lua_newtable(L);
    fill(item);
  });
}

// Each sets a field of the table on the top of the stack.
void set_number(lua_State* L, const char* key, double value);
void set_bytes(lua_State* L, const char* key, std::int64_t value);  ///< math.huge for kNoLimit
void set_id(lua_State* L, const char* key, std::int32_t value);     ///< nil for none
void set_boolean(lua_State* L, const char* key, bool value);
void set_text(lua_State* L, const char* key, std::string_view value);
void set_numbers(lua_State* L, const char* key, std::span<const double> values);
void set_ids(lua_State* L, const char* key, std::span<const std::int32_t> values);
void set_texts(lua_State* L, const char* key, std::span<const std::string> values);
void set_evaluation(lua_State* L, const char* key, const Evaluation& evaluation);

/// Prepares the metatable of evaluations, which gives them a text; once per state.
void register_evaluation(State& state, lua_State* L);
void push_evaluation(lua_State* L, const Evaluation& evaluation);
/// The same into the table at `index`, which keeps its arrays: nothing is allocated.
void fill_evaluation(lua_State* L, int index, const Evaluation& evaluation);
/// Returns the evaluation from a function, in the table `result` if there is one.
int return_evaluation(lua_State* L, const Evaluation& evaluation, const Value& result);

/// { device =, placement =, evaluation =, text = }
void push_single_device(lua_State* L, const Problem& problem, const SingleDevice& single);

/// Reads how to load a model: the settings of its group among a table's fields.
/// The state's settings fill what the table leaves open.
[[nodiscard]] LoadOptions read_load_options(const State& state, lua_State* L, Fields& fields);

/// A placement is an array: the device (1..) of every op.
void read_placement(const Value& value, const Problem& problem, Placement& out);

/// An array of placements; `name` is what an error calls it.
[[nodiscard]] std::vector<Placement> read_placements(lua_State* L, const Value& list,
                                                     const Problem& problem,
                                                     const std::string& name);

void push_trace(lua_State* L, const StepTrace& trace);
void push_plugin(lua_State* L, const PluginInfo& info);
void push_options(lua_State* L, const std::map<std::string, OptionValue, std::less<>>& options);

}  // namespace berth::lua
