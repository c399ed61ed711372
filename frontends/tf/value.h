// What is known of a tensor: its type, its shape, and for small integer tensors its content.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "berth/dtype.h"
#include "berth/graph.h"
#include "berth/types.h"

namespace berth::tf_frontend {

using Dims = std::vector<std::int64_t>;  ///< kUnknownDim where a dimension is not known

/// Ranks above this are taken for damage: TensorFlow itself stops at 254.
inline constexpr std::size_t kMaxRank = 254;
/// Dimensions above this are taken for damage: 2^48 elements are beyond any machine.
inline constexpr std::int64_t kMaxDim = std::int64_t{1} << 48;

// DataType of TensorFlow's files, without the offset of references.
inline constexpr int kUnknownType = 0;
inline constexpr int kFloat = 1;
inline constexpr int kInt32 = 3;
inline constexpr int kString = 7;
inline constexpr int kInt64 = 9;
inline constexpr int kBool = 10;
inline constexpr int kResource = 20;
inline constexpr int kVariant = 21;
inline constexpr int kReferenceOffset = 100;

/// "float" -> 1, as in the names of the files' enumerators; kUnknownType for any other text.
[[nodiscard]] int type_from_name(std::string_view name) noexcept;
[[nodiscard]] DType dtype_of(int type) noexcept;
[[nodiscard]] bool is_integer_type(int type) noexcept;  ///< bool included

struct Data {
  static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min() + 1;
  static constexpr std::size_t kMaxElements = 1024;
};
/// Elements in row-major order, Data::kUnknown where one is not known.
using DataPtr = std::shared_ptr<const std::vector<std::int64_t>>;

/// What a handle (a variable, tensor array, stack or tensor list) gives when it is read. Shared by
/// all that hold the handle, so that what is learned by a write is known to the reads after it.
struct Handle {
  int type = kUnknownType;
  bool ranked = false;
  Dims dims;
  std::int64_t size = kUnknownDim;  ///< elements of a tensor array or list
};

struct Value {
  int type = kUnknownType;
  bool ranked = false;  ///< false: not even the rank is known
  Dims dims;
  DataPtr data;  ///< only where every dimension is known
  std::shared_ptr<Handle> handle;

  [[nodiscard]] int rank() const noexcept { return ranked ? static_cast<int>(dims.size()) : -1; }
  [[nodiscard]] std::int64_t dim(std::size_t axis) const noexcept {
    return ranked && axis < dims.size() ? dims[axis] : kUnknownDim;
  }
  [[nodiscard]] bool fully_known() const noexcept;
  void set_shape(Dims shape) {
    ranked = true;
    dims = std::move(shape);
  }
  /// Element `i` of the content where it is known.
  [[nodiscard]] std::optional<std::int64_t> element(std::size_t i) const noexcept;
  /// The content, where all of it is known.
  [[nodiscard]] const std::vector<std::int64_t>* integers() const noexcept;
};

/// Elements of dims[begin, end); kUnknownDim where one is not known or there are more than 2^62.
[[nodiscard]] std::int64_t product(const Dims& dims, std::size_t begin, std::size_t end) noexcept;
[[nodiscard]] inline std::int64_t product(const Dims& dims) noexcept {
  return product(dims, 0, dims.size());
}

/// NumPy's rules; false where the shapes do not fit.
bool broadcast(const Dims& a, const Dims& b, Dims& result);

/// Fills what `value` does not know of its shape from `other`; what both know stays as it is in
/// `value`. False where they contradict each other.
bool merge_shape(Value& value, const Value& other);

/// For the graph. Handles count what they occupy themselves; strings the size of their heads.
[[nodiscard]] TensorInfo tensor_info(const Value& value);

}  // namespace berth::tf_frontend
