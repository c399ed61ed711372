/// @file
/// Knowledge about a tensor before it exists: its type, its shape, and for small tensors of
/// numbers its content. The same for every dialect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "berth/export.h"
#include "berth/types.h"

namespace berth::ops {

using Dims = std::vector<std::int64_t>;  ///< kUnknownDim where a dimension is not known

/// Ranks above this are taken for damage: TensorFlow itself stops at 254.
inline constexpr std::size_t kMaxRank = 254;
/// Dimensions above this are taken for damage: 2^48 elements are beyond any machine.
inline constexpr std::int64_t kMaxDim = std::int64_t{1} << 48;

/// An element type in the dialect's own numbering (berth/sdk/ops/element_types.h); 0 = not known.
inline constexpr int kUnknownType = 0;

struct Data {
  /// No number that files hold: exporters write the ends of the range for "from the last to the
  /// first".
  static constexpr std::int64_t kUnknown = -0x5D3F'A716'9C42'E8B1;
  static constexpr std::size_t kMaxElements = 1024;
};
/// Elements in row-major order, Data::kUnknown if one is not known.
using DataPtr = std::shared_ptr<const std::vector<std::int64_t>>;
/// Likewise of floating-point numbers; NaN if one is not known.
using RealsPtr = std::shared_ptr<const std::vector<double>>;

/// The value that a handle (a variable, tensor array, stack or tensor list) gives when it is read. Shared by
/// all that hold the handle, so that what is learned by a write is known to the reads after it.
struct Handle {
  int type = kUnknownType;
  bool ranked = false;
  Dims dims;
  std::int64_t size = kUnknownDim;  ///< elements of a tensor array, list or stack
  bool variable = false;
  bool read_too_early = false;  ///< of a variable: before its shape was known
};

/// Default: nothing is known. [thread-compatible]
struct BERTH_EXPORT Value {
  int type = kUnknownType;
  bool ranked = false;  ///< false: not even the rank is known
  Dims dims;
  DataPtr data;    ///< of integers and booleans; only if every dimension is known
  RealsPtr reals;  ///< of floating-point numbers; only if every dimension is known
  std::shared_ptr<Handle> handle;
  /// Elements of a tensor list as it is here; its handle is shared by what it was before and after.
  std::int64_t length = kUnknownDim;
  /// How many of them are the very tensor that another element is: a list refers to its elements, and
  /// what is put into it again takes no memory.
  std::int64_t repeats = 0;
  /// Set where the value is no dense tensor (a sequence, map, optional or sparse tensor): the
  /// frontend's own description of it.
  std::shared_ptr<const void> other;

  [[nodiscard]] int rank() const noexcept { return ranked ? static_cast<int>(dims.size()) : -1; }
  /// kUnknownDim also if `axis` is out of range.
  [[nodiscard]] std::int64_t dim(std::size_t axis) const noexcept {
    return ranked && axis < dims.size() ? dims[axis] : kUnknownDim;
  }
  [[nodiscard]] bool fully_known() const noexcept;
  void set_shape(Dims shape) {
    ranked = true;
    dims = std::move(shape);
  }

  [[nodiscard]] bool has_content() const noexcept { return data != nullptr || reals != nullptr; }
  /// Elements of the content; 0 if it is not known.
  [[nodiscard]] std::size_t content_size() const noexcept;
  /// Element `i` of the content as an integer; empty if it is not known or no integer holds it.
  [[nodiscard]] std::optional<std::int64_t> element(std::size_t i) const noexcept;
  /// Likewise as a number of any kind.
  [[nodiscard]] std::optional<double> number(std::size_t i) const noexcept;
  /// The content of a tensor of integers, if all of it is known.
  [[nodiscard]] const std::vector<std::int64_t>* integers() const noexcept;
  void forget_content() noexcept {
    data = nullptr;
    reals = nullptr;
  }
};

/// A value of this element type, without a shape.
[[nodiscard]] inline Value tensor_type(int type) {
  Value value;
  value.type = type;
  return value;
}
[[nodiscard]] inline Value tensor_type(int type, Dims dims) {
  Value value = tensor_type(type);
  value.set_shape(std::move(dims));
  return value;
}

/// Elements of dims[begin, end); kUnknownDim if one is not known or there are more than 2^62.
[[nodiscard]] BERTH_EXPORT std::int64_t product(const Dims& dims, std::size_t begin,
                                                std::size_t end) noexcept;
[[nodiscard]] inline std::int64_t product(const Dims& dims) noexcept {
  return product(dims, 0, dims.size());
}

/// NumPy's rules; false where the shapes do not fit, and `result` is as it was.
BERTH_EXPORT bool broadcast(const Dims& a, const Dims& b, Dims& result);

/// Fills what `value` does not know of its shape from `other`; what both know stays as it is in
/// `value`. False where they contradict each other.
BERTH_EXPORT bool merge_shape(Value& value, const Value& other);

/// A dimension computed as a number; kUnknownDim if it is none.
[[nodiscard]] inline std::int64_t valid_dim(std::int64_t dim) noexcept {
  return dim >= 0 && dim <= kMaxDim ? dim : kUnknownDim;
}

/// `axis` counted from 0; empty if it lies outside [-rank, rank).
[[nodiscard]] inline std::optional<std::size_t> normal_axis(std::int64_t axis,
                                                            std::size_t rank) noexcept {
  const auto r = static_cast<std::int64_t>(rank);
  if (axis < -r || axis >= r) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + r : axis);
}

}  // namespace berth::ops
