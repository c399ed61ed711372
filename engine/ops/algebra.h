// Arithmetic of shapes: what a dimension becomes, whatever the dialect calls the op.
//
// A dimension that is not known, or whose computation leaves [0, kMaxDim], is kUnknownDim. What
// does not fit together has no answer (empty), and no input makes any of these fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "berth/sdk/ops/value.h"

namespace berth::ops {

// --- Dimensions ---------------------------------------------------------------------------------

/// kUnknownDim if one is not known.
[[nodiscard]] std::int64_t add_dims(std::int64_t a, std::int64_t b) noexcept;
[[nodiscard]] std::int64_t multiply_dims(std::int64_t a, std::int64_t b) noexcept;
/// Rounded down; kUnknownDim also if `b` is below 1.
[[nodiscard]] std::int64_t divide_dims(std::int64_t a, std::int64_t b) noexcept;
/// `dim` with `before` and `after` added to its ends; negative ones are taken away.
[[nodiscard]] std::int64_t padded(std::int64_t dim, std::int64_t before,
                                  std::int64_t after) noexcept;
/// Element `i` as a dimension.
[[nodiscard]] std::int64_t dim_of_element(const Value& value, std::size_t i) noexcept;

// --- Shapes by content --------------------------------------------------------------------------

/// The content of a shape-like vector; unranked if not even its length is known, and for the scalar -1.
/// Elements that are no dimensions are not known.
[[nodiscard]] Value shape_of_content(const Value& vector);
/// Fills the one dimension that is not known so that `dims` has as many elements as `from`.
void fill_open_dim(Dims& dims, const Dims& from);

// --- Axes ---------------------------------------------------------------------------------------

/// Which of `rank` dimensions `axes` names; empty if one is out of range.
[[nodiscard]] std::optional<std::vector<bool>> marked_axes(const std::vector<std::int64_t>& axes,
                                                           std::size_t rank);
/// `dims` without those marked, or with 1 in their place.
[[nodiscard]] Dims reduced(const Dims& dims, const std::vector<bool>& marked, bool keep);
[[nodiscard]] std::optional<Dims> permuted(const Dims& dims,
                                           const std::vector<std::int64_t>& order);
/// Joined along `axis`, which counts from the end where negative. Null: a shape that is not known. Other dimensions
/// must be the same, but those of a part without elements, as runtimes have it, and sizes of the largest step, which are
/// chosen by themselves.
[[nodiscard]] std::optional<Dims> concatenated(std::span<const Dims* const> parts,
                                               std::int64_t axis, bool largest_step);
/// The elements of dimension `axis` that `indices` names; the first `batch` dimensions are common.
[[nodiscard]] std::optional<Dims> gathered(const Dims& from, const Dims& indices, std::int64_t axis,
                                           std::int64_t batch);
/// The last dimension of `indices` names an element or a block of `from`.
[[nodiscard]] std::optional<Dims> gathered_nd(const Dims& from, const Dims& indices,
                                              std::int64_t batch);

/// The axes over which each of two shapes was spread when they were broadcast together. `common`:
/// whether an axis of 1 in both is listed where neither lacks it.
struct SpreadAxes {
  std::vector<std::int64_t> of_a;
  std::vector<std::int64_t> of_b;
};
[[nodiscard]] SpreadAxes spread_axes(const Dims& a, const Dims& b, bool common);

// --- Slices and ranges --------------------------------------------------------------------------

/// The part of one dimension that a slice takes.
struct Span {
  std::int64_t first;
  std::int64_t count;
};
/// begin : end : stride by Python's rules; an end that is left open is given as empty. Empty where
/// `dim` is not known.
[[nodiscard]] std::optional<Span> span_of(std::int64_t dim, std::optional<std::int64_t> begin,
                                          std::optional<std::int64_t> end,
                                          std::int64_t stride) noexcept;
/// Elements of start, start + delta, ... before `limit`; kUnknownDim where they have no end.
[[nodiscard]] std::int64_t range_count(double start, double limit, double delta) noexcept;

// --- Windows ------------------------------------------------------------------------------------

/// A window that moves over one dimension.
struct Window {
  std::int64_t size = kUnknownDim;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t padding = 0;  ///< on both sides together
  bool same = false;         ///< padded so that only the stride counts
  bool round_up = false;     ///< a last position that is partly outside counts
  /// The result for a dimension that is too small for the window.
  std::int64_t too_small = kUnknownDim;
};
/// How many positions it has.
[[nodiscard]] std::int64_t positions(std::int64_t dim, const Window& window) noexcept;

// --- Products -----------------------------------------------------------------------------------

/// numpy.matmul; `transpose_a/b` swap the last two dimensions first.
[[nodiscard]] std::optional<Dims> matrix_product(const Dims& a, const Dims& b, bool transpose_a,
                                                 bool transpose_b);
/// Letters are dimensions by name; "..." stands for those a term does not name. Null: an operand
/// of which not even the rank is known.
[[nodiscard]] std::optional<Dims> einsum_dims(std::string_view equation,
                                              std::span<const Dims* const> operands);

}  // namespace berth::ops
