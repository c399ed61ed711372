#include "state.h"

#include <fstream>
#include <new>

#include "berth/files.h"
#include "berth/support/text.h"
#include "bindings.h"
#include "lua_policy.h"

namespace berth::lua {
namespace {

/// Opens the libraries; on its own so that running out of memory is an error and not a panic.
int open_libraries(lua_State* L) {
  State& state = *static_cast<State*>(lua_touserdata(L, 1));
  luaL_openlibs(L);
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "preload");
  push_module(state, L);
  lua_pushcclosure(
      L,
      [](lua_State* inner) {
        lua_pushvalue(inner, lua_upvalueindex(1));
        return 1;
      },
      1);
  lua_setfield(L, -2, "berth");
  return 0;
}

/// Lua's search path without its entries in the working directory: the meaning of a name in a
/// script must not depend on where the script was started.
std::string without_working_directory(const std::string& path) {
  std::string result;
  std::size_t begin = 0;
  while (begin < path.size()) {
    const std::size_t end = std::min(path.find(';', begin), path.size());
    const std::string entry = path.substr(begin, end - begin);
    if (entry.starts_with('/')) result += (result.empty() ? "" : ";") + entry;
    begin = end + 1;
  }
  return result;
}

std::string library_entry(const State& state) {
  return std::filesystem::absolute(state.library_folder).string() + "/?.lua;";
}

std::string package_field(lua_State* L, const char* field) {
  lua_getglobal(L, "package");
  lua_getfield(L, -1, field);
  const std::string value = lua_isstring(L, -1) ? lua_tostring(L, -1) : "";
  lua_pop(L, 2);
  return value;
}

void set_package_field(lua_State* L, const char* field, const std::string& value) {
  lua_getglobal(L, "package");
  lua_pushlstring(L, value.data(), value.size());
  lua_setfield(L, -2, field);
  lua_pop(L, 1);
}

/// `require` finds what lies beside a script, after the library. The folder stays: a policy of the
/// script may require something later.
void add_to_path(State& state, lua_State* L, const std::filesystem::path& folder) {
  const std::string library = library_entry(state);
  const std::string beside = folder.string() + "/?.lua;";
  const std::string path = package_field(L, "path");
  if (path.find(beside) != std::string::npos || !path.starts_with(library)) return;
  set_package_field(L, "path", library + beside + path.substr(library.size()));
}

/// Adds to the files that the host has run.
void note_script(lua_State* L, const std::string& path) {
  luaL_findtable(L, LUA_REGISTRYINDEX, kScripts, 1);
  lua_pushlstring(L, path.data(), path.size());
  lua_rawseti(L, -2, static_cast<int>(lua_objlen(L, -2)) + 1);
  lua_pop(L, 1);
}

/// Puts the global `arg` back when it goes.
class ArgumentsOfScript {
 public:
  ArgumentsOfScript(State& state, lua_State* L) : L_(L), before_(state, L, push_before(L)) {
    lua_pop(L, 1);
  }
  ~ArgumentsOfScript() {
    before_.push(L_);
    lua_setglobal(L_, "arg");
  }
  /// Whether a script runs already.
  [[nodiscard]] bool is_nested() const {
    before_.push(L_);
    const bool nested = lua_istable(L_, -1);
    lua_pop(L_, 1);
    return nested;
  }
  ArgumentsOfScript(const ArgumentsOfScript&) = delete;
  ArgumentsOfScript& operator=(const ArgumentsOfScript&) = delete;

 private:
  static int push_before(lua_State* L) {
    lua_getglobal(L, "arg");
    return lua_gettop(L);
  }

  lua_State* L_;
  Reference before_;
};

}  // namespace

State::State(Engine& engine_, std::filesystem::path library_folder_)
    : engine(engine_), library_folder(std::move(library_folder_)), main(luaL_newstate()) {
  if (main == nullptr) throw std::bad_alloc();
  if (lua_cpcall(main, &open_libraries, this) != 0) {
    lua_close(main);
    throw std::bad_alloc();
  }
  set_package_field(main, "cpath", without_working_directory(package_field(main, "cpath")));
  set_package_field(main, "path",
                    library_entry(*this) + without_working_directory(package_field(main, "path")));
}

State::~State() {
  policies.clear();
  lua_close(main);
}

int describe_error(lua_State* L) {
  if (lua_type(L, 1) != LUA_TSTRING && luaL_callmeta(L, 1, "__tostring") == 0) {
    lua_pushvalue(L, 1);
  }
  // A __tostring may return no text either.
  if (lua_tostring(L, -1) == nullptr) {
    lua_pushfstring(L, "(an error that is a %s instead of a text)", luaL_typename(L, 1));
  }
  if (lua_toboolean(L, lua_upvalueindex(1))) {
    luaL_traceback(L, L, lua_tostring(L, -1), 1);
  }
  return 1;
}

Reference::Reference(State& state, lua_State* L, int index) : state_(state) {
  reserve_stack(L, 1);
  lua_pushvalue(L, index);
  key_ = luaL_ref(L, LUA_REGISTRYINDEX);
}

Reference::~Reference() {
  luaL_unref(running_thread(state_), LUA_REGISTRYINDEX, key_);
}

void collect_when_due(State& state, lua_State* L) {
  if (state.live_objects < state.collect_at) return;
  lua_gc(L, LUA_GCCOLLECT, 0);
  constexpr std::int64_t kLeast = 32;
  state.collect_at = std::max(kLeast, 2 * state.live_objects);
}

void reserve_stack(lua_State* L, int slots) {
  if (lua_checkstack(L, slots) == 0) {
    throw Error(ErrorCode::invalid_argument,
                "too many values or nested calls for Lua's stack; recursion without an end?");
  }
}

void call_protected(State& state, lua_State* L, int arguments, int results, Traceback traceback) {
  reserve_stack(L, 3);
  const int function = lua_gettop(L) - arguments;
  lua_Debug called;
  lua_pushvalue(L, function);
  lua_getinfo(L, ">S", &called);
  lua_pushboolean(L, traceback == Traceback::yes);
  lua_pushcclosure(L, &describe_error, 1);
  lua_insert(L, function);
  const int status = lua_pcall(L, arguments, results, function);
  lua_remove(L, function);
  if (status == 0) return;

  const char* text = lua_tostring(L, -1);
  std::string message = text != nullptr ? text : "out of memory in Lua";
  // LuaJIT gives no position for an overflow inside compiled code, and calls no error handler.
  if (message == "stack overflow") {
    message = cat(called.short_src, ": stack overflow: a function calls itself without an end");
  }
  lua_pop(L, 1);
  // Text of an Error raised below, with positions before it and the traceback after it.
  const bool known =
      !state.raised.message.empty() && message.find(state.raised.message) != std::string::npos;
  throw Error(known ? state.raised.code : ErrorCode::invalid_argument, message);
}

void load_source(lua_State* L, const std::filesystem::path& file) {
  const std::string source = read_file(file);
  // A first line for the shell ("#!") becomes a comment, so that line numbers stay.
  const bool shell = source.starts_with('#');
  const std::string chunk = shell ? "--" + source : source;
  const std::string name = "@" + file.string();
  if (luaL_loadbufferx(L, chunk.data(), chunk.size(), name.c_str(), "t") == 0) return;
  const std::string message = lua_tostring(L, -1);
  lua_pop(L, 1);
  // The message names file and line, except for bytecode, of which there are no lines.
  throw Error(ErrorCode::invalid_file,
              message.find(':') != std::string::npos && !source.starts_with(LUA_SIGNATURE)
                  ? message
                  : cat(file.string(), ": a Lua source file expected: ", message));
}

void run_script(State& state, const std::filesystem::path& script,
                const std::vector<std::string>& args, Traceback traceback) {
  lua_State* L = running_thread(state);
  const StackGuard guard(L);
  reserve_stack(L, static_cast<int>(args.size()) + 10);
  // A script may run another one: `berth.policy "mine.lua"`.
  const ArgumentsOfScript outer(state, L);
  note_script(L, script.string());
  if (!outer.is_nested()) {
    lua_pushnil(L);
    lua_setfield(L, LUA_REGISTRYINDEX, kFailure);
  }
  load_source(L, script);

  lua_createtable(L, static_cast<int>(args.size()), 1);
  lua_pushstring(L, script.c_str());
  lua_rawseti(L, -2, 0);
  for (std::size_t i = 0; i < args.size(); ++i) {
    lua_pushlstring(L, args[i].data(), args[i].size());
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
  lua_setglobal(L, "arg");
  for (const std::string& argument : args) lua_pushlstring(L, argument.data(), argument.size());

  add_to_path(state, L, std::filesystem::absolute(script).parent_path());
  call_protected(state, L, static_cast<int>(args.size()), 0, traceback);
  // A script may run another one: the failure is that of the first.
  if (outer.is_nested()) return;
  lua_getfield(L, LUA_REGISTRYINDEX, kFailure);
  if (!lua_isstring(L, -1)) return;
  const std::string failure = lua_tostring(L, -1);
  lua_pushnil(L);
  lua_setfield(L, LUA_REGISTRYINDEX, kFailure);
  throw Error(ErrorCode::cancelled, failure);
}

}  // namespace berth::lua
