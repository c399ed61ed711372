// The methods of learned policies and of what they sample.
#pragma once

#include <memory>
#include <vector>

#include "berth/learning.h"
#include "objects.h"

namespace berth::lua {

class Call;

struct RolloutObject {
  Rollout rollout;
  std::vector<std::shared_ptr<ProblemObject>> problems;  ///< whose evaluators it used
};

template <>
const Type& type_of<RolloutObject>();

// Methods of a policy; each throws Error(unsupported) for one that does not learn.
int policy_rollout(Call& call);
int policy_update(Call& call);
int policy_save(Call& call);
int policy_load(Call& call);
int policy_parameters(Call& call);
int policy_learns(Call& call);  ///< this one throws for none

}  // namespace berth::lua
