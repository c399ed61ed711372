// Policies written in Lua.
#pragma once

#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "berth/engine.h"
#include "berth/options.h"
#include "berth/policy.h"
#include "state.h"
#include "value.h"

namespace berth::lua {

/// What `berth.register_policy` was given: a descriptor and a function.
class PolicyDefinition {
 public:
  /// Reads { name =, description =, options = {...}, place = function }. Throws Error.
  PolicyDefinition(State& state, lua_State* L, const Value& table);

  [[nodiscard]] const std::string& name() const noexcept { return info_.name; }
  [[nodiscard]] const PluginInfo& info() const noexcept { return info_; }
  [[nodiscard]] const std::vector<OptionSpec>& specs() const noexcept { return specs_; }
  /// The `place` function.
  [[nodiscard]] const Reference& place() const noexcept { return *place_; }

 private:
  void read_options(lua_State* L, const Value& list);

  PluginInfo info_;
  std::deque<std::string> texts_;  // what specs_ points to
  std::vector<OptionSpec> specs_;
  std::unique_ptr<const Reference> place_;
};

/// A policy registered in this host, the one that a script "*.lua" registers, or a plugin of the
/// engine. Errors as Host::make_policy.
std::unique_ptr<Policy> make_policy(State& state, const std::string& name,
                                    const OptionTexts& options);

/// Engine::plugins() and the policies registered here, by kind and name.
std::vector<PluginInfo> all_plugins(State& state);

}  // namespace berth::lua
