// Which nodes must share a device.
#pragma once

#include <string>
#include <vector>

#include "tf/inference.h"
#include "tf/program.h"

namespace berth::tf_frontend {

/// The class of each node; nodes of one class must share a device. Together are: nodes named by a
/// node's _class (transitively); nodes that read or change a variable by reference; and nodes that
/// hold a handle to a resource (a variable, table, stack, iterator).
[[nodiscard]] std::vector<NodeId> colocation_classes(const Program& program);

/// Whether an output of this op is a reference to a variable, which occupies nothing of its own.
[[nodiscard]] bool gives_reference(std::string_view op);

}  // namespace berth::tf_frontend
