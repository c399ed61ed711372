#include "berth/learning.h"

namespace berth {

LearnedPolicy::~LearnedPolicy() = default;

}  // namespace berth
