// What is known of a value: its type, and for small integer tensors its content.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "berth/dtype.h"
#include "berth/graph.h"
#include "berth/types.h"

namespace berth::onnx_frontend {

using Dims = std::vector<std::int64_t>;  ///< kUnknownDim where a dimension is not known

/// Ranks above this are taken for damage.
inline constexpr int kMaxRank = 64;
/// Dimensions above this are taken for damage: 2^48 elements are beyond any machine.
inline constexpr std::int64_t kMaxDim = std::int64_t{1} << 48;

/// Element types of ONNX newer than the installed libonnx (onnx.proto, IR 9 to 12).
enum NewElementType : int {
  kFloat8E4M3FN = 17,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
};

/// The type of a value. Default: nothing is known.
struct Type {
  int elem = 0;  ///< TensorProto::DataType; 0 = not known
  bool has_shape = false;
  Dims dims;
  /// Set where the value is no dense tensor: a sequence, map, optional or sparse tensor.
  std::shared_ptr<const onnx::TypeProto> other;

  /// Element type and all dimensions known (a non-tensor counts as known as soon as it is one).
  [[nodiscard]] bool complete() const noexcept;
  [[nodiscard]] int rank() const noexcept { return static_cast<int>(dims.size()); }
  void set_shape(Dims shape) {
    has_shape = true;
    dims = std::move(shape);
  }
};

[[nodiscard]] inline Type tensor_type(int elem) {
  Type type;
  type.elem = elem;
  return type;
}
[[nodiscard]] inline Type tensor_type(int elem, Dims dims) {
  Type type = tensor_type(elem);
  type.set_shape(std::move(dims));
  return type;
}

/// From the file. Symbolic dimensions and those outside [0, kMaxDim] become unknown.
[[nodiscard]] Type type_from_proto(const onnx::TypeProto& proto);
void type_to_proto(const Type& type, onnx::TypeProto& proto);

/// Fills what `type` does not know from `other`; what both know stays as it is in `type`.
/// False where they contradict each other.
bool merge_type(Type& type, const Type& other);

/// For the graph; sizes of types that DType has no name for are stated in bytes.
[[nodiscard]] TensorInfo tensor_info(const Type& type);

/// The size that tensor_info stands for; kUnknownBytes where it is not known.
[[nodiscard]] std::int64_t bytes_of(const TensorInfo& info) noexcept;

/// The content of a small tensor of integers, booleans or floating-point numbers.
struct Data {
  static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min() + 1;
  static constexpr std::size_t kMaxElements = 1024;

  bool real = false;
  Dims dims;                       ///< all known
  std::vector<std::int64_t> ints;  ///< where not real; kUnknown = this element is not known
  std::vector<double> reals;       ///< where real; NaN = not known

  [[nodiscard]] std::size_t size() const noexcept { return real ? reals.size() : ints.size(); }
  /// As an integer; empty where it is not known or no integer can hold it.
  [[nodiscard]] std::optional<std::int64_t> integer(std::size_t i) const noexcept;
  [[nodiscard]] std::optional<double> number(std::size_t i) const noexcept;
  /// All elements as integers; empty where one is not known.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers() const;
};
using DataPtr = std::shared_ptr<const Data>;

/// Null where the tensor is large, of another type, damaged, or its data is not in the file.
[[nodiscard]] DataPtr data_from_proto(const onnx::TensorProto& tensor);
/// As a TensorProto of element type `elem`, for libonnx; false where an element is not known.
bool data_to_proto(const Data& data, int elem, onnx::TensorProto& tensor);

[[nodiscard]] bool is_integer_type(int elem) noexcept;  ///< bool included
[[nodiscard]] bool is_float_type(int elem) noexcept;

/// Broadcasts by NumPy's rules; false where the shapes do not fit (result then unspecified).
bool broadcast(const Dims& a, const Dims& b, Dims& result);

/// Product over dims[begin, end), kUnknownDim where a factor is unknown; saturates at kMaxDim^2.
[[nodiscard]] std::int64_t product(const Dims& dims, std::size_t begin, std::size_t end);

}  // namespace berth::onnx_frontend
