// The distinct elements of a tensor, by hand.
#include "runtime/distinct.h"

#include <ATen/Functions.h>

#include "support/torch_doctest.h"

namespace berth::runtime {
namespace {

TEST_CASE("distinct elements ascend, or are in the order in which they first occur") {
  const auto longs = [](std::vector<std::int64_t> values) { return at::tensor(values, at::kLong); };
  for (const at::ScalarType type : {at::kLong, at::kFloat, at::kChar}) {
    const Tensor x = longs({5, 2, 5, 9, 2, 5}).to(type);
    const Distinct sorted = distinct(x, /*ascending=*/true);
    CHECK(sorted.values.equal(longs({2, 5, 9}).to(type)));
    CHECK(sorted.firsts.equal(longs({1, 0, 3})));
    CHECK(sorted.places.equal(longs({1, 0, 1, 2, 0, 1})));
    CHECK(sorted.counts.equal(longs({2, 3, 1})));
    const Distinct first = distinct(x, /*ascending=*/false);
    CHECK(first.values.equal(longs({5, 2, 9}).to(type)));
    CHECK(first.firsts.equal(longs({0, 1, 3})));
    CHECK(first.places.equal(longs({0, 1, 0, 2, 1, 0})));
    CHECK(first.counts.equal(longs({3, 2, 1})));
  }
  CHECK(distinct(at::zeros({0}), false).values.numel() == 0);
}

}  // namespace
}  // namespace berth::runtime
