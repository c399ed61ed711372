// Ops that change what later steps read.
#pragma once

#include <string_view>

#include "berth/graph.h"

namespace berth::ops {

/// Whether TensorFlow's op changes a variable: an optimizer's update, an assignment, a scatter into its rows.
[[nodiscard]] bool changes_variable(std::string_view type);
/// Whether a body of TensorFlow's op does, by the types that it names within (attribute "body_types").
[[nodiscard]] bool changes_variable_within(const Graph& graph, OpId op);
/// Whether the op is one of ONNX Runtime's optimizers, or a buffer in which it adds up gradients.
[[nodiscard]] bool is_onnx_update(std::string_view type);

}  // namespace berth::ops
