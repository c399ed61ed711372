// The methods of learned policies and of what they sample.
#pragma once

#include <memory>
#include <vector>

#include "berth/sdk/learning.h"
#include "objects.h"

namespace berth::lua {

class Call;
class Fields;
class Value;

struct RolloutObject {
  Rollout rollout;
  std::vector<std::shared_ptr<ProblemObject>> problems;  ///< whose evaluators it used
};

template <>
const Type& type_of<RolloutObject>();

/// One problem, or an array of them.
[[nodiscard]] std::vector<std::shared_ptr<ProblemObject>> problems_of(const Call& call,
                                                                      const Value& value);
/// Which episodes are asked for: samples, seed, traversal, initial. The last is "random" (or
/// nothing), the name of another start, or for every problem an array of placements.
void read_episodes(const Call& call, Fields& fields,
                   const std::vector<std::shared_ptr<ProblemObject>>& problems,
                   RolloutOptions& options);
/// The evaluators of each problem: `value`, an array of evaluators by problem, or
/// where it is absent the problems' own simulations.
[[nodiscard]] std::vector<std::shared_ptr<EvaluatorObject>> evaluators_of(
    const Call& call, const Value& value,
    const std::vector<std::shared_ptr<ProblemObject>>& problems);

/// Those, or where there are none the problems' own.
[[nodiscard]] std::vector<Evaluator*> chosen_evaluators(
    const std::vector<std::shared_ptr<ProblemObject>>& problems,
    const std::vector<std::shared_ptr<EvaluatorObject>>& measuring);

// Methods of a policy; each throws Error(unsupported) for one that does not learn.
int policy_rollout(Call& call);
int policy_update(Call& call);
int policy_save(Call& call);
int policy_load(Call& call);
int policy_parameters(Call& call);
int policy_prepare(Call& call);
int policy_weights(Call& call);
int policy_set_weights(Call& call);
int policy_gradient(Call& call);
int policy_step(Call& call);
int policy_exchanges(Call& call);
int policy_pack(Call& call);
int policy_learn(Call& call);
int policy_learns(Call& call);  ///< this one throws for none

}  // namespace berth::lua
