// `--config FILE.lua`: a chunk that returns a table of settings.
#include <cstdlib>

#include "berth/error.h"
#include "berth/support/text.h"
#include "constraint_values.h"
#include "host.h"
#include "state.h"
#include "value.h"
#include "values.h"

namespace berth::lua {
namespace {

/// A config computes a few values; one that goes on for this many instructions does not end.
constexpr int kMaxInstructions = 10'000'000;

enum class Kind { text, count, names, numbers, duration };

struct Setting {
  const char* key;
  Kind kind;
};
constexpr Setting kSettings[] = {
    {"cluster", Kind::text},   {"policy", Kind::text},     {"policies", Kind::names},
    {"objective", Kind::text}, {"semantics", Kind::text},  {"costs", Kind::text},
    {"groups", Kind::count},   {"grouping", Kind::text},   {"seed", Kind::count},
    {"threads", Kind::count},  {"budget", Kind::duration}, {"evaluator", Kind::text},
    {"backend", Kind::text},   {"clusters", Kind::names},  {"seeds", Kind::numbers},
    {"output", Kind::text},    {"annotate", Kind::text},   {"trace", Kind::text},
    {"svg", Kind::text},       {"csv", Kind::text},        {"certificate", Kind::text},
};

OptionValue read_setting(const Value& value, Kind kind) {
  switch (kind) {
    case Kind::text:
      return value.text();
    case Kind::count:
      return value.integer(0);
    case Kind::names: {
      if (value.is_text()) return value.text();
      std::string joined;
      for (const std::string& name : value.texts()) {
        joined += (joined.empty() ? "" : ",") + name;
      }
      return joined;
    }
    case Kind::numbers: {
      if (value.is_text()) return value.text();
      if (value.is_number()) return std::to_string(value.integer(0));
      std::string joined;
      for (const std::int64_t number : value.integers(0, kMaxInteger)) {
        joined += (joined.empty() ? "" : ",") + std::to_string(number);
      }
      return joined;
    }
    case Kind::duration:
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

/// A file that a config names is looked for beside the config, wherever the command is started.
std::string beside(const std::filesystem::path& config, const std::string& name) {
  const bool is_file = name.find_first_of("/.") != std::string::npos;
  if (!is_file || std::filesystem::path(name).is_absolute()) return name;
  return (config.parent_path() / name).string();
}

void find_files(const std::filesystem::path& config, Config& settings) {
  for (const char* key : {"cluster", "costs", "policy"}) {
    const auto found = settings.settings.find(key);
    if (found == settings.settings.end()) continue;
    found->second = beside(config, std::get<std::string>(found->second));
  }
  for (const char* key : {"clusters", "policies"}) {
    const auto found = settings.settings.find(key);
    if (found == settings.settings.end()) continue;
    std::string joined;
    for (const std::string& name : split_names(std::get<std::string>(found->second))) {
      joined += (joined.empty() ? "" : ",") + beside(config, name);
    }
    found->second = joined;
  }
}

Config config_from(lua_State* L) {
  const Value table(L, lua_gettop(L), "config", /*argument=*/0);
  if (!table.is_table()) {
    throw Error(ErrorCode::invalid_file,
                cat("a table expected: return { cluster = \"k80x4\", ... }, got ",
                    type_name_at(L, table.index())));
  }
  Fields fields(L, table);
  Config config;
  for (const Setting& setting : kSettings) {
    const Value value = fields.get(setting.key);
    if (value.present()) config.settings[setting.key] = read_setting(value, setting.kind);
  }
  if (const Value options = fields.get("options"); options.present()) {
    config.options = options.options();
  }
  if (const Value constraints = fields.get("constraints"); constraints.present()) {
    config.constraints = read_constraints(L, constraints);
  }
  config.load = read_load_options(L, fields);
  fields.finish();
  return config;
}

}  // namespace

Config Host::read_config(const std::filesystem::path& file) {
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
    Config config = config_from(L);
    find_files(file, config);
    return config;
  } catch (const Error& error) {
    throw Error(ErrorCode::invalid_file, cat(file.string(), ": ", error.what()));
  }
}

}  // namespace berth::lua
