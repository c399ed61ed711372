#include "ops/folding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ops/rounding.h"

namespace berth::ops {
namespace {

using Number = std::int64_t;

constexpr double kMostExact = 9e15;  // a double holds every integer up to there
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

void Elements::set(std::size_t at, const Value& from, std::size_t i) {
  if (real_) {
    reals_[at] = from.number(i).value_or(kUnknownReal);
  } else {
    ints_[at] = from.element(i).value_or(Data::kUnknown);
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

/// All inputs, broadcast together and combined from the first on. `reals` null: not folded for real
/// numbers.
void combined(OpContext& op, IntegerPair integers, RealPair reals) {
  Value& out = op.out(0);
  const auto count = small_count(out);
  if (!count || op.input_count() == 0) return;
  for (std::size_t k = 0; k < op.input_count(); ++k) {
    if (!spreads_to(op.in(k), out.dims)) return;
  }
  Elements elements(op.in(0));
  if (elements.real() && reals == nullptr) return;
  for (std::size_t i = 0; i < *count; ++i) {
    const auto at = [&](std::size_t k) { return broadcast_index(op.in(k).dims, out.dims, i); };
    auto real = op.in(0).number(at(0));
    auto integer = op.in(0).element(at(0));
    for (std::size_t k = 1; k < op.input_count(); ++k) {
      const auto y = op.in(k).number(at(k));
      const auto n = op.in(k).element(at(k));
      real = real && y && reals != nullptr ? std::optional(reals(*real, *y)) : std::nullopt;
      integer = integer && n ? integers(*integer, *n) : std::nullopt;
    }
    if (elements.real()) {
      elements.append_real(real.value_or(kUnknownReal));
    } else {
      elements.append(integer);
    }
  }
  std::move(elements).give(out);
}

void pairwise(OpContext& op, IntegerPair integers, RealPair reals) {
  if (op.input_count() == 2) combined(op, integers, reals);
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
  const double power = std::pow(static_cast<double>(a), static_cast<double>(b));
  return std::abs(power) < kMostExact ? std::optional(static_cast<Number>(power)) : std::nullopt;
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

}  // namespace

// --- Element by element, broadcast
// ----------------------------------------------------------------

void add(OpContext& op) {
  pairwise(op, sum_of, [](double a, double b) { return a + b; });
}
void add_all(OpContext& op) {
  combined(op, sum_of, [](double a, double b) { return a + b; });
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
void truncate_modulo(OpContext& op) {
  const auto rest = [](Number a, Number b) {
    return divides(a, b) ? std::optional(a % b) : std::nullopt;
  };
  pairwise(op, rest, [](double a, double b) { return std::fmod(a, b); });
}
void power(OpContext& op) {
  pairwise(op, power_of, [](double a, double b) { return std::pow(a, b); });
}
void maximum(OpContext& op) {
  combined(op, larger, [](double a, double b) { return std::max(a, b); });
}
void minimum(OpContext& op) {
  combined(op, smaller, [](double a, double b) { return std::min(a, b); });
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
void logical_xor(OpContext& op) {
  pairwise(
      op, [](Number a, Number b) { return std::optional<Number>((a != 0) != (b != 0)); }, nullptr);
}
void bitwise_and(OpContext& op) {
  pairwise(
      op, [](Number a, Number b) { return std::optional<Number>(a & b); }, nullptr);
}
void bitwise_or(OpContext& op) {
  pairwise(
      op, [](Number a, Number b) { return std::optional<Number>(a | b); }, nullptr);
}
void bitwise_xor(OpContext& op) {
  pairwise(
      op, [](Number a, Number b) { return std::optional<Number>(a ^ b); }, nullptr);
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
void square(OpContext& op) {
  one_by_one(
      op, [](Number a) { return product_of(a, a); }, [](double a) { return a * a; });
}
void clip(OpContext& op, std::optional<double> least, std::optional<double> most) {
  const Value& from = op.in(0);
  if (!from.has_content()) return;
  Elements elements(from);
  for (std::size_t i = 0; i < from.content_size(); ++i) {
    auto number = from.number(i);
    if (number && least) number = std::max(*number, *least);
    if (number && most) number = std::min(*number, *most);
    if (elements.real()) {
      elements.append_real(number.value_or(kUnknownReal));
    } else if (number == from.number(i)) {
      elements.append(from, i);
    } else {
      elements.append(number && std::abs(*number) < kMostExact
                          ? std::optional(static_cast<Number>(*number))
                          : std::nullopt);
    }
  }
  std::move(elements).give(op.out(0));
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

// --- Along axes
// ----------------------------------------------------------------------------

namespace {

/// The place of element `i` of a tensor when the dimensions that are marked are taken together.
std::size_t reduced_index(const Dims& dims, const std::vector<bool>& marked, std::size_t i) {
  std::size_t to = 0, stride = 1;
  for (std::size_t d = dims.size(); d-- > 0;) {
    const auto size = static_cast<std::size_t>(dims[d]);
    if (!marked[d]) {
      to += i % size * stride;
      stride *= size;
    }
    i /= size;
  }
  return to;
}

std::optional<double> joined(Reduction kind, double a, double b) {
  switch (kind) {
    case Reduction::sum:
      return a + b;
    case Reduction::product:
      return a * b;
    case Reduction::largest:
      return std::max(a, b);
    case Reduction::smallest:
      return std::min(a, b);
  }
  return std::nullopt;
}

std::optional<Number> joined(Reduction kind, Number a, Number b) {
  switch (kind) {
    case Reduction::sum:
      return sum_of(a, b);
    case Reduction::product:
      return product_of(a, b);
    case Reduction::largest:
      return std::max(a, b);
    case Reduction::smallest:
      return std::min(a, b);
  }
  return std::nullopt;
}

}  // namespace

void reduce(OpContext& op, Reduction kind, const std::vector<bool>& marked) {
  const Value& from = op.in(0);
  Value& out = op.out(0);
  const auto count = small_count(out);
  if (!count || !from.has_content() || marked.size() != from.dims.size() ||
      product(reduced(from.dims, marked, /*keep=*/true)) != static_cast<Number>(*count)) {
    return;
  }
  const bool has_neutral = kind == Reduction::sum || kind == Reduction::product;
  if (!has_neutral && from.content_size() == 0) return;  // of nothing there is no largest
  const Number neutral = kind == Reduction::product ? 1 : 0;
  // One kind of number has content; the other is carried along and not used.
  struct Result {
    std::optional<Number> integer;
    std::optional<double> real;
    bool begun;
  };
  std::vector<Result> results(*count, {neutral, static_cast<double>(neutral), has_neutral});
  for (std::size_t i = 0; i < from.content_size(); ++i) {
    Result& result = results[reduced_index(from.dims, marked, i)];
    const auto integer = from.element(i);
    const auto real = from.number(i);
    if (result.begun) {
      result.integer =
          result.integer && integer ? joined(kind, *result.integer, *integer) : std::nullopt;
      result.real = result.real && real ? joined(kind, *result.real, *real) : std::nullopt;
    } else {
      result = {integer, real, true};
    }
  }
  Elements elements(from);
  for (const Result& result : results) {
    if (elements.real()) {
      elements.append_real(result.real.value_or(kUnknownReal));
    } else {
      elements.append(result.integer);
    }
  }
  std::move(elements).give(out);
}

void cumulative_sum(OpContext& op, std::int64_t axis, bool exclusive, bool backwards) {
  const Value& from = op.in(0);
  const auto along = normal_axis(axis, from.dims.size());
  if (from.data == nullptr || !along || small_count(op.out(0)) != from.data->size()) return;
  const auto size = static_cast<std::size_t>(from.dims[*along]);
  const auto inner = static_cast<std::size_t>(product(from.dims, *along + 1, from.dims.size()));
  std::vector<std::optional<Number>> sums(from.data->size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    // The first of a line, from which it is walked to the other end.
    if (i / inner % size != (backwards ? size - 1 : 0)) continue;
    std::optional<Number> sum = 0;
    for (std::size_t k = 0; k < size; ++k) {
      const std::size_t at = backwards ? i - k * inner : i + k * inner;
      const auto element = from.element(at);
      const auto next = sum && element ? sum_of(*sum, *element) : std::nullopt;
      sums[at] = exclusive ? sum : next;
      sum = next;
    }
  }
  Elements elements(/*real=*/false);
  for (const auto& sum : sums) elements.append(sum);
  std::move(elements).give(op.out(0));
}

void non_zero(OpContext& op, bool by_rows) {
  const Value& from = op.in(0);
  if (!from.has_content()) return;
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < from.content_size(); ++i) {
    const auto value = from.number(i);
    if (!value) return;
    if (*value != 0) found.push_back(i);
  }
  const std::size_t rank = from.dims.size();
  const auto count = static_cast<Number>(found.size());
  std::vector<Number> places(found.size() * rank);
  for (std::size_t k = 0; k < found.size(); ++k) {
    std::size_t rest = found[k];
    for (std::size_t d = rank; d-- > 0;) {
      const auto size = static_cast<std::size_t>(from.dims[d]);
      places[by_rows ? k * rank + d : d * found.size() + k] = static_cast<Number>(rest % size);
      rest /= size;
    }
  }
  const auto axes = static_cast<Number>(rank);
  op.set(0, by_rows ? Dims{count, axes} : Dims{axes, count});
  op.set_data(0, std::move(places));
}

// --- Asked of a tensor, made from numbers
// ----------------------------------------------------------------------------

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

void convert(OpContext& op, DType to) {
  const Value& from = op.in(0);
  if (!from.has_content()) return;
  Elements elements(to == DType::f64 || to == DType::f32 || to == DType::f16 || to == DType::bf16);
  for (std::size_t i = 0; i < from.content_size(); ++i) {
    if (to == DType::boolean) {
      const auto number = from.number(i);
      elements.append(number ? std::optional<Number>(*number != 0) : std::nullopt);
      continue;
    }
    // Runtimes differ in what a real number becomes that an integer type is too narrow for.
    const auto whole = from.reals != nullptr ? from.element(i) : std::nullopt;
    if (!elements.real() && whole && held(*whole, to) != whole) {
      elements.append(std::nullopt);
    } else {
      elements.append(from, i);
    }
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
  if (!count || !start.has_content() || !delta.has_content()) return;
  Elements elements(start);
  if (elements.real()) {
    const auto first = start.number(0), by = delta.number(0);
    if (!first || !by) return;
    for (std::size_t i = 0; i < *count; ++i) {
      elements.append_real(*first + static_cast<double>(i) * *by);
    }
  } else {
    std::optional<Number> value = start.element(0);
    const auto by = delta.element(0);
    for (std::size_t i = 0; i < *count; ++i) {
      elements.append(value);
      value = value && by ? sum_of(*value, *by) : std::nullopt;
    }
  }
  std::move(elements).give(op.out(0));
}

}  // namespace fold
}  // namespace berth::ops
