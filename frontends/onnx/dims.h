// Gives the dynamic dimensions of a model their values.
#pragma once

#include "berth/frontend.h"
#include "onnx/model.h"

namespace berth::onnx_frontend {

/// Replaces named dimensions throughout the model by their values, and shapes of graph inputs by
/// the given ones. An input's dimension that nobody binds becomes 1, with a note. Names that are
/// sums or products of others ("past + 1") follow from them.
///
/// Throws Error(invalid_argument) for names of dimensions or inputs that the model does not have
/// (listing those it has), and for values that contradict the model or are out of range.
void bind_dims(Model& model, const LoadOptions& options);

}  // namespace berth::onnx_frontend
