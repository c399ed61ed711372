// Policies written in Lua.
#pragma once

#include <deque>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "berth/engine.h"
#include "berth/options.h"
#include "berth/policy.h"
#include "environment_object.h"
#include "state.h"
#include "value.h"

namespace berth::lua {

/// The parts of a policy that learns: functions of its agent, a value of Lua's that holds the
/// network. The first makes one from the options; the others take it as their first argument.
struct LearnsDefinition {
  LearnsDefinition(State& state, lua_State* L, const Value& table);

  Seen seen;  ///< of its environment
  std::unique_ptr<const Reference> make, update, save, load, parameters;
  /// One of the two: the devices of one step of all episodes, or whole placements at once.
  std::unique_ptr<const Reference> act, whole;
  /// For training by many processes; null where it is by one alone. Besides the weights these exchange
  /// gradients, or what was seen, from which the one that learns makes its `update`.
  std::unique_ptr<const Reference> weights, set_weights;
  std::unique_ptr<const Reference> gradient, step;
  std::unique_ptr<const Reference> pack, unpack;
};

/// The argument of `berth.register_policy`: a descriptor, and a function or a learning agent.
class PolicyDefinition {
 public:
  /// Reads { name =, description =, options = {...}, place = function or learns = {...} }. Throws
  /// Error.
  PolicyDefinition(State& state, lua_State* L, const Value& table);

  [[nodiscard]] const std::string& name() const noexcept { return info_.name; }
  [[nodiscard]] const PluginInfo& info() const noexcept { return info_; }
  [[nodiscard]] const std::vector<OptionSpec>& specs() const noexcept { return specs_; }
  /// Null where the policy learns.
  [[nodiscard]] const Reference* place() const noexcept { return place_.get(); }
  /// Null where it does not.
  [[nodiscard]] const LearnsDefinition* learns() const noexcept { return learns_.get(); }

 private:
  void read_options(lua_State* L, const Value& list);
  void add_option(PluginInfo::Option option);
  /// Adds those of learner_options() that the script does not have; throws Error where it has one of
  /// another type.
  void add_learner_options();

  PluginInfo info_;
  std::deque<std::string> texts_;  // what specs_ points to
  std::vector<OptionSpec> specs_;
  std::unique_ptr<const Reference> place_;
  std::unique_ptr<const LearnsDefinition> learns_;
};

/// The options of every policy that learns, as of those in C++. A script's own of the same name
/// takes the place of one.
[[nodiscard]] std::span<const OptionSpec> learner_options();

/// The policy of a definition that learns.
std::unique_ptr<Policy> make_learner(State& state,
                                     std::shared_ptr<const PolicyDefinition> definition,
                                     const OptionTexts& options);

/// A Lua policy may place with other policies; one that places with itself without an end must not
/// exhaust the C++ stack.
class NestedCallback {
 public:
  /// Throws Error where they are too many.
  explicit NestedCallback(State& state);
  ~NestedCallback() { --state_.callback_depth; }
  NestedCallback(const NestedCallback&) = delete;
  NestedCallback& operator=(const NestedCallback&) = delete;

 private:
  State& state_;
};

/// A policy registered in this host, the one that a script "*.lua" registers, or a plugin of the
/// engine. Errors as Host::make_policy.
std::unique_ptr<Policy> make_policy(State& state, const std::string& name,
                                    const OptionTexts& options);

/// Engine::plugins() and the policies registered here, by kind and name.
std::vector<PluginInfo> all_plugins(State& state);

}  // namespace berth::lua
