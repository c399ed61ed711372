// `--config FILE.lua`: a chunk that returns a table of settings.
#include <cstdlib>

#include "berth/error.h"
#include "berth/files.h"
#include "berth/support/text.h"
#include "cluster_values.h"
#include "constraint_values.h"
#include "host.h"
#include "state.h"
#include "value.h"
#include "values.h"

namespace berth::lua {
namespace {

/// A config computes a few values; one that goes on for this many instructions does not end.
constexpr int kMaxInstructions = 10'000'000;

OptionValue read_setting(const Value& value, SettingKind kind) {
  switch (kind) {
    case SettingKind::text:
      return value.text();
    case SettingKind::count:
      return value.integer(0);
    case SettingKind::names: {
      if (value.is_text()) return value.text();
      std::string joined;
      for (const std::string& name : value.texts()) {
        joined += (joined.empty() ? "" : ",") + name;
      }
      return joined;
    }
    case SettingKind::numbers: {
      if (value.is_text()) return value.text();
      if (value.is_number()) return std::to_string(value.integer(0));
      std::string joined;
      for (const std::int64_t number : value.integers(0, kMaxInteger)) {
        joined += (joined.empty() ? "" : ",") + std::to_string(number);
      }
      return joined;
    }
    case SettingKind::duration:
      if (value.is_text()) return value.text();
      if (!value.is_number() || !(value.number() >= 0)) {
        value.fail("a duration as text (\"30s\") or seconds >= 0");
      }
      return value.option();
  }
  throw Error(ErrorCode::invalid_argument, "unknown kind of setting");
}

/// What a config may allocate: far more than settings need, far less than a machine has.
constexpr std::size_t kMaxBytes = std::size_t{64} << 20;

/// lua_Alloc within kMaxBytes; `data` counts them.
void* allocate(void* data, void* block, std::size_t old_size, std::size_t new_size) {
  auto& used = *static_cast<std::size_t*>(data);
  const std::size_t before = block != nullptr ? old_size : 0;
  if (new_size == 0) {
    std::free(block);
    used -= before;
    return nullptr;
  }
  if (new_size > before && new_size - before > kMaxBytes - used) return nullptr;
  void* const moved = std::realloc(block, new_size);
  if (moved != nullptr) used = used - before + new_size;
  return moved;
}

/// A Lua state that has `math` and what the language itself gives, so that a config can compute
/// but reach nothing.
class Sandbox {
 public:
  Sandbox() : L_(lua_newstate(&allocate, &used_)) {
    if (L_ == nullptr) throw std::bad_alloc();
  }
  ~Sandbox() { lua_close(L_); }
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;
  [[nodiscard]] lua_State* get() const { return L_; }

 private:
  std::size_t used_ = 0;
  lua_State* L_;
};

/// Runs in a protected call: opens `math`, then calls the chunk, its argument.
int evaluate_config(lua_State* L) {
  lua_pushcfunction(L, &luaopen_math);
  lua_pushliteral(L, LUA_MATHLIBNAME);
  lua_call(L, 1, 0);
  luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);  // hooks do not run in compiled code
  const auto stop = [](lua_State* thread, lua_Debug* /*info*/) {
    luaL_where(thread, 0);
    lua_pushliteral(thread, "the config does not end");
    lua_concat(thread, 2);
    lua_error(thread);
  };
  lua_sethook(L, stop, LUA_MASKCOUNT, kMaxInstructions);
  lua_call(L, 0, 1);
  lua_sethook(L, nullptr, 0, 0);
  return 1;
}

Settings config_from(lua_State* L, const std::string& origin) {
  const Value table(L, lua_gettop(L), "config", /*argument=*/0);
  if (!table.is_table()) {
    throw Error(ErrorCode::invalid_file,
                cat("a table expected: return { cluster = \"k80x4\", ... }, got ",
                    type_name_at(L, table.index())));
  }
  Fields fields(L, table);
  Settings settings;
  for (const SettingKey& key : setting_keys()) {
    const Value value = fields.get(key.name);
    if (!value.present()) continue;
    // A machine of one's own, as the text of the file that would hold it.
    const bool machine = std::string_view(key.name) == "cluster" && value.is_table();
    settings.values[key.name] =
        machine ? cluster_json(*read_cluster(L, value)) : read_setting(value, key.kind);
    settings.origins[key.name] = origin;
  }
  if (const Value options = fields.get("options"); options.present()) {
    settings.options = options.options();
    for (const auto& [name, value] : settings.options) {
      settings.origins["options." + name] = origin;
    }
  }
  if (const Value constraints = fields.get("constraints"); constraints.present()) {
    settings.constraints = read_constraints(L, constraints);
    settings.origins["constraints"] = origin;
  }
  settings.load = read_load_options(L, fields);
  fields.finish();
  return settings;
}

}  // namespace

Settings Host::read_config(const std::filesystem::path& file) {
  const Sandbox sandbox;
  lua_State* L = sandbox.get();
  load_source(L, file);
  lua_pushcfunction(L, &evaluate_config);
  lua_insert(L, 1);
  const int status = lua_pcall(L, 1, 1, 0);
  if (status == LUA_ERRMEM) {
    throw Error(ErrorCode::invalid_file, cat(file.string(), ": the config needs more than ",
                                             kMaxBytes >> 20, " MiB; compute less in it"));
  }
  if (status != 0) {
    const char* text = lua_tostring(L, -1);
    throw Error(ErrorCode::invalid_file,
                cat(text != nullptr ? text : "out of memory",
                    "; a config returns a table of settings and can use only `math` (",
                    file.string(), ")"));
  }
  try {
    Settings settings = config_from(L, file.string());
    find_beside(file, settings);
    return settings;
  } catch (const Error& error) {
    throw Error(ErrorCode::invalid_file, cat(file.string(), ": ", error.what()));
  }
}

}  // namespace berth::lua
