// The values of variables before the first step.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/sdk/program.h"
#include "tf/program.h"

namespace berth::tf_frontend {

/// An additional attribute of a variable's op. "initial_value" is a tensor of the variable's shape,
/// or one element for all. "initial_uniform" is two numbers between which values are drawn.
/// "initial_normal" is the mean and the standard deviation.
using InitialValue = std::pair<std::string, AttributeContent>;

/// Initial values by the name of the variable's op, for the variables in `wanted` whose initializer is in the file
/// and whose value follows from constants and random numbers by multiplication and addition. The
/// graph's own initialization is not part of a step, so it is not among a program's ops. Truncated
/// normal numbers count as normal ones. `owner` keeps the contents alive.
[[nodiscard]] std::map<std::string_view, InitialValue> find_initial_values(
    const Library& library, const std::vector<std::string_view>& wanted,
    const std::shared_ptr<const void>& owner);

}  // namespace berth::tf_frontend
