#include "policy_call.h"

#include <tuple>

#include "berth/error.h"
#include "berth/support/clock.h"

namespace berth::lua {
namespace {

constexpr const char* kEnded =
    "ended: the time is over, and the policy has not asked whether it is; ask "
    "context:should_stop() in "
    "every loop, and return the best placement then";

void fail(lua_State* L, lua_Debug* /*info*/) {
  luaL_error(L, kEnded);
}

}  // namespace

PolicyCall::PolicyCall(State& state, const Problem& problem, const PlaceContext& context)
    : state_(state), outer_(state.policy_call), problem_(problem), context_(context) {
  state.policy_call = this;
}

PolicyCall::~PolicyCall() {
  state_.policy_call = outer_;
  if (ended_) lua_sethook(running_thread(state_), nullptr, 0, 0);
}

void PolicyCall::tell_all(const State& state) {
  for (PolicyCall* call = state.policy_call; call != nullptr; call = call->outer_) {
    call->told_ = true;
  }
}

bool PolicyCall::asked() {
  if (!context_.stopped()) return false;
  told_ = true;
  return true;
}

void PolicyCall::keep(std::span<const DeviceId> placement, bool feasible, double objective_us) {
  if (!best_.empty() &&
      std::tuple(!feasible, objective_us) >= std::tuple(!best_feasible_, best_us_)) {
    return;
  }
  Placement better(placement.begin(), placement.end());
  try {
    problem_.validate(better);
  } catch (const Error&) {
    return;  // evaluators take what breaks separations
  }
  best_ = std::move(better);
  best_feasible_ = feasible;
  best_us_ = objective_us;
}

bool PolicyCall::over() {
  if (told_ || !context_.stopped()) return false;
  if (!over_since_) over_since_ = Clock::now();
  return true;
}

void PolicyCall::heed() {
  if (!over()) return;
  if (!ended_ && seconds_since(*over_since_) < state_.patience_s) return;
  ended_ = true;
  lua_State* const L = running_thread(state_);
  // Compiled code calls no hooks.
  luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_FLUSH);
  lua_sethook(L, &fail, LUA_MASKCOUNT, 1);
  throw Error(ErrorCode::cancelled, kEnded);
}

}  // namespace berth::lua
