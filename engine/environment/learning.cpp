#include "berth/learning.h"

namespace berth {

Rollout::Tape::~Tape() = default;
LearnedPolicy::~LearnedPolicy() = default;

}  // namespace berth
