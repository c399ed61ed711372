// Branches written with Switch and Merge: a step runs one of those behind a condition.
#pragma once

#include <functional>
#include <vector>

#include "berth/graph.h"
#include "tf/loops.h"
#include "tf/program.h"

namespace berth::tf_frontend {

[[nodiscard]] bool has_old_branches(const Program& program);

/// Whether it is in a branch that does not count, by node. The one with the most work counts, as of If.
[[nodiscard]] std::vector<bool> find_smaller_branches(const Program& program, const Loops& loops,
                                                      const std::function<Work(NodeId)>& work_of);

}  // namespace berth::tf_frontend
