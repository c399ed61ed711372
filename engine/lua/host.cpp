#include "host.h"

#include <algorithm>

#include "bindings.h"
#include "lua_policy.h"
#include "state.h"

namespace berth::lua {

Host::Host(Engine& engine, std::filesystem::path library_folder)
    : state_(std::make_unique<State>(engine, std::move(library_folder))) {}

Host::~Host() = default;

void Host::run_script(const std::filesystem::path& script, const std::vector<std::string>& args) {
  lua::run_script(*state_, script, args);
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

std::int64_t Host::live_objects() const noexcept {
  return state_->live_objects;
}

void Host::collect_garbage() {
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
