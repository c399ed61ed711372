#include "ops/rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "berth/sdk/ops/op.h"

namespace berth::ops {
namespace {

/// A binary format of numbers 0.1xxx * 2^e, as std::numeric_limits counts.
struct RealFormat {
  int digits;
  int least_exponent;
  int most_exponent;
};

double rounded(double number, const RealFormat& format) {
  if (!std::isfinite(number)) return number;
  int exponent = 0;
  std::frexp(number, &exponent);
  const int unit = std::max(exponent, format.least_exponent) - format.digits;
  const double nearest = std::ldexp(std::nearbyint(std::ldexp(number, -unit)), unit);
  const bool fits = std::abs(nearest) < std::ldexp(1.0, format.most_exponent);
  return fits ? nearest : std::copysign(std::numeric_limits<double>::infinity(), nearest);
}

bool is_signed(DType type) {
  return type == DType::i64 || type == DType::i32 || type == DType::i16 || type == DType::i8;
}

bool is_unsigned(DType type) {
  return type == DType::u64 || type == DType::u32 || type == DType::u16 || type == DType::u8;
}

/// The content of `value` as its type holds it. One that stays as it is remains shared.
void hold(Value& value, DType type) {
  if (value.reals != nullptr) {
    std::vector<double> numbers = *value.reals;
    for (double& number : numbers) number = held(number, type);
    if (numbers != *value.reals) {
      value.reals = std::make_shared<const std::vector<double>>(std::move(numbers));
    }
  } else if (value.data != nullptr) {
    std::vector<std::int64_t> numbers = *value.data;
    for (std::int64_t& number : numbers) {
      if (number != Data::kUnknown) number = held(number, type).value_or(Data::kUnknown);
    }
    if (numbers != *value.data) {
      value.data = std::make_shared<const std::vector<std::int64_t>>(std::move(numbers));
    }
  }
}

}  // namespace

double held(double number, DType type) noexcept {
  switch (type) {
    case DType::f32:
      return rounded(number, {24, -125, 128});
    case DType::bf16:
      return rounded(number, {8, -125, 128});
    case DType::f16:
      return rounded(number, {11, -13, 16});
    default:
      return number;
  }
}

std::optional<std::int64_t> held(std::int64_t number, DType type) noexcept {
  if (!is_signed(type) && !is_unsigned(type)) return number;
  const int bits = dtype_bits(type);
  if (bits == 64) {
    // Content has no number above those of i64.
    return is_signed(type) || number >= 0 ? std::optional(number) : std::nullopt;
  }
  const std::int64_t count = std::int64_t{1} << bits;
  const std::int64_t low = number & (count - 1);
  return is_signed(type) && low >= count / 2 ? low - count : low;
}

void fold_contents(const OpInfo& info, OpContext& op) {
  if (info.fold == nullptr) return;
  info.fold(op);
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    hold(op.out(i), info.dtype_of(op.out(i).type));
  }
}

}  // namespace berth::ops
