// Which nodes must share a device.
#pragma once

#include <string>
#include <vector>

#include "tf/inference.h"
#include "tf/program.h"

namespace berth::tf_frontend {

/// By node, the number of its class; nodes of one number must share a device. Together are: what a
/// node's _class names (transitively); what reads or changes a variable by reference; and what
/// holds a handle to a resource (a variable, table, stack, iterator).
[[nodiscard]] std::vector<NodeId> colocation_classes(const Program& program);

/// Whether an output of this op is a reference to a variable, which occupies nothing of its own.
[[nodiscard]] bool gives_reference(std::string_view op);

}  // namespace berth::tf_frontend
