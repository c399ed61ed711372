// Constraints on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <vector>

#include "berth/constraints.h"

namespace berth::command {

/// Adds the options; what is given is appended to `rules`, which must outlive the parse.
void add_constraints(CLI::App& app, std::vector<ConstraintRule>& rules);

}  // namespace berth::command
