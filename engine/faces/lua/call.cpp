#include "call.h"

#include <exception>
#include <new>

#include "berth/support/text.h"
#include "state.h"

namespace berth::lua {
namespace {

/// Sets the running Lua thread for as long as a binding runs.
class RunningThread {
 public:
  RunningThread(State& state, lua_State* L) : state_(state), before_(state.current) {
    state.current = L;
  }
  ~RunningThread() { state_.current = before_; }
  RunningThread(const RunningThread&) = delete;
  RunningThread& operator=(const RunningThread&) = delete;

 private:
  State& state_;
  lua_State* before_;
};

/// Keeps the error where it outlives the catch block. No memory for the text leaves it empty.
void keep(State& state, const Binding& binding, ErrorCode code, const char* message) noexcept {
  state.raised.code = code;
  try {
    state.raised.message = cat(binding.name, ": ", message);
  } catch (const std::bad_alloc&) {
    state.raised.message.clear();
  }
}

/// Runs the body; -1 if it threw and `state.raised` says what.
int run_body(lua_State* L, State& state, const Binding& binding) noexcept(false) {
  try {
    RunningThread running(state, L);
    Call call(L, state, binding);
    return binding.body(call);
  } catch (const Error& error) {
    keep(state, binding, error.code(), error.what());
  } catch (const std::bad_alloc&) {
    keep(state, binding, ErrorCode::invalid_argument, "out of memory");
  } catch (const std::exception& error) {
    keep(state, binding, ErrorCode::invalid_argument, error.what());
  } catch (...) {
    // A plugin's own type, or LuaJIT itself out of memory: it unwinds by exceptions as well.
    keep(state, binding, ErrorCode::invalid_argument, "failed for an unknown reason");
  }
  return -1;
}

/// "script.lua:12: " of the nearest Lua function up the stack, or nothing.
void push_position(lua_State* L) {
  lua_Debug info;
  for (int level = 1; lua_getstack(L, level, &info) != 0; ++level) {
    lua_getinfo(L, "Sl", &info);
    if (info.currentline > 0) {
      lua_pushfstring(L, "%s:%d: ", info.short_src, info.currentline);
      return;
    }
  }
  lua_pushliteral(L, "");
}

}  // namespace

// lua_error does not return and may skip destructors, so nothing here has one: the body's objects
// and the exception are gone when run_body returns.
int enter_binding(lua_State* L) {
  const auto& binding = *static_cast<const Binding*>(lua_touserdata(L, lua_upvalueindex(1)));
  State& state = *static_cast<State*>(lua_touserdata(L, lua_upvalueindex(2)));
  const int results = run_body(L, state, binding);
  if (results >= 0) return results;
  lua_settop(L, 0);
  push_position(L);
  lua_pushlstring(L, state.raised.message.data(), state.raised.message.size());
  lua_concat(L, 2);
  return lua_error(L);
}

int Call::id(std::int32_t value) const {
  return value < 0 ? nil() : number(value + 1.0);
}

int Call::text_or_nil(std::string_view value) const {
  return value.empty() ? nil() : text(value);
}

const std::shared_ptr<void>& Call::self_of(const Type& type) const {
  const std::shared_ptr<void>* object = object_at(L, 1, type);
  if (object == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                cat(type.name, " expected before the colon, got ", type_name_at(L, 1),
                    "; a method is called as object:", binding.key(), "(...)"));
  }
  if (*object == nullptr) {
    throw Error(ErrorCode::invalid_argument, cat("this ", type.name, " was released"));
  }
  return *object;
}

}  // namespace berth::lua
