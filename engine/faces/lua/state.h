// The state of one Host beside its lua_State, and the ways in and out of protected calls.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <lua.hpp>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "berth/engine.h"
#include "berth/error.h"
#include "berth/settings.h"

namespace berth::lua {

class PolicyCall;
class PolicyDefinition;

struct State {
  State(Engine& engine_, std::filesystem::path library_folder_);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Engine& engine;
  std::filesystem::path library_folder;
  lua_State* main = nullptr;
  /// The Lua thread (coroutine) that runs now: callbacks from C++ must go there, since a thread
  /// that waits for another must not be called.
  lua_State* current = nullptr;
  std::thread::id thread = std::this_thread::get_id();
  std::int64_t live_objects = 0;
  std::int64_t collect_at = 32;  ///< live objects at which collect_when_due collects
  int callback_depth = 0;
  /// The settings in force where a script names nothing itself: BERTH_CONFIG's, and a --config's.
  Settings settings;
  int threads = 0;  ///< of policies and evaluators that are told no number; 0 = one per core
  std::function<bool()> should_stop;
  double patience_s = 2;              ///< see Host::set_patience
  PolicyCall* policy_call = nullptr;  ///< of the policy that runs now
  std::function<void(const std::string&)> progress;
  /// The last Error turned into a Lua error. A Lua error has only a text; where that text comes
  /// back unchanged, the Error it came from tells the code.
  struct Raised {
    ErrorCode code = ErrorCode::invalid_argument;
    std::string message;
  } raised;
  std::map<std::string, std::shared_ptr<const PolicyDefinition>, std::less<>> policies;
};

/// Restores the stack's height when it goes.
class StackGuard {
 public:
  explicit StackGuard(lua_State* L) : L_(L), top_(lua_gettop(L)) {}
  ~StackGuard() { lua_settop(L_, top_); }
  StackGuard(const StackGuard&) = delete;
  StackGuard& operator=(const StackGuard&) = delete;

 private:
  lua_State* L_;
  int top_;
};

/// The Lua thread to call from C++ now.
inline lua_State* running_thread(const State& state) {
  return state.current != nullptr ? state.current : state.main;
}

/// A Lua value that C++ keeps. [the host's thread]
class Reference {
 public:
  /// Refers to the value at `index` of L.
  Reference(State& state, lua_State* L, int index);
  ~Reference();
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;
  void push(lua_State* L) const { lua_rawgeti(L, LUA_REGISTRYINDEX, key_); }

 private:
  State& state_;
  int key_;
};

/// Collects garbage if there are many more C++ objects than the last time. Lua's collector sees
/// only a few bytes of each, and would let the memory behind them grow without limit.
void collect_when_due(State& state, lua_State* L);

/// The message handler of every protected call: makes a text of the error value.
/// Upvalue 1: whether to add the stack.
int describe_error(lua_State* L);

/// Whether an error's text gets the stack it came from.
enum class Traceback { no, yes };

/// Calls the function below its `arguments` on the stack and leaves `results` values. A Lua error
/// becomes an Error whose text starts with the script's line.
void call_protected(State& state, lua_State* L, int arguments, int results, Traceback traceback);

/// Loads a source file (never bytecode, which can break the VM) as a function on the stack.
/// Throws Error(not_found, io) for the file, Error(invalid_file) for its syntax.
void load_source(lua_State* L, const std::filesystem::path& file);

/// Makes room for `slots` values on the stack. Throws Error if Lua's limit is reached.
void reserve_stack(lua_State* L, int slots);

/// Runs the script; see Host::run_script. A traceback is for who wrote what is run: the author of a file
/// that a setting names gets the line alone, as of an option.
void run_script(State& state, const std::filesystem::path& script,
                const std::vector<std::string>& args, Traceback traceback);

}  // namespace berth::lua
