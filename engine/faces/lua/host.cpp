#include "host.h"

#include <algorithm>
#include <new>

#include "bindings.h"
#include "detect/here.h"
#include "lua_policy.h"
#include "state.h"

namespace berth::lua {
namespace {

/// Lua's `print` for a file (upvalue 1); the library's own knows C's stdout alone.
int print_to_file(lua_State* L) {
  auto* const file = static_cast<std::FILE*>(lua_touserdata(L, lua_upvalueindex(1)));
  const int count = lua_gettop(L);
  lua_getglobal(L, "tostring");
  for (int i = 1; i <= count; ++i) {
    lua_pushvalue(L, count + 1);
    lua_pushvalue(L, i);
    lua_call(L, 1, 1);
    std::size_t size = 0;
    const char* const text = lua_tolstring(L, -1, &size);
    if (text == nullptr) return luaL_error(L, "'tostring' must return a string to 'print'");
    if (i > 1) std::fputc('\t', file);
    std::fwrite(text, 1, size, file);
    lua_pop(L, 1);
  }
  std::fputc('\n', file);
  return 0;
}

/// A file handle is a FILE* first of all, in Lua 5.1 as in LuaJIT. That of io.stdout is never
/// closed by Lua, and is the default of io.write.
int redirect_output(lua_State* L) {
  void* const file = lua_touserdata(L, 1);
  lua_getglobal(L, "io");
  lua_getfield(L, -1, "stdout");
  *static_cast<std::FILE**>(luaL_checkudata(L, -1, LUA_FILEHANDLE)) = static_cast<std::FILE*>(file);
  lua_pushlightuserdata(L, file);
  lua_pushcclosure(L, &print_to_file, 1);
  lua_setglobal(L, "print");
  return 0;
}

}  // namespace

Host::Host(Engine& engine, std::filesystem::path library_folder)
    : state_(std::make_unique<State>(engine, std::move(library_folder))) {}

Host::~Host() = default;

void Host::run_script(const std::filesystem::path& script, const std::vector<std::string>& args) {
  lua::run_script(*state_, script, args, Traceback::yes);
}

std::unique_ptr<Policy> Host::make_policy(const std::string& name, const OptionTexts& options) {
  return lua::make_policy(*state_, name, options);
}

std::vector<PluginInfo> Host::plugins() {
  return all_plugins(*state_);
}

void Host::set_should_stop(std::function<bool()> should_stop) {
  state_->should_stop = std::move(should_stop);
}

void Host::set_patience(double seconds) {
  state_->patience_s = seconds;
}

void Host::set_threads(int threads) {
  state_->threads = threads;
}

void Host::set_settings(Settings settings) {
  detect::find_here(settings);
  state_->settings = std::move(settings);
}

void Host::set_output(std::FILE* output) {
  if (lua_cpcall(state_->main, &redirect_output, output) != 0) throw std::bad_alloc();
}

void Host::set_progress(std::function<void(const std::string&)> progress) {
  state_->progress = std::move(progress);
}

std::int64_t Host::live_objects() const noexcept {
  return state_->live_objects;
}

void Host::collect_garbage() {
  // Compiled code keeps the functions and objects that were constants when it was compiled.
  luaJIT_setmode(state_->main, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_FLUSH);
  // Twice: what the first round finalizes may hold what the second one frees.
  lua_gc(state_->main, LUA_GCCOLLECT, 0);
  lua_gc(state_->main, LUA_GCCOLLECT, 0);
}

std::vector<std::string> Host::bound_functions() {
  std::vector<std::string> names = {"object:release"};
  const auto add = [&](std::span<const Binding> bindings) {
    for (const Binding& binding : bindings) names.emplace_back(binding.name);
  };
  add(module_functions());
  for (const Type* type : bound_types()) {
    add(type->functions);
    add(type->methods);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace berth::lua
