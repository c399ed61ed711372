// Running sums and products: by hand, and against those that ATen makes along a last dimension.
#include "runtime/running.h"

#include <ATen/Functions.h>

#include <limits>

#include "support/torch_doctest.h"

namespace berth::runtime {
namespace {

using Kind = Running::Kind;

bool same(const Tensor& a, const Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() &&
         at::allclose(a, b, 1e-6, 1e-6, /*equal_nan=*/true);
}

TEST_CASE("an exclusive running sum has the elements before each, whatever the element is") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Tensor x = at::tensor({1., 1e8, 3., 4., -kInfinity, 1., 2., 3.}).reshape({2, 4});
  const Tensor sums =
      at::tensor({0., 1., 1e8 + 1, 1e8 + 4, 0., -kInfinity, -kInfinity, -kInfinity});
  const Tensor reversed = at::tensor({1e8 + 7, 7., 4., 0., 6., 5., 3., 0.});
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const Tensor given = x.to(type);
    CHECK(same(Running{Kind::sum, true, false}(given, 1), sums.reshape({2, 4}).to(type)));
    CHECK(same(Running{Kind::sum, true, true}(given, 1), reversed.reshape({2, 4}).to(type)));
    // Along a dimension that is not the last.
    CHECK(same(Running{Kind::sum, true, false}(given.t(), 0), sums.reshape({2, 4}).t().to(type)));
  }
  const Tensor whole = at::tensor({3, 4, 5}, at::kLong);
  CHECK(Running{Kind::sum, true, false}(whole, 0).equal(at::tensor({0, 3, 7}, at::kLong)));
  CHECK(Running{Kind::sum, true, true}(whole, 0).equal(at::tensor({9, 5, 0}, at::kLong)));
  CHECK(Running{Kind::product, true, true}(whole, 0).equal(at::tensor({20, 5, 1}, at::kLong)));
  const Tensor logs = Running{Kind::log_sum, true, false}(at::tensor({0., 0.}), 0);
  CHECK(same(logs, at::tensor({-kInfinity, 0.})));
}

TEST_CASE("running sums and products along any dimension are those along a last one") {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kInt}) {
    const Tensor x = at::remainder(at::mul(at::arange(3 * 5 * 70, at::kLong), 7919), 5)
                         .reshape({3, 5, 70})
                         .sub(2);
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      const Tensor given = x.to(type), turned = given.transpose(axis, 2).contiguous();
      CHECK(same(Running{Kind::sum}(given, axis), at::cumsum(turned, 2, type).transpose(axis, 2)));
      CHECK(same(Running{Kind::product, false, true}(given, axis),
                 at::cumprod(turned.flip({2}), 2, type).flip({2}).transpose(axis, 2)));
    }
  }
  CHECK((Running{Kind::sum}(at::zeros({3, 0, 2}), 1).sizes() == at::IntArrayRef({3, 0, 2})));
  CHECK(Running{Kind::sum, true, false}(at::ones({}), 0).equal(at::zeros({})));
}

}  // namespace
}  // namespace berth::runtime
