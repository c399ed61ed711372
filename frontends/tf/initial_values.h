// What variables are before the first step.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/program.h"
#include "tf/program.h"

namespace berth::tf_frontend {

/// One attribute more of a variable's op: "initial_value", a tensor of the variable's shape or one
/// element that stands for all; "initial_uniform", two numbers that values are drawn between; or
/// "initial_normal", mean and standard deviation.
using InitialValue = std::pair<std::string, AttributeContent>;

/// By the name of the variable's op, for the variables in `wanted` whose initializer the file has
/// and whose value follows from constants and random numbers by multiplying and adding. The
/// graph's own initialization is no part of a step, and so it is not among a program's ops.
/// Truncated normal numbers count as normal ones. Contents are kept alive by `owner`.
[[nodiscard]] std::map<std::string_view, InitialValue> find_initial_values(
    const Library& library, const std::vector<std::string_view>& wanted,
    const std::shared_ptr<const void>& owner);

}  // namespace berth::tf_frontend
