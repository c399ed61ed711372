// Elements that are put elsewhere, or counted along a dimension, by hand.
#include <doctest/doctest.h>

#include "backends/onnx/two_ways.h"

namespace berth::test {
namespace {

TEST_CASE("running products have as many factors as a running sum has terms") {
  CHECK(
      difference_of("a = Constant<value = int64 {0}>() s = Constant<value = float {0}>() "
                    "m = Mul(x, s) v = Constant<value = float[4] {2, 3, 5, 7}>() g = Add(m, v) "
                    "p = CumProd(g, a) q = CumProd<exclusive = 1>(g, a) "
                    "r = CumProd<exclusive = 1, reverse = 1>(g, a) y = Concat<axis = 0>(p, q, r) "
                    "z = Constant<value = float[12] {2, 6, 30, 210, 1, 2, 6, 30, 105, 35, 7, 1}>()",
                    {4}) == "");
}

}  // namespace
}  // namespace berth::test
