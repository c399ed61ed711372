#include "ops/folding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace berth::ops {
namespace {

using Number = std::int64_t;

constexpr double kUnknownReal = std::numeric_limits<double>::quiet_NaN();

}  // namespace

void Elements::append(const Value& from, std::size_t i) {
  if (real_) {
    reals_.push_back(from.number(i).value_or(kUnknownReal));
  } else {
    append(from.element(i));
  }
}

void Elements::append(std::optional<std::int64_t> element) {
  if (real_) {
    reals_.push_back(element ? static_cast<double>(*element) : kUnknownReal);
  } else {
    ints_.push_back(element.value_or(Data::kUnknown));
  }
}

void Elements::give(Value& value) && {
  if (small_count(value) != size()) return;
  if (real_) {
    value.reals = std::make_shared<const std::vector<double>>(std::move(reals_));
  } else {
    value.data = std::make_shared<const std::vector<Number>>(std::move(ints_));
  }
}

std::optional<std::size_t> small_count(const Value& value) noexcept {
  if (!value.ranked) return std::nullopt;
  const Number count = product(value.dims);
  if (count < 0 || count > static_cast<Number>(Data::kMaxElements)) return std::nullopt;
  return static_cast<std::size_t>(count);
}

namespace fold {
namespace {

/// Element of `from` for element `i` of a result of shape `dims`, to which it is broadcast.
std::size_t broadcast_index(const Dims& from, const Dims& dims, std::size_t i) {
  std::size_t index = 0, stride = 1;
  for (std::size_t d = 0; d < from.size(); ++d) {  // from the last dimension on
    const auto size = static_cast<std::size_t>(dims[dims.size() - 1 - d]);
    const auto own = static_cast<std::size_t>(from[from.size() - 1 - d]);
    if (own != 1) index += i % size * stride;
    stride *= own;
    i /= size;
  }
  return index;
}

/// Whether `from` has content that can be broadcast to `dims`.
bool spreads_to(const Value& from, const Dims& dims) {
  Dims both;
  return from.has_content() && broadcast(from.dims, dims, both) && both == dims;
}

using IntegerPair = std::optional<Number> (*)(Number, Number);
using RealPair = double (*)(double, double);

/// `reals` null: not folded for real numbers.
void pairwise(OpContext& op, IntegerPair integers, RealPair reals) {
  const Value& a = op.in(0);
  const Value& b = op.in(1);
  Value& out = op.out(0);
  const auto count = small_count(out);
  if (!count || op.input_count() != 2 || !spreads_to(a, out.dims) || !spreads_to(b, out.dims)) {
    return;
  }
  Elements elements(a);
  if (elements.real() && reals == nullptr) return;
  for (std::size_t i = 0; i < *count; ++i) {
    const std::size_t at_a = broadcast_index(a.dims, out.dims, i);
    const std::size_t at_b = broadcast_index(b.dims, out.dims, i);
    if (elements.real()) {
      const auto x = a.number(at_a), y = b.number(at_b);
      elements.append_real(x && y ? reals(*x, *y) : kUnknownReal);
    } else {
      const auto x = a.element(at_a), y = b.element(at_b);
      elements.append(x && y ? integers(*x, *y) : std::nullopt);
    }
  }
  std::move(elements).give(out);
}

std::optional<Number> sum_of(Number a, Number b) {
  Number result = 0;
  return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}
std::optional<Number> difference_of(Number a, Number b) {
  Number result = 0;
  return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}
std::optional<Number> product_of(Number a, Number b) {
  Number result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}
bool divides(Number a, Number b) {
  return b != 0 && !(b == -1 && a == std::numeric_limits<Number>::min());
}
/// With the sign of the divisor.
std::optional<Number> remainder_of(Number a, Number b) {
  if (!divides(a, b)) return std::nullopt;
  const Number rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
std::optional<Number> larger(Number a, Number b) {
  return std::max(a, b);
}
std::optional<Number> smaller(Number a, Number b) {
  return std::min(a, b);
}
std::optional<Number> power_of(Number a, Number b) {
  constexpr double kMost = 9e15;  // a double holds every integer up to there
  const double power = std::pow(static_cast<double>(a), static_cast<double>(b));
  return std::abs(power) < kMost ? std::optional(static_cast<Number>(power)) : std::nullopt;
}

using IntegerOne = std::optional<Number> (*)(Number);
using RealOne = double (*)(double);

/// Null: not folded for that kind of numbers.
void one_by_one(OpContext& op, IntegerOne integers, RealOne reals) {
  const Value& from = op.in(0);
  Elements elements(from);
  if (!from.has_content() || (elements.real() ? reals == nullptr : integers == nullptr)) return;
  for (std::size_t i = 0; i < from.content_size(); ++i) {
    if (elements.real()) {
      const auto x = from.number(i);
      elements.append_real(x ? reals(*x) : kUnknownReal);
    } else {
      const auto x = from.element(i);
      elements.append(x ? integers(*x) : std::nullopt);
    }
  }
  std::move(elements).give(op.out(0));
}

std::optional<Number> unchanged(Number a) {
  return a;
}

/// All elements of a tensor of integers; `start` is the result of none, empty where none has one.
void reduce(OpContext& op, std::optional<Number> start, IntegerPair combine) {
  const Value& from = op.in(0);
  if (from.data == nullptr || small_count(op.out(0)) != 1) return;
  std::optional<Number> result = start;
  for (std::size_t i = 0; i < from.data->size(); ++i) {
    const auto element = from.element(i);
    if (i == 0 && !start) {
      result = element;
    } else {
      result = result && element ? combine(*result, *element) : std::nullopt;
    }
    if (!result) break;
  }
  if (from.data->empty() && !start) return;
  Elements elements(/*real=*/false);
  elements.append(result);
  std::move(elements).give(op.out(0));
}

/// dims[0, axis), dims[axis], dims(axis, end) as (outer, size, inner).
struct Blocks {
  std::size_t outer = 1, size = 1, inner = 1;
};
std::optional<Blocks> blocks_of(const Dims& dims, std::int64_t axis) {
  const auto at = normal_axis(axis, dims.size());
  if (!at) return std::nullopt;
  Blocks blocks;
  blocks.outer = static_cast<std::size_t>(product(dims, 0, *at));
  blocks.size = static_cast<std::size_t>(dims[*at]);
  blocks.inner = static_cast<std::size_t>(product(dims, *at + 1, dims.size()));
  return blocks;
}

}  // namespace

// --- Element by element, broadcast
// ----------------------------------------------------------------

void add(OpContext& op) {
  pairwise(op, sum_of, [](double a, double b) { return a + b; });
}
void subtract(OpContext& op) {
  pairwise(op, difference_of, [](double a, double b) { return a - b; });
}
void multiply(OpContext& op) {
  pairwise(op, product_of, [](double a, double b) { return a * b; });
}
void floor_divide(OpContext& op) {
  const auto quotient = [](Number a, Number b) -> std::optional<Number> {
    if (!divides(a, b)) return std::nullopt;
    const Number whole = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? whole - 1 : whole;
  };
  pairwise(op, quotient, nullptr);
}
void truncate_divide(OpContext& op) {
  const auto quotient = [](Number a, Number b) {
    return divides(a, b) ? std::optional(a / b) : std::nullopt;
  };
  pairwise(op, quotient, [](double a, double b) { return a / b; });
}
void floor_modulo(OpContext& op) {
  pairwise(op, remainder_of, nullptr);
}
void power(OpContext& op) {
  pairwise(op, power_of, [](double a, double b) { return std::pow(a, b); });
}
void maximum(OpContext& op) {
  pairwise(op, larger, [](double a, double b) { return std::max(a, b); });
}
void minimum(OpContext& op) {
  pairwise(op, smaller, [](double a, double b) { return std::min(a, b); });
}
void equal(OpContext& op) {
  pairwise(
      op, [](Number a, Number b) { return std::optional<Number>(a == b); }, nullptr);
}
void not_equal(OpContext& op) {
  pairwise(
      op, [](Number a, Number b) { return std::optional<Number>(a != b); }, nullptr);
}
void less(OpContext& op) {
  pairwise(
      op, [](Number a, Number b) { return std::optional<Number>(a < b); }, nullptr);
}
void less_equal(OpContext& op) {
  pairwise(
      op, [](Number a, Number b) { return std::optional<Number>(a <= b); }, nullptr);
}
void greater(OpContext& op) {
  pairwise(
      op, [](Number a, Number b) { return std::optional<Number>(a > b); }, nullptr);
}
void greater_equal(OpContext& op) {
  pairwise(
      op, [](Number a, Number b) { return std::optional<Number>(a >= b); }, nullptr);
}
void logical_and(OpContext& op) {
  pairwise(
      op, [](Number a, Number b) { return std::optional<Number>(a != 0 && b != 0); }, nullptr);
}
void logical_or(OpContext& op) {
  pairwise(
      op, [](Number a, Number b) { return std::optional<Number>(a != 0 || b != 0); }, nullptr);
}
void logical_not(OpContext& op) {
  one_by_one(
      op, [](Number a) { return std::optional<Number>(a == 0); }, nullptr);
}
void negative(OpContext& op) {
  one_by_one(
      op, [](Number a) { return difference_of(0, a); }, [](double a) { return -a; });
}
void absolute(OpContext& op) {
  one_by_one(
      op, [](Number a) { return a < 0 ? difference_of(0, a) : std::optional(a); },
      [](double a) { return std::abs(a); });
}
void sign(OpContext& op) {
  one_by_one(
      op, [](Number a) { return std::optional<Number>((a > 0) - (a < 0)); },
      [](double a) { return static_cast<double>((a > 0) - (a < 0)); });
}
void ceiling(OpContext& op) {
  one_by_one(op, unchanged, [](double a) { return std::ceil(a); });
}
void floor(OpContext& op) {
  one_by_one(op, unchanged, [](double a) { return std::floor(a); });
}
void round(OpContext& op) {
  one_by_one(op, unchanged, [](double a) { return std::nearbyint(a); });
}
void square_root(OpContext& op) {
  one_by_one(op, nullptr, [](double a) { return std::sqrt(a); });
}
void reciprocal(OpContext& op) {
  one_by_one(op, nullptr, [](double a) { return 1 / a; });
}
void zeros_like(OpContext& op) {
  one_by_one(
      op, [](Number) { return std::optional<Number>(0); }, nullptr);
}
void ones_like(OpContext& op) {
  one_by_one(
      op, [](Number) { return std::optional<Number>(1); }, nullptr);
}

void select(OpContext& op) {
  const Value& condition = op.in(0);
  Value& out = op.out(0);
  const auto count = small_count(out);
  if (!count || !spreads_to(condition, out.dims)) return;
  const auto whole = condition.content_size() == 1 ? condition.element(0) : std::nullopt;
  const Value& yes = op.in(whole && *whole == 0 ? 2 : 1);
  const Value& no = op.in(whole && *whole != 0 ? 1 : 2);
  if (!spreads_to(yes, out.dims) || !spreads_to(no, out.dims)) return;
  Elements elements(yes);
  if (elements.real() != (no.reals != nullptr)) return;
  for (std::size_t i = 0; i < *count; ++i) {
    const auto chosen = condition.element(broadcast_index(condition.dims, out.dims, i));
    if (chosen) {
      const Value& from = *chosen != 0 ? yes : no;
      elements.append(from, broadcast_index(from.dims, out.dims, i));
    } else {
      elements.append(std::nullopt);
    }
  }
  std::move(elements).give(out);
}

// --- Of a whole tensor
// ----------------------------------------------------------------------------

void reduce_sum(OpContext& op) {
  reduce(op, 0, sum_of);
}
void reduce_product(OpContext& op) {
  reduce(op, 1, product_of);
}
void reduce_max(OpContext& op) {
  reduce(op, std::nullopt, larger);
}
void reduce_min(OpContext& op) {
  reduce(op, std::nullopt, smaller);
}

void non_zero(OpContext& op) {
  const Value& from = op.in(0);
  if (!from.has_content() || from.rank() != 1) return;
  Elements places(/*real=*/false);
  for (std::size_t i = 0; i < from.content_size(); ++i) {
    const auto value = from.number(i);
    if (!value) return;
    if (*value != 0) places.append(static_cast<Number>(i));
  }
  op.set(0, {1, static_cast<Number>(places.size())});
  std::move(places).give(op.out(0));
}

// --- Moving elements
// ------------------------------------------------------------------------------

void same_elements(OpContext& op) {
  const Value& from = op.in(0);
  if (!from.has_content() || small_count(op.out(0)) != from.content_size()) return;
  op.out(0).data = from.data;
  op.out(0).reals = from.reals;
}

void spread(OpContext& op) {
  const Value& from = op.in(0);
  Value& out = op.out(0);
  const auto count = small_count(out);
  if (!count || !spreads_to(from, out.dims)) return;
  Elements elements(from);
  for (std::size_t i = 0; i < *count; ++i) {
    elements.append(from, broadcast_index(from.dims, out.dims, i));
  }
  std::move(elements).give(out);
}

void shape_of(OpContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    const Dims* const dims = op.shape(i);
    if (dims == nullptr) continue;
    Elements elements(/*real=*/false);
    for (const Number dim : *dims) {
      elements.append(dim == kUnknownDim ? std::nullopt : std::optional(dim));
    }
    std::move(elements).give(op.out(i));
  }
}

void size_of(OpContext& op) {
  const Dims* const dims = op.shape(0);
  const Number count = dims != nullptr ? product(*dims) : kUnknownDim;
  if (count != kUnknownDim) op.set_data(0, {count});
}

void rank_of(OpContext& op) {
  if (const Dims* const dims = op.shape(0)) op.set_data(0, {static_cast<Number>(dims->size())});
}

void convert(OpContext& op, bool real, bool boolean) {
  const Value& from = op.in(0);
  if (!from.has_content()) return;
  Elements elements(real);
  for (std::size_t i = 0; i < from.content_size(); ++i) {
    const auto element = from.element(i);
    if (boolean && element) {
      elements.append(Number{*element != 0});
    } else {
      elements.append(from, i);
    }
  }
  std::move(elements).give(op.out(0));
}

void gather(OpContext& op, std::int64_t axis) {
  const Value& from = op.in(0);
  const Value& indices = op.in(1);
  if (!from.has_content() || !indices.has_content() || !small_count(op.out(0))) return;
  const auto at = blocks_of(from.dims, axis);
  if (!at) return;
  Elements elements(from);
  for (std::size_t outer = 0; outer < at->outer; ++outer) {
    for (std::size_t k = 0; k < indices.content_size(); ++k) {
      const auto index = indices.element(k);
      const auto chosen = index ? normal_axis(*index, at->size) : std::nullopt;
      if (!chosen) return;
      for (std::size_t inner = 0; inner < at->inner; ++inner) {
        elements.append(from, (outer * at->size + *chosen) * at->inner + inner);
      }
    }
  }
  std::move(elements).give(op.out(0));
}

void permute(OpContext& op, const std::vector<std::int64_t>& order) {
  const Value& from = op.in(0);
  Value& out = op.out(0);
  const auto count = small_count(out);
  if (!count || !from.has_content() || order.size() != from.dims.size() ||
      out.dims.size() != order.size()) {
    return;
  }
  std::vector<std::size_t> strides(order.size(), 1);  // of `from`, by dimension of the result
  for (std::size_t d = 0; d < order.size(); ++d) {
    const auto axis = normal_axis(order[d], order.size());
    if (!axis) return;
    strides[d] = static_cast<std::size_t>(product(from.dims, *axis + 1, from.dims.size()));
  }
  Elements elements(from);
  for (std::size_t i = 0; i < *count; ++i) {
    std::size_t rest = i, index = 0;
    for (std::size_t d = order.size(); d-- > 0;) {
      const auto size = static_cast<std::size_t>(out.dims[d]);
      index += rest % size * strides[d];
      rest /= size;
    }
    elements.append(from, index);
  }
  std::move(elements).give(out);
}

void concatenate(OpContext& op, std::size_t first, std::size_t count, std::int64_t axis) {
  if (!small_count(op.out(0)) || count == 0) return;
  std::vector<Blocks> parts;
  bool any = false, real = false;
  for (std::size_t i = first; i < first + count; ++i) {
    const Value& part = op.in(i);
    // One whose content is not known still takes its place.
    if (!small_count(part)) return;
    const auto blocks = blocks_of(part.dims.empty() ? Dims{1} : part.dims, axis);
    if (!blocks || (i > first && blocks->outer != parts.front().outer)) return;
    parts.push_back(*blocks);
    any = any || part.has_content();
    real = real || part.reals != nullptr;
  }
  if (!any) return;
  Elements elements(real);
  for (std::size_t outer = 0; outer < parts.front().outer; ++outer) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t chunk = parts[i].size * parts[i].inner;
      for (std::size_t k = 0; k < chunk; ++k) elements.append(op.in(first + i), outer * chunk + k);
    }
  }
  std::move(elements).give(op.out(0));
}

void split(OpContext& op, std::size_t input, std::int64_t axis) {
  const Value& from = op.in(input);
  const auto whole = from.has_content() ? blocks_of(from.dims, axis) : std::nullopt;
  std::size_t begin = 0;
  for (std::size_t i = 0; whole && i < op.output_count(); ++i) {
    Value& out = op.out(i);
    const auto part = small_count(out) ? blocks_of(out.dims, axis) : std::nullopt;
    if (!part || out.rank() != from.rank() || begin + part->size > whole->size) return;
    Elements elements(from);
    for (std::size_t outer = 0; outer < whole->outer; ++outer) {
      const std::size_t first = (outer * whole->size + begin) * whole->inner;
      for (std::size_t k = 0; k < part->size * whole->inner; ++k) elements.append(from, first + k);
    }
    begin += part->size;
    std::move(elements).give(out);
  }
}

void slice(OpContext& op, std::int64_t first, std::int64_t stride) {
  const Value& from = op.in(0);
  const auto count = small_count(op.out(0));
  if (!from.has_content() || from.rank() != 1 || !count) return;
  Elements elements(from);
  Number at = first;
  for (std::size_t i = 0; i < *count; ++i) {
    if (at < 0 || at >= from.dims[0]) return;
    elements.append(from, static_cast<std::size_t>(at));
    if (i + 1 < *count && __builtin_add_overflow(at, stride, &at)) return;
  }
  std::move(elements).give(op.out(0));
}

void fill(OpContext& op, const Value& value) {
  const auto count = small_count(op.out(0));
  if (!count || !value.has_content() || value.content_size() != 1) return;
  Elements elements(value);
  for (std::size_t i = 0; i < *count; ++i) elements.append(value, 0);
  std::move(elements).give(op.out(0));
}

void range(OpContext& op, const Value& start, const Value& delta) {
  const auto count = small_count(op.out(0));
  const auto first = start.data != nullptr ? start.element(0) : std::nullopt;
  const auto by = delta.element(0);
  if (!count || !first || !by) return;
  Elements elements(/*real=*/false);
  std::optional<Number> value = first;
  for (std::size_t i = 0; i < *count; ++i) {
    elements.append(value);
    value = value ? sum_of(*value, *by) : std::nullopt;
  }
  std::move(elements).give(op.out(0));
}

}  // namespace fold
}  // namespace berth::ops
