// Gives the dynamic dimensions of a model their values.
#pragma once

#include "berth/frontend.h"
#include "onnx/model.h"

namespace berth::onnx_frontend {

/// Whether a name says which dimensions are of one size. Exporters write "?" and "None" where they know
/// none: those are as good as without a name.
[[nodiscard]] bool is_named(const onnx::TensorShapeProto::Dimension& dim);

/// Replaces named dimensions throughout the model by their values, and shapes of graph inputs by
/// the given ones. An input's dimension that nobody binds becomes 1, with a note. Names that are
/// computed from others ("past + 1", "Max(1, s0//2)") follow from them; a symbol that occurs in
/// such a name alone can be given too. Shapes of other tensors than inputs go to
/// Model::given_shapes.
///
/// Names of Loops and searches in LoadOptions::dims are left to inference.
///
/// Throws Error(invalid_argument) for names of dimensions or inputs that the model does not have
/// (listing those it has), and for values that contradict the model or are out of range. Of two that contradict
/// each other the stronger one counts (LoadOptions::weakness); two of one strength are an error. What counts is
/// in Model::sizes then.
void bind_dims(Model& model, const LoadOptions& options);

}  // namespace berth::onnx_frontend
