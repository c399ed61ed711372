// The type of a value as the engine's rules see it, and as files and libonnx write it.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "berth/graph.h"
#include "berth/sdk/ops/element_types.h"
#include "berth/sdk/ops/value.h"

namespace berth::onnx_frontend {

/// Ranks above this are taken for damage.
inline constexpr int kMaxRank = 64;

/// The type of a value, and for small tensors of numbers its content.
using Type = ops::Value;
using ops::Dims;
using ops::kMaxDim;
using ops::product;
using ops::tensor_type;
using ops::onnx::is_integer_type;

/// A value that is no dense tensor: a sequence, map, optional or sparse tensor.
struct Other {
  onnx::TypeProto proto;
  /// Types of the elements of a sequence or an optional, if it is known which there are.
  std::optional<std::vector<Type>> elements = std::nullopt;
  /// How many elements a sequence has that are not told apart; kUnknownDim where nothing says.
  std::int64_t alike = kUnknownDim;
};
/// Null for tensors.
[[nodiscard]] inline const Other* other_of(const Type& type) noexcept {
  return static_cast<const Other*>(type.other.get());
}

/// Element type and all dimensions known (a non-tensor counts as known as soon as it is one).
[[nodiscard]] bool complete(const Type& type) noexcept;
/// The type alone.
[[nodiscard]] Type without_content(Type type);

/// From the file. Symbolic dimensions and those outside [0, kMaxDim] become unknown.
[[nodiscard]] Type type_from_proto(const onnx::TypeProto& proto);
void type_to_proto(const Type& type, onnx::TypeProto& proto);

/// Fills what `type` does not know from `other`; what both know stays as it is in `type`.
/// False where they contradict each other.
bool merge_type(Type& type, const Type& other);
/// The common part of two types of a value; sets `changed` where they differ.
[[nodiscard]] Type common_type(const Type& a, const Type& b, bool& changed);

/// For the graph; sizes of types that DType has no name for are stated in bytes.
[[nodiscard]] TensorInfo tensor_info(const Type& type);

/// The size that tensor_info stands for; kUnknownBytes if it is not known.
[[nodiscard]] std::int64_t bytes_of(const TensorInfo& info) noexcept;

/// Gives `type`, the type of `tensor`, its content, unless the tensor is large, of another kind
/// than numbers, damaged, or its data is not in the file.
void read_content(const onnx::TensorProto& tensor, Type& type);
/// The content as a TensorProto of its element type, for libonnx; false where an element is not
/// known.
bool content_to_proto(const Type& type, onnx::TensorProto& tensor);

}  // namespace berth::onnx_frontend
