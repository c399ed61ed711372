#include <doctest/doctest.h>

#include "berth/dtype.h"
#include "berth/sdk/random.h"

namespace berth {

TEST_CASE("dtype names read back") {
  for (int i = 0; i <= static_cast<int>(DType::opaque); ++i) {
    const auto dtype = static_cast<DType>(i);
    CHECK(dtype_from_name(dtype_name(dtype)) == dtype);
  }
  CHECK(dtype_bits(DType::bf16) == 16);
  CHECK(dtype_bits(DType::i4) == 4);
  CHECK(dtype_bits(DType::string) == 0);
  CHECK_FALSE(dtype_from_name("float").has_value());
}

TEST_CASE("Random") {
  SUBCASE("gives the published SplitMix64 stream") {
    Random random(1234567);
    CHECK(random.next() == 6457827717110365317ULL);
    CHECK(random.next() == 3203168211198807973ULL);
    CHECK(random.next() == 9817491932198370423ULL);
  }
  SUBCASE("below stays in range and reaches every value") {
    Random random(7);
    int seen[5] = {};
    for (int i = 0; i < 1000; ++i) ++seen[random.below(5)];
    for (const int count : seen) CHECK(count > 100);
  }
}

}  // namespace berth
