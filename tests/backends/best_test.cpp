// The first of a sorted dimension, against ATen's stable sort of all of it.
#include "runtime/best.h"

#include <ATen/Functions.h>

#include <cmath>

#include "berth/error.h"
#include "support/expect_error.h"
#include "support/torch_doctest.h"

namespace berth::runtime {
namespace {

/// Most of `size` numbers have an equal.
Tensor some_numbers(at::IntArrayRef shape, std::int64_t size, at::ScalarType type) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) count *= dim;
  const Tensor mixed = at::remainder(at::mul(at::arange(count, at::kLong), 7919), size / 3 + 2);
  return at::sub(mixed, size / 8).reshape(shape).to(type);
}

void check_best(const Tensor& x, std::int64_t axis) {
  for (const bool largest : {true, false}) {
    const auto [values, order] = at::sort(x, /*stable=*/true, axis, largest);
    for (const std::int64_t count : {0L, 1L, 3L, x.size(axis) / 2, x.size(axis)}) {
      CAPTURE(count);
      const Best found = best(x, count, axis, largest);
      CHECK(found.indices.equal(order.narrow(axis, 0, count)));
      CHECK(at::allclose(found.values, values.narrow(axis, 0, count), 0, 0, /*equal_nan=*/true));
      CHECK((found.values.scalar_type() == x.scalar_type()));
    }
  }
}

TEST_CASE("the best of a dimension are the first of all of it sorted, equals in their order") {
  for (const at::ScalarType type :
       {at::kFloat, at::kDouble, at::kInt, at::kLong, at::kChar, at::kByte, at::kHalf}) {
    CAPTURE(at::toString(type));
    check_best(some_numbers({500}, 500, type).abs(), 0);
    const Tensor boxes = some_numbers({3, 40, 5}, 40, type).abs();
    for (const std::int64_t axis : {0, 1, 2}) check_best(boxes, axis);
  }
  check_best(at::arange(3000, at::kFloat), 0);
  check_best(at::neg(at::arange(3000, at::kFloat)), 0);
}

TEST_CASE("no number is better than what is none") {
  Tensor x = some_numbers({60}, 60, at::kFloat);
  for (const std::int64_t i : {3, 20, 41}) x[i] = std::nan("");
  check_best(x, 0);
}

TEST_CASE("more than there are is refused") {
  berth::test::expect_error(ErrorCode::invalid_argument, {"5 of 4 elements are asked for"},
                            [] { static_cast<void>(best(at::ones({4}), 5, 0, true)); });
}

}  // namespace
}  // namespace berth::runtime
