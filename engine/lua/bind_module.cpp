// Functions of the module that make no object.
#include <chrono>

#include "berth/engine.h"
#include "bindings.h"
#include "call.h"
#include "lua_policy.h"
#include "state.h"
#include "values.h"

namespace berth::lua {

namespace {

int plugins(Call& call) {
  lua_newtable(call.L);
  int i = 0;
  for (const PluginInfo& info : all_plugins(call.state)) {
    push_plugin(call.L, info);
    lua_rawseti(call.L, -2, ++i);
  }
  push_texts(call.L, call.state.engine.problems());
  return 2;
}

int clock(Call& call) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return call.number(std::chrono::duration<double>(now).count());
}

int should_stop(Call& call) {
  return call.boolean(call.state.should_stop && call.state.should_stop());
}

int progress(Call& call) {
  const std::string text = call.argument(1, "text").text();
  if (call.state.progress) call.state.progress(text);
  return 0;
}

int infeasible(Call& call) {
  throw Error(ErrorCode::infeasible, call.argument(1, "message").text());
}

int live_objects(Call& call) {
  return call.integer(call.state.live_objects);
}

constexpr Binding kFunctions[] = {
    {"berth.plugins", &plugins},         {"berth.clock", &clock},
    {"berth.should_stop", &should_stop}, {"berth.progress", &progress},
    {"berth.infeasible", &infeasible},   {"berth.live_objects", &live_objects}};

}  // namespace

std::span<const Binding> module_functions() {
  return kFunctions;
}

}  // namespace berth::lua
