// Elements that are put elsewhere, or counted along a dimension, by hand.
#include <doctest/doctest.h>

#include "backends/onnx/two_ways.h"

namespace berth::test {
namespace {

TEST_CASE("planes are reflected as anything else is") {
  // Integers and more dimensions are not padded in one pass.
  for (const std::string pads :
       {"0, 0, 2, 3, 0, 0, 1, 0", "0, 0, 0, 4, 0, 0, 0, 4", "0, 0, -1, 2, 0, 0, 1, 2",
        "1, 0, 2, 0, 0, 0, 0, 1", "0, 0, 7, 0, 0, 0, 0, 0"}) {
    CAPTURE(pads);
    CHECK(difference_of("p = Constant<value = int64[8] {" + pads +
                            "}>() r = Floor(x) y = Pad<mode = \"reflect\">(r, p) "
                            "i = Cast<to = 6>(r) j = Pad<mode = \"reflect\">(i, p) "
                            "z = Cast<to = 1>(j)",
                        {2, 3, 4, 5}) == "");
  }
}

TEST_CASE("rows are scattered to their places, from the front or the end") {
  CHECK(difference_of("i = Constant<value = int64[2,1] {2, -4}>() "
                      "u = Constant<value = float[2,2] {1, 2, 3, 4}>() y = ScatterND(x, i, u) "
                      "rows = Constant<value = int64[2] {1, 3}>() k = Gather(x, rows) "
                      "place = Constant<value = int64[4] {1, 2, 0, 3}>() "
                      "all = Concat<axis = 0>(u, k) z = Gather(all, place)",
                      {4, 2}) == "");
}

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
