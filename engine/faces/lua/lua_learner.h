// A policy that learns, written in Lua. The host runs the episodes: it asks the agent for the devices of
// one step after another, measures, and keeps what the agent wants to remember (its tape) with the
// rollout. It also places, as learned policies in C++ do (berth/sdk/learning.h, refine).
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "berth/sdk/learning.h"
#include "berth/support/text.h"
#include "call.h"
#include "environment_object.h"
#include "lua_policy.h"

namespace berth::lua {

struct LuaTape : Rollout::Tape {
  LuaTape(State& state, lua_State* L, int index, std::shared_ptr<const Reference> of,
          std::int64_t seen)
      : table(state, L, index), agent(std::move(of)), updates(seen) {}
  Reference table;
  std::shared_ptr<const Reference> agent;  ///< that filled it
  std::int64_t updates;                    ///< that it had seen
};

class LuaLearner final : public LearnedPolicy, public DistributedLearner {
 public:
  /// Makes the agent, with the weights that the options name. Throws Error.
  LuaLearner(State& state, std::shared_ptr<const PolicyDefinition> definition,
             const OptionTexts& options);

  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override;
  void rollout(std::span<Evaluator* const> evaluators, const RolloutOptions& options,
               Rollout& out) override;
  UpdateReport update(const Rollout& rollout, std::span<const double> advantages,
                      const UpdateOptions& options) override;
  void save(const std::filesystem::path& file, const std::string& text) const override;
  std::string load(const std::filesystem::path& file) override;
  [[nodiscard]] std::int64_t parameter_count() const override;
  void prepare(std::span<Evaluator* const> evaluators) override;
  [[nodiscard]] std::vector<float> weights() const override;
  void set_weights(std::span<const float> weights) override;
  UpdateReport gradient(const Rollout& rollout, std::span<const double> advantages,
                        const UpdateOptions& options, std::vector<float>& out) override;
  double step(std::span<const float> gradient, const UpdateOptions& options) override;

  // Training by many processes where an update is more than a gradient: what was seen is sent to the one
  // process that learns.

  /// Whether the policy exchanges episodes; otherwise it exchanges gradients, or nothing.
  [[nodiscard]] bool sends_episodes() const { return learns().unpack != nullptr; }
  /// The rollout's tape and its advantages as bytes. Throws what `update` throws.
  std::string pack(const Rollout& rollout, std::span<const double> advantages);
  /// As `update`, of episodes that were packed elsewhere by policies with these weights, or older ones.
  /// `packed` refers to an array of texts, `problems` to an array by text of arrays of problems.
  UpdateReport learn(const Reference& packed, const Reference& problems,
                     const UpdateOptions& options);

 private:
  /// Throws Error where this rollout teaches nothing.
  [[nodiscard]] const LuaTape& require_tape(const Rollout& rollout,
                                            std::span<const double> advantages,
                                            const UpdateOptions& options) const;
  void call_learning(lua_State* L, const Reference& function, const char* called,
                     const LuaTape& tape, const Rollout& rollout,
                     std::span<const double> advantages, const UpdateOptions& options,
                     int results) const;
  /// Throws Error where its weights are its own.
  void require_sharing() const;
  void require_gradients() const;
  void check_values(std::span<const float> values, const char* what) const;
  [[nodiscard]] const LearnsDefinition& learns() const { return *definition_->learns(); }

  /// body(L) on the host's thread, with the stack as it was afterwards; errors name the policy.
  template <typename Body>
  void in_lua(const Body& body) const {
    if (std::this_thread::get_id() != state_.thread) {
      throw Error(ErrorCode::unsupported,
                  cat("the policy '", name(),
                      "' is written in Lua and works only on the thread of its host"));
    }
    const NestedCallback nested(state_);
    lua_State* L = running_thread(state_);
    const StackGuard guard(L);
    reserve_stack(L, 24);
    try {
      body(L);
    } catch (const Error& error) {
      throw Error(error.code(), cat("the policy '", name(), "': ", error.what()));
    }
  }

  /// As call_protected; where the error is none of a script's line, it names the function.
  void protected_call(lua_State* L, int arguments, int results, const char* function) const {
    try {
      call_protected(state_, L, arguments, results, Traceback::no);
    } catch (const Error& error) {
      throw Error(error.code(), cat("`", function, "`: ", error.what()));
    }
  }

  /// Placements decided at once, one simulation each; false where `should_stop` ended it.
  bool draw(std::span<Evaluator* const> evaluators, const RolloutOptions& options, Rollout& out);
  /// Reads the values at the top of the stack, which `whole` returned.
  void read_placements(lua_State* L, std::span<Evaluator* const> evaluators,
                       std::vector<std::vector<Placement>>& placements, Rollout& out) const;
  /// The environment that shows `evaluators` from `starts`; it ends with the loan.
  std::shared_ptr<EnvironmentObject> environment_for(std::span<Evaluator* const> evaluators,
                                                     const std::vector<EpisodeStart>& starts);
  /// Pushes what an agent is told of a rollout.
  static void push_rollout_options(lua_State* L, const RolloutOptions& options);
  /// The episodes, stepped by the agent; false where `should_stop` ended them.
  bool run(lua_State* L, const std::shared_ptr<EnvironmentObject>& environment, int tape,
           const RolloutOptions& options, Rollout& out);

  /// Evaluation before a whole placement: of the best single device, else of `zero`. Kept.
  const Evaluation& reference_of(Evaluator& evaluator, const Environment::Episode& zero);

  struct ReferenceOf {
    Problem problem;
    bool measured;
    Evaluation evaluation;
  };

  State& state_;
  std::shared_ptr<const PolicyDefinition> definition_;
  Options options_;
  std::vector<ReferenceOf> references_;
  std::shared_ptr<const Reference> agent_;
  std::int64_t updates_ = 0;  ///< of the agent's weights
  Weights began_with_ = Weights::fresh;
  std::int64_t changes_ = 0;  ///< updates since then that changed the weights
};

}  // namespace berth::lua
