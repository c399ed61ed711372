// Contents of small tensors: what models compute shapes with.
//
// A fold runs once the shapes of the outputs are known, and gives them content where that follows
// from the inputs' and is small. Elements that do not follow are not known one by one. The
// dialects' tables name these, or wrap them where an axis lies elsewhere.
#pragma once

#include <optional>
#include <vector>

#include "berth/sdk/ops/op.h"
#include "ops/algebra.h"

namespace berth::ops {

/// Elements of a result, of the kind (integers or real numbers) that its model has.
class Elements {
 public:
  explicit Elements(bool real) : real_(real) {}
  explicit Elements(const Value& model) : real_(model.reals != nullptr) {}

  [[nodiscard]] bool real() const noexcept { return real_; }
  [[nodiscard]] std::size_t size() const noexcept { return real_ ? reals_.size() : ints_.size(); }
  /// Element `i` of the content of `from`, converted.
  void append(const Value& from, std::size_t i);
  void append(std::optional<std::int64_t> element);
  void append_real(double element) { reals_.push_back(element); }
  /// Replaces element `at`, which is there, by element `i` of the content of `from`.
  void set(std::size_t at, const Value& from, std::size_t i);
  /// They become the content of `value`, if there are as many as it has elements.
  void give(Value& value) &&;

 private:
  bool real_;
  std::vector<std::int64_t> ints_;
  std::vector<double> reals_;
};

/// Elements of a shape that is known whole and small; else empty.
[[nodiscard]] std::optional<std::size_t> small_count(const Value& value) noexcept;

namespace fold {

// --- Element by element, broadcast
// ----------------------------------------------------------------
void add(OpContext& op);
void add_all(OpContext& op);  ///< any number of inputs
void subtract(OpContext& op);
void multiply(OpContext& op);
void floor_divide(OpContext& op);
void truncate_divide(OpContext& op);  ///< real numbers too
void floor_modulo(OpContext& op);
void truncate_modulo(OpContext& op);  ///< real numbers too
void power(OpContext& op);
void maximum(OpContext& op);  ///< any number of inputs
void minimum(OpContext& op);  ///< likewise
void equal(OpContext& op);
void not_equal(OpContext& op);
void less(OpContext& op);
void less_equal(OpContext& op);
void greater(OpContext& op);
void greater_equal(OpContext& op);
void logical_and(OpContext& op);
void logical_or(OpContext& op);
void logical_xor(OpContext& op);
void logical_not(OpContext& op);
void bitwise_and(OpContext& op);
void bitwise_or(OpContext& op);
void bitwise_xor(OpContext& op);
void negative(OpContext& op);
void absolute(OpContext& op);
void sign(OpContext& op);
void ceiling(OpContext& op);
void floor(OpContext& op);
void round(OpContext& op);
void square_root(OpContext& op);
void square(OpContext& op);
void reciprocal(OpContext& op);
void zeros_like(OpContext& op);
void ones_like(OpContext& op);
/// condition, x, y.
void select(OpContext& op);
/// Between bounds; empty: none.
void clip(OpContext& op, std::optional<double> least, std::optional<double> most);

// --- Along axes
// ----------------------------------------------------------------------------
enum class Reduction { sum, product, largest, smallest };
/// Over the dimensions that are marked.
void reduce(OpContext& op, Reduction kind, const std::vector<bool>& marked);
/// Folds integers only. `exclusive`: without the element itself; `backwards`: from the last on.
void cumulative_sum(OpContext& op, std::int64_t axis, bool exclusive, bool backwards);
/// The places where the first input is not zero, one per row or per column; the shape of the output
/// is set too.
void non_zero(OpContext& op, bool by_rows);

// --- Moving elements
// ------------------------------------------------------------------------------
void same_elements(OpContext& op);  ///< of the first input, in another shape
void spread(OpContext& op);         ///< the first input broadcast to the shape of the output
void tile(OpContext& op);           ///< the first input repeated up to the shape of the output
void permute(OpContext& op, const std::vector<std::int64_t>& order);
void reverse(OpContext& op, const std::vector<bool>& marked);  ///< the dimensions that are marked
/// The part of one dimension that a slice takes.
struct Cut {
  std::int64_t first = 0;
  std::int64_t stride = 1;
  std::int64_t count = 0;
};
/// One for each dimension of the first input, of which the output may have fewer, or more of 1.
void slice(OpContext& op, const std::vector<Cut>& cuts);
/// As many elements `before` each dimension; those outside are element 0 of `filler`.
void pad(OpContext& op, const std::vector<std::int64_t>& before, const Value& filler);
void gather(OpContext& op, std::int64_t axis);
/// The second input names the place along `axis` for every element of the output.
void gather_elements(OpContext& op, std::int64_t axis);
/// Each row of the second input names an element or a block; the first `batch` dimensions are
/// common.
void gather_nd(OpContext& op, std::int64_t batch);
/// `base` with the elements or blocks that the rows of `indices` name replaced by `updates`.
void scatter_nd(OpContext& op, const Value& base, const Value& indices, const Value& updates);
/// data, indices along `axis`, updates.
void scatter_elements(OpContext& op, std::int64_t axis);
/// Inputs [first, first + count).
void concatenate(OpContext& op, std::size_t first, std::size_t count, std::int64_t axis);
/// All inputs, along a new axis.
void stack(OpContext& op, std::int64_t axis);
/// Input `from` cut along `axis` into the outputs' shapes.
void split(OpContext& op, std::size_t from, std::int64_t axis);
/// The first input cut into outputs without that axis.
void unstack(OpContext& op, std::int64_t axis);

// --- Asked of a tensor, made from numbers
// ----------------------------------------------------------------------------
void shape_of(OpContext& op);  ///< each output: the shape of its input
void size_of(OpContext& op);
void rank_of(OpContext& op);
/// The first input's elements as numbers of type `to`.
void convert(OpContext& op, DType to);
/// Every element of the output is element 0 of `value`.
void fill(OpContext& op, const Value& value);
/// start, start + delta, ...
void range(OpContext& op, const Value& start, const Value& delta);

}  // namespace fold
}  // namespace berth::ops
