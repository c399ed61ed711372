// Sequences and optionals: which elements they hold, as far as a file says.
#pragma once

#include <vector>

#include "onnx/op_context.h"

namespace berth::onnx_frontend {

/// The elements of a sequence or an optional; null where it is not known which there are.
[[nodiscard]] const std::vector<Type>* elements_of(const Type& type) noexcept;
/// How many there are of a sequence; kUnknownDim where nothing says.
[[nodiscard]] std::int64_t length_of(const Type& sequence) noexcept;
/// The type common to all elements.
[[nodiscard]] Type any_element(const Type& sequence);
/// A sequence of these; `otherwise` is what an element would be where there is none.
[[nodiscard]] Type sequence_of(std::vector<Type> elements, const Type& otherwise);

/// One of so many of these.
[[nodiscard]] Type sequence_of_alike(const Type& element, std::int64_t length);
/// One of nobody knows how many of these.
[[nodiscard]] Type sequence_like(const Type& element);

/// The outputs of an op on sequences or optionals. False if it is none of them; those with a body
/// are not.
bool infer_sequence(NodeContext& op);

}  // namespace berth::onnx_frontend
