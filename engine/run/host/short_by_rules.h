// Rules that leave too little memory.
#pragma once

#include <string>

#include "berth/problem.h"

namespace berth {

/// "the constraint --pin '.*=gpu:0' leaves 132 GiB of parameters to gpu:0, which has 80.0 GiB": rules that keep
/// more on devices than these hold. Empty where what they leave would fit.
[[nodiscard]] std::string short_by_rules_text(const Problem& problem);

}  // namespace berth
