#include "runtime/integers.h"

#include <ATen/Functions.h>

#include <limits>

#include "berth/error.h"
#include "berth/support/text.h"
#include "runtime/support.h"

namespace berth::runtime {
namespace {

/// Marks where `b` is -1; undefined where no quotient ends the process: on a GPU, and of other types, since narrower
/// ones are computed in wider ones.
Tensor minus_ones(const Tensor& a, const Tensor& b) {
  const at::ScalarType type = at::result_type(a, b);
  if ((type != at::kInt && type != at::kLong) || !a.is_cpu() || !b.is_cpu()) return {};
  return at::eq(b.to(type), -1);
}

/// Numbers with which a remainder is the same, none of them -1.
Tensor divisors(const Tensor& a, const Tensor& b) {
  const Tensor flipped = minus_ones(a, b);
  return flipped.defined() ? at::masked_fill(b, flipped, 1) : b;
}

}  // namespace

std::int64_t count_attribute(const Instruction& op, std::string_view name, std::int64_t fallback) {
  const std::int64_t count = int_attribute(op, name, fallback);
  if (count < 1 || count > std::numeric_limits<std::int32_t>::max()) {
    refuse_attribute(name, std::to_string(count));
  }
  return count;
}

std::int64_t shared_out(std::int64_t total, std::string_view what, std::int64_t parts,
                        std::string_view by) {
  if (parts < 1 || total % parts != 0) {
    throw Error(ErrorCode::invalid_argument,
                cat(total, " ", what, " are not divisible by ", parts, " ", by));
  }
  return total / parts;
}

std::int64_t group_count(std::int64_t channels, std::int64_t of_filter) {
  if (channels < 1) {
    throw Error(ErrorCode::invalid_argument, "images without channels are not convolved");
  }
  return shared_out(channels, "channels", of_filter, "of a filter");
}

void check_within(const Tensor& numbers, std::int64_t least, std::int64_t most,
                  std::string_view what) {
  if (!numbers.is_cpu() || numbers.numel() == 0) return;
  const auto [low, high] = at::aminmax(numbers);
  for (const Tensor& end : {low, high}) {
    const auto number = end.item<std::int64_t>();
    if (number >= least && number <= most) continue;
    throw Error(ErrorCode::invalid_argument,
                cat(what, " ", number, " is not between ", least, " and ", most));
  }
}

Tensor whole_quotient(const Tensor& a, const Tensor& b, const char* rounding) {
  const Tensor flipped = minus_ones(a, b);
  if (!flipped.defined()) return at::div(a, b, rounding);
  return at::where(flipped, at::mul(a, b), at::div(a, at::masked_fill(b, flipped, 1), rounding));
}

Tensor floor_remainder(const Tensor& a, const Tensor& b) {
  return at::remainder(a, divisors(a, b));
}

Tensor truncated_remainder(const Tensor& a, const Tensor& b) {
  return at::fmod(a, divisors(a, b));
}

}  // namespace berth::runtime
