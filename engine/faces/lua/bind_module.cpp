// Functions of the module that make no object.
#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "berth/engine.h"
#include "berth/support/replaced_file.h"
#include "berth/support/text.h"
#include "berth/version.h"
#include "bindings.h"
#include "call.h"
#include "lua_policy.h"
#include "policy_call.h"
#include "state.h"
#include "values.h"

namespace berth::lua {

namespace {

int plugins(Call& call) {
  push_array(call.L, all_plugins(call.state),
             [&](const PluginInfo& info) { push_plugin(call.L, info); });
  push_texts(call.L, call.state.engine.problems());
  return 2;
}

int clock(Call& call) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return call.number(std::chrono::duration<double>(now).count());
}

int should_stop(Call& call) {
  const bool stop = call.state.should_stop && call.state.should_stop();
  if (stop) PolicyCall::tell_all(call.state);
  return call.boolean(stop);
}

int progress(Call& call) {
  const std::string text = call.argument(1, "text").text();
  if (call.state.progress) call.state.progress(text);
  return 0;
}

int infeasible(Call& call) {
  throw Error(ErrorCode::infeasible, call.argument(1, "message").text());
}

/// The search path of plugins: beside the engine's library, then BERTH_PLUGIN_PATH without what
/// would mean the working directory.
std::vector<std::filesystem::path> library_folders() {
  std::vector<std::filesystem::path> folders;
  if (Dl_info engine{}; dladdr(reinterpret_cast<const void*>(&version), &engine) != 0) {
    const std::filesystem::path library = std::filesystem::absolute(engine.dli_fname);
    folders.push_back(library.parent_path() / "berth");
    folders.push_back(library.parent_path().parent_path() / "lib" /
                      "berth");  // linked into a program
  }
  const char* const variable = std::getenv("BERTH_PLUGIN_PATH");
  std::string_view rest = variable != nullptr ? variable : "";
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const std::filesystem::path folder = rest.substr(0, colon);
    if (folder.is_absolute()) folders.push_back(folder);
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return folders;
}

int module_file(Call& call) {
  const std::string name = call.argument(1, "name").text();
  call.state.engine.check_allowed("module_" + name);
  const std::string file = cat("module_", name, ".so");
  std::string searched;
  for (const std::filesystem::path& folder : library_folders()) {
    std::error_code ignored;
    if (std::filesystem::exists(folder / file, ignored)) return call.text((folder / file).string());
    searched += cat(searched.empty() ? "" : ", ", folder.string());
  }
  throw Error(ErrorCode::not_found,
              cat("no ", file, " in ", searched, "; install what berth.", name,
                  " needs (torch: Debian's libtorch-dev, or Berth's package with the learned "
                  "policies) and build again"));
}

int replaced_file(Call& call) {
  const std::filesystem::path path = call.argument(1, "path").text();
  std::error_code circle, ignored;
  // A folder cannot be written at all, which trying tells.
  if (is_in_place(path) && !std::filesystem::is_directory(path, ignored)) return 0;
  const std::filesystem::path file = behind_links(path, circle);
  return call.text((circle ? path : file).string());
}

int live_objects(Call& call) {
  return call.integer(call.state.live_objects);
}

int scripts_run(Call& call) {
  lua_getfield(call.L, LUA_REGISTRYINDEX, kScripts);
  const int scripts = lua_gettop(call.L);
  const int count =
      lua_istable(call.L, scripts) ? static_cast<int>(lua_objlen(call.L, scripts)) : 0;
  lua_createtable(call.L, count, 0);
  for (int i = 1; i <= count; ++i) {
    lua_rawgeti(call.L, scripts, i);
    lua_rawseti(call.L, -2, i);
  }
  return 1;
}

int end_with_failure(Call& call) {
  const std::string message = call.argument(1, "message").text();
  lua_getfield(call.L, LUA_REGISTRYINDEX, kFailure);
  if (!lua_isnil(call.L, -1)) return 0;
  lua_pushlstring(call.L, message.data(), message.size());
  lua_setfield(call.L, LUA_REGISTRYINDEX, kFailure);
  return 0;
}

constexpr Binding kFunctions[] = {
    {"berth.scripts_run", &scripts_run}, {"berth.end_with_failure", &end_with_failure},

    {"berth.plugins", &plugins},         {"berth.clock", &clock},
    {"berth.should_stop", &should_stop}, {"berth.progress", &progress},
    {"berth.infeasible", &infeasible},   {"berth.live_objects", &live_objects},
    {"berth.module_file", &module_file}, {"berth.replaced_file", &replaced_file}};

}  // namespace

std::span<const Binding> module_functions() {
  return kFunctions;
}

}  // namespace berth::lua
