// The learned side of a policy that has one.
#pragma once

#include "berth/policy.h"
#include "berth/sdk/learning.h"

namespace berth::test {

/// Throws std::bad_cast where the policy does not learn.
inline LearnedPolicy& learned(Policy& policy) {
  return dynamic_cast<LearnedPolicy&>(policy);
}

}  // namespace berth::test
