// Contents of small tensors: what models compute shapes with.
//
// A fold runs once the shapes of the outputs are known, and gives them content where that follows
// from the inputs' and is small. Elements that do not follow are not known one by one. The
// dialects' tables name these, or wrap them where an axis lies elsewhere.
#pragma once

#include <optional>
#include <vector>

#include "berth/ops/op.h"
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
void subtract(OpContext& op);
void multiply(OpContext& op);
void floor_divide(OpContext& op);
void truncate_divide(OpContext& op);  ///< real numbers too
void floor_modulo(OpContext& op);
void power(OpContext& op);
void maximum(OpContext& op);
void minimum(OpContext& op);
void equal(OpContext& op);
void not_equal(OpContext& op);
void less(OpContext& op);
void less_equal(OpContext& op);
void greater(OpContext& op);
void greater_equal(OpContext& op);
void logical_and(OpContext& op);
void logical_or(OpContext& op);
void logical_not(OpContext& op);
void negative(OpContext& op);
void absolute(OpContext& op);
void sign(OpContext& op);
void ceiling(OpContext& op);
void floor(OpContext& op);
void round(OpContext& op);
void square_root(OpContext& op);
void reciprocal(OpContext& op);
void zeros_like(OpContext& op);
void ones_like(OpContext& op);
/// condition, x, y.
void select(OpContext& op);

// --- Of a whole tensor
// ----------------------------------------------------------------------------
void reduce_sum(OpContext& op);
void reduce_product(OpContext& op);
void reduce_max(OpContext& op);
void reduce_min(OpContext& op);
void non_zero(OpContext& op);  ///< the shape of the output is set too

// --- Moving elements
// ------------------------------------------------------------------------------
void same_elements(OpContext& op);  ///< of the first input, in another shape
void spread(OpContext& op);         ///< the first input broadcast to the shape of the output
void shape_of(OpContext& op);       ///< each output: the shape of its input
void size_of(OpContext& op);
void rank_of(OpContext& op);

/// The first input's elements as integers or real numbers; `boolean`: as 0 and 1.
void convert(OpContext& op, bool real, bool boolean);
void gather(OpContext& op, std::int64_t axis);
void permute(OpContext& op, const std::vector<std::int64_t>& order);
/// Inputs [first, first + count).
void concatenate(OpContext& op, std::size_t first, std::size_t count, std::int64_t axis);
/// Input `from` cut along `axis` into the outputs' shapes.
void split(OpContext& op, std::size_t from, std::int64_t axis);
/// Of a first input of one dimension.
void slice(OpContext& op, std::int64_t first, std::int64_t stride);
/// Every element of the output is element 0 of `value`.
void fill(OpContext& op, const Value& value);
/// start, start + delta, ... of integers.
void range(OpContext& op, const Value& start, const Value& delta);

}  // namespace fold
}  // namespace berth::ops
