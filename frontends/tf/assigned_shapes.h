// Shapes of variables whose own op leaves them open (validate_shape=False).
#pragma once

#include <map>
#include <string_view>

#include "tf/fetches.h"
#include "tf/inference.h"

namespace berth::tf_frontend {

/// By the name of a variable's op: the shape of what the file assigns to it, in the step or before it.
/// Only where a variable in the selection states no whole shape; a dimension in which assignments
/// differ is not known. `context` holds what the user states; nothing of it is changed.
[[nodiscard]] std::map<std::string_view, Value> assigned_shapes(const InferenceContext& context,
                                                                const Selection& selection,
                                                                const LoadOptions& options);

/// Completes a variable's shape; one that contradicts `assigned` stays as it is.
void complete_variable(Node& variable, const Value& assigned);

}  // namespace berth::tf_frontend
