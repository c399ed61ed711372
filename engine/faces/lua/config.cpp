// `--config FILE.lua`: a chunk that returns a table of settings.
#include <cstdlib>

#include "berth/error.h"
#include "berth/support/text.h"
#include "host.h"
#include "settings_values.h"
#include "state.h"
#include "value.h"
#include "values.h"

namespace berth::lua {
namespace {

/// A config computes a few values; one that goes on for this many instructions does not end.
constexpr int kMaxInstructions = 10'000'000;

/// Upper limit on a config's memory: far more than settings need, far less than a machine has.
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

/// The functions of the language that reach nothing: the rest of what luaopen_base brings reads files, runs
/// texts or prints.
void open_language(lua_State* L) {
  lua_pushvalue(L, LUA_GLOBALSINDEX);
  const int own = lua_gettop(L);
  lua_newtable(L);
  lua_replace(L, LUA_GLOBALSINDEX);
  lua_pushcfunction(L, &luaopen_base);
  lua_pushliteral(L, "");
  lua_call(L, 1, 0);
  for (const char* name : {"assert", "error", "ipairs", "next", "pairs", "select", "tonumber",
                           "tostring", "type", "unpack"}) {
    lua_getglobal(L, name);
    lua_setfield(L, own, name);
  }
  lua_pushvalue(L, own);
  lua_replace(L, LUA_GLOBALSINDEX);
  lua_settop(L, own - 1);
}

/// Runs in a protected call: opens the language and `math`, then calls the chunk, its argument.
int evaluate_config(lua_State* L) {
  open_language(L);
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
                cat(origin, ": a table expected: return { cluster = \"k80x4\", ... }, got ",
                    type_name_at(L, table.index())));
  }
  try {
    return read_settings(L, table, origin);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_file) throw;
    throw Error(ErrorCode::invalid_file, cat(origin, ": ", error.what()));
  }
}

}  // namespace

Settings Host::read_config(const std::filesystem::path& file) {
  const Sandbox sandbox;
  lua_State* L = sandbox.get();
  load_source(L, file);
  lua_pushcfunction(L, &evaluate_config);
  lua_insert(L, 1);
  lua_pushboolean(L, 0);
  lua_pushcclosure(L, &describe_error, 1);
  lua_insert(L, 1);
  const int status = lua_pcall(L, 1, 1, 1);
  if (status == LUA_ERRMEM) {
    throw Error(ErrorCode::invalid_file, cat(file.string(), ": the config needs more than ",
                                             kMaxBytes >> 20, " MiB; compute less in it"));
  }
  if (status != 0) {
    throw Error(
        ErrorCode::invalid_file,
        cat(lua_tostring(L, -1), "; a config returns a table of settings and can use only `math` (",
            file.string(), ")"));
  }
  Settings settings = config_from(L, file.string());
  find_beside(file, settings);
  return settings;
}

}  // namespace berth::lua
