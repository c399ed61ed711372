#include "bindings.h"

#include <array>

#include "berth/version.h"
#include "environment_object.h"
#include "learning.h"
#include "objects.h"
#include "values.h"

namespace berth::lua {

std::span<const Type* const> bound_types() {
  static const std::array types = {
      &type_of<Graph>(),         &type_of<GraphBuilder>(),
      &type_of<Cluster>(),       &type_of<Costs>(),
      &type_of<Groups>(),        &type_of<ProblemObject>(),
      &type_of<PolicyObject>(),  &type_of<EvaluatorObject>(),
      &type_of<ContextObject>(), &type_of<Random>(),
      &type_of<RolloutObject>(), &type_of<Program>(),
      &type_of<Backend>(),       &type_of<SessionObject>(),
      &type_of<MovesObject>(),   &type_of<EnvironmentObject>(),
      &type_of<Observation>(),
  };
  return types;
}

void push_module(State& state, lua_State* L) {
  register_evaluation(state, L);
  lua_newtable(L);
  const auto add = [&](std::span<const Binding> functions) {
    for (const Binding& function : functions) {
      push_binding(state, L, function);
      lua_setfield(L, -2, function.key());
    }
  };
  for (const Type* type : bound_types()) {
    register_type(state, L, *type);
    add(type->functions);
  }
  add(module_functions());
  lua_pushliteral(L, BERTH_VERSION_STRING);
  lua_setfield(L, -2, "version");
}

}  // namespace berth::lua
