#include "support/duration.h"

#include <doctest/doctest.h>

#include "berth/error.h"
#include "support/expect_error.h"

using berth::parse_duration_s;

TEST_CASE("parse_duration_s") {
  SUBCASE("a number with its unit") {
    CHECK(parse_duration_s("30s") == 30);
    CHECK(parse_duration_s("500ms") == doctest::Approx(0.5));
    CHECK(parse_duration_s("2m") == 120);
    CHECK(parse_duration_s("1h") == 3600);
    CHECK(parse_duration_s("1.5s") == 1.5);
  }
  SUBCASE("anything else is refused with examples") {
    for (const char* text :
         {"", "30", "s", "-1s", "0s", "1 s", "1e400s", "nans", "infs", "5d", "3s3s", "0x10s"}) {
      CAPTURE(text);
      berth::test::expect_error(berth::ErrorCode::invalid_argument, {text, "30s, 500ms"},
                                [&] { (void)parse_duration_s(text); });
    }
  }
}
