#include "values.h"

#include <cmath>
#include <cstdio>

#include "berth/evaluator.h"
#include "berth/support/text.h"
#include "call.h"
#include "settings_values.h"
#include "state.h"
#include "support/enum_name.h"

namespace berth::lua {
namespace {

const char kEvaluationMetatable = 0;  // its address is the key in the registry

void* evaluation_key() {
  return const_cast<char*>(&kEvaluationMetatable);
}

double field_number(lua_State* L, int index, const char* key) {
  lua_pushstring(L, key);
  lua_rawget(L, index);
  const double value = lua_tonumber(L, -1);
  lua_pop(L, 1);
  return value;
}

/// "runtime 1234.5 us, feasible": what `print(problem:evaluate(placement))` shows.
int evaluation_text(Call& call) {
  lua_State* L = call.L;
  call.argument(1, "evaluation").require_table();
  const double load = field_number(L, 1, "max_load_us");
  const double runtime = field_number(L, 1, "runtime_us");
  lua_getfield(L, 1, "feasible");
  const bool feasible = lua_toboolean(L, -1) != 0;
  char text[160];
  std::snprintf(text, sizeof text, "%s %.6g us, %s", load > 0 ? "largest load" : "runtime",
                load > 0 ? load : runtime,
                feasible                                 ? "feasible"
                : field_number(L, 1, "excess_bytes") > 0 ? "out of memory"
                                                         : "not apart what is separated");
  std::string result = text;
  if (!feasible && field_number(L, 1, "excess_bytes") == 0) {
    std::snprintf(text, sizeof text, " on device %.0f", field_number(L, 1, "worst_device"));
    result += text;
  } else if (!feasible) {
    std::snprintf(text, sizeof text, " by %.0f bytes on device %.0f",
                  field_number(L, 1, "excess_bytes"), field_number(L, 1, "worst_device"));
    result += text;
  }
  return call.text(result);
}

constexpr Binding kEvaluationText{"berth.tostring", &evaluation_text};

/// Pushes the array `key` of the table at `index`, made where it is not there.
void push_array_field(lua_State* L, int index, const char* key, std::size_t size) {
  lua_getfield(L, index, key);
  if (lua_istable(L, -1)) return;
  lua_pop(L, 1);
  lua_createtable(L, static_cast<int>(size), 0);
  lua_pushvalue(L, -1);
  lua_setfield(L, index, key);
}

template <typename T>
void fill_array(lua_State* L, int index, const char* key, const std::vector<T>& values) {
  push_array_field(L, index, key, values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    lua_pushnumber(L, static_cast<double>(values[i]));
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
  lua_pop(L, 1);
}

constexpr std::string_view kReasons[] = {"start", "input", "device_busy", "link_busy"};
static_assert(ends_with(kReasons, CriticalStep::Reason::link_busy));

constexpr std::string_view kOptionTypes[] = {"boolean", "integer", "real", "text"};
static_assert(ends_with(kOptionTypes, OptionType::text));

}  // namespace

void push_numbers(lua_State* L, std::span<const double> values) {
  push_array(L, values, [L](double value) { lua_pushnumber(L, value); });
}

void push_integers(lua_State* L, std::span<const std::int64_t> values) {
  push_array(L, values, [L](std::int64_t value) { lua_pushnumber(L, static_cast<double>(value)); });
}

void push_ids(lua_State* L, std::span<const std::int32_t> values) {
  push_array(L, values, [L](std::int32_t value) { lua_pushnumber(L, value + 1.0); });
}

void push_texts(lua_State* L, std::span<const std::string> values) {
  push_array(L, values,
             [L](const std::string& value) { lua_pushlstring(L, value.data(), value.size()); });
}

void set_number(lua_State* L, const char* key, double value) {
  lua_pushnumber(L, value);
  lua_setfield(L, -2, key);
}

void set_bytes(lua_State* L, const char* key, std::int64_t value) {
  set_number(
      L, key,
      value == kNoLimit ? std::numeric_limits<double>::infinity() : static_cast<double>(value));
}

void set_id(lua_State* L, const char* key, std::int32_t value) {
  if (value < 0) {
    lua_pushnil(L);
  } else {
    lua_pushnumber(L, value + 1.0);
  }
  lua_setfield(L, -2, key);
}

void set_boolean(lua_State* L, const char* key, bool value) {
  lua_pushboolean(L, value);
  lua_setfield(L, -2, key);
}

void set_text(lua_State* L, const char* key, std::string_view value) {
  lua_pushlstring(L, value.data(), value.size());
  lua_setfield(L, -2, key);
}

void set_numbers(lua_State* L, const char* key, std::span<const double> values) {
  push_numbers(L, values);
  lua_setfield(L, -2, key);
}

void set_ids(lua_State* L, const char* key, std::span<const std::int32_t> values) {
  push_ids(L, values);
  lua_setfield(L, -2, key);
}

void set_texts(lua_State* L, const char* key, std::span<const std::string> values) {
  push_texts(L, values);
  lua_setfield(L, -2, key);
}

void set_evaluation(lua_State* L, const char* key, const Evaluation& evaluation) {
  push_evaluation(L, evaluation);
  lua_setfield(L, -2, key);
}

void register_evaluation(State& state, lua_State* L) {
  lua_pushlightuserdata(L, evaluation_key());
  lua_newtable(L);
  push_binding(state, L, kEvaluationText);
  lua_setfield(L, -2, "__tostring");
  lua_rawset(L, LUA_REGISTRYINDEX);
}

int return_evaluation(lua_State* L, const Evaluation& evaluation, const Value& result) {
  if (!result.present()) {
    push_evaluation(L, evaluation);
    return 1;
  }
  result.require_table();
  fill_evaluation(L, result.index(), evaluation);
  lua_pushvalue(L, result.index());
  return 1;
}

void push_evaluation(lua_State* L, const Evaluation& evaluation) {
  reserve_stack(L, 4);
  lua_createtable(L, 0, 8);
  fill_evaluation(L, lua_gettop(L), evaluation);
  lua_pushlightuserdata(L, evaluation_key());
  lua_rawget(L, LUA_REGISTRYINDEX);
  lua_setmetatable(L, -2);
}

void fill_evaluation(lua_State* L, int index, const Evaluation& evaluation) {
  reserve_stack(L, 4);
  lua_pushvalue(L, index);
  set_number(L, "objective_us", evaluation.objective_us);
  set_number(L, "runtime_us", evaluation.runtime_us);
  set_number(L, "max_load_us", evaluation.max_load_us);
  set_boolean(L, "feasible", evaluation.feasible);
  set_id(L, "worst_device", evaluation.worst_device);
  set_bytes(L, "excess_bytes", evaluation.excess_bytes);
  fill_array(L, lua_gettop(L), "peak_bytes", evaluation.peak_bytes);
  fill_array(L, lua_gettop(L), "busy_us", evaluation.busy_us);
  lua_pop(L, 1);
}

void push_single_device(lua_State* L, const Problem& problem, const SingleDevice& single) {
  reserve_stack(L, 4);
  lua_newtable(L);
  set_id(L, "device", single.device);
  set_text(L, "text", single_device_text(problem, single));
  set_ids(L, "placement", single.placement);
  set_evaluation(L, "evaluation", single.evaluation);
}

LoadOptions read_load_options(const State& state, lua_State* L, Fields& fields) {
  Settings settings = state.settings;
  settings.add(read_settings(L, fields, SettingGroup::model));
  return settings.load;
}

void read_placement(const Value& value, const Problem& problem, Placement& out) {
  value.ids(problem.graph().op_count(), problem.cluster().device_count(), out);
}

std::vector<Placement> read_placements(lua_State* L, const Value& list, const Problem& problem,
                                       const std::string& name) {
  list.require_table();
  reserve_stack(L, 8);
  std::vector<Placement> placements(lua_objlen(L, list.index()));
  for (std::size_t i = 0; i < placements.size(); ++i) {
    const StackGuard guard(L);
    lua_rawgeti(L, list.index(), static_cast<int>(i) + 1);
    const std::string entry = cat(name, "[", i + 1, "]");
    read_placement(Value(L, lua_gettop(L), entry.c_str(), /*argument=*/0), problem, placements[i]);
  }
  return placements;
}

void push_trace(lua_State* L, const StepTrace& trace) {
  reserve_stack(L, 8);
  lua_newtable(L);
  set_number(L, "runtime_us", trace.runtime_us);
  set_numbers(L, "op_start_us", trace.op_start_us);
  set_numbers(L, "op_end_us", trace.op_end_us);
  push_records(L, trace.transfers, [L](const Transfer& transfer) {
    set_id(L, "tensor", transfer.tensor);
    set_id(L, "producer", transfer.producer);
    set_id(L, "src", transfer.src);
    set_id(L, "dst", transfer.dst);
    set_bytes(L, "bytes", transfer.bytes);
    set_number(L, "queued_us", transfer.queued_us);
    set_number(L, "start_us", transfer.start_us);
    set_number(L, "end_us", transfer.end_us);
  });
  lua_setfield(L, -2, "transfers");
  push_records(L, trace.devices, [L](const DeviceUsage& device) {
    set_number(L, "busy_us", device.busy_us);
    set_number(L, "idle_us", device.idle_us);
    set_bytes(L, "peak_bytes", device.peak_bytes);
    set_bytes(L, "param_bytes", device.param_bytes);
    set_number(L, "peak_us", device.peak_us);
    set_id(L, "peak_op", device.peak_op);
  });
  lua_setfield(L, -2, "devices");
  push_records(L, trace.links, [L](const LinkUsage& link) {
    set_id(L, "src", link.src);
    set_id(L, "dst", link.dst);
    set_bytes(L, "bytes", link.bytes);
    set_number(L, "transfers", link.transfers);
    set_number(L, "busy_us", link.busy_us);
  });
  lua_setfield(L, -2, "links");
  push_records(L, trace.critical_path, [L](const CriticalStep& step) {
    set_id(L, "op", step.op);
    set_id(L, "transfer", step.transfer);
    set_number(L, "start_us", step.start_us);
    set_number(L, "end_us", step.end_us);
    set_text(L, "reason", name_of(kReasons, step.reason));
  });
  lua_setfield(L, -2, "critical_path");
}

void push_plugin(lua_State* L, const PluginInfo& info) {
  reserve_stack(L, 8);
  lua_newtable(L);
  set_text(L, "kind", plugin_kind_name(info.kind));
  set_text(L, "name", info.name);
  set_text(L, "version", info.version);
  set_text(L, "description", info.description);
  set_text(L, "file", info.file.string());
  push_records(L, info.options, [L](const PluginInfo::Option& option) {
    set_text(L, "name", option.name);
    set_text(L, "type", name_of(kOptionTypes, option.type));
    set_text(L, "default", option.default_value);
    set_text(L, "meaning", option.meaning);
    set_text(L, "allowed", option.allowed);
    const OptionRange& range = option.range;
    if (std::isfinite(range.least)) {
      set_number(L, range.above_least ? "above" : "at_least", range.least);
    }
    if (std::isfinite(range.most))
      set_number(L, range.below_most ? "below" : "at_most", range.most);
    if (range.divisor > 1) set_number(L, "multiple_of", static_cast<double>(range.divisor));
    if (!option.choices.empty()) {
      set_texts(L, "choices", option.choices);
    }
  });
  lua_setfield(L, -2, "options");
}

void push_options(lua_State* L, const std::map<std::string, OptionValue, std::less<>>& options) {
  reserve_stack(L, 4);
  lua_newtable(L);
  for (const auto& [key, value] : options) {
    if (const auto* flag = std::get_if<bool>(&value)) {
      set_boolean(L, key.c_str(), *flag);
    } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      set_number(L, key.c_str(), static_cast<double>(*integer));
    } else if (const auto* real = std::get_if<double>(&value)) {
      set_number(L, key.c_str(), *real);
    } else {
      set_text(L, key.c_str(), std::get<std::string>(value));
    }
  }
}

}  // namespace berth::lua
