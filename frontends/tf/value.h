// Facts about a tensor, as the engine's rules see it, by TensorFlow's element types.
#pragma once

#include "berth/graph.h"
#include "berth/sdk/ops/element_types.h"
#include "berth/sdk/ops/value.h"

namespace berth::tf_frontend {

using ops::broadcast;
using ops::Data;
using ops::DataPtr;
using ops::Dims;
using ops::Handle;
using ops::kMaxDim;
using ops::kMaxRank;
using ops::kUnknownType;
using ops::merge_shape;
using ops::product;
using ops::Value;
using namespace ops::tf;  // the element types and their numbers

/// For the graph. A handle to numbers has their type and keeps its own shape, as TensorFlow states
/// it. One to a variable occupies nothing: it is a reference. One to an array or a stack counts what
/// is in it; a list is what is in it, and has that shape. Handles to anything else are opaque and
/// count what they occupy themselves; strings the size of their heads.
[[nodiscard]] TensorInfo tensor_info(const Value& value);

}  // namespace berth::tf_frontend
