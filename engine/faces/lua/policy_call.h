// One call of a Lua policy: it is ended where it does not ask whether to stop, and the best that it evaluated
// is kept for that.
#pragma once

#include <chrono>
#include <lua.hpp>
#include <optional>
#include <span>

#include "berth/policy.h"
#include "state.h"

namespace berth::lua {

/// A policy learns that its time is over by asking. One that does not ask calls its evaluator all the same,
/// which tells it by an error that it cannot go on after.
class PolicyCall {
 public:
  /// `context` and `problem` must outlive this.
  PolicyCall(State& state, const Problem& problem, const PlaceContext& context);
  /// Ends the errors of the policy, so that what runs after it goes on.
  ~PolicyCall();
  PolicyCall(const PolicyCall&) = delete;
  PolicyCall& operator=(const PolicyCall&) = delete;

  /// Whether to stop, as the policy asks: it then ends by itself.
  [[nodiscard]] bool asked();
  /// Lua has heard that it is to stop, and so have the policies that run.
  static void tell_all(const State& state);
  /// Takes what the policy found, if it is valid and better than what it had.
  void keep(std::span<const DeviceId> placement, bool feasible, double objective_us);
  /// Whether the time is over and the policy has not asked.
  [[nodiscard]] bool over();
  /// Throws Error(cancelled) where the time has been over for longer than the patience, and has whatever
  /// Lua runs then fail, so that no pcall goes on.
  void heed();

  [[nodiscard]] bool ended() const noexcept { return ended_; }
  /// Empty = it evaluated nothing that is valid.
  [[nodiscard]] const Placement& best() const noexcept { return best_; }

 private:
  using Clock = std::chrono::steady_clock;

  State& state_;
  PolicyCall* outer_;  ///< of a policy that places by this one
  const Problem& problem_;
  const PlaceContext& context_;
  std::optional<Clock::time_point> over_since_;  ///< none = the time is not known to be over
  bool told_ = false;                            ///< the policy has asked, and ends by itself
  bool ended_ = false;
  Placement best_;
  bool best_feasible_ = false;
  double best_us_ = 0;
};

}  // namespace berth::lua
