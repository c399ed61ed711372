#include "support/units.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "berth/types.h"

using namespace berth;

TEST_CASE("a time is shown with four digits in the unit that fits") {
  struct {
    double us;
    const char* text;
  } const cases[] = {{0, "0 us"},          {3e-10, "0 us"},   {0.0006, "0.001 us"},
                     {0.25, "0.250 us"},   {850, "850.0 us"}, {12340, "12.34 ms"},
                     {1203000, "1.203 s"}, {9.9e9, "9900 s"}, {1e13, "10000000 s"},
                     {std::nan(""), "-"}};
  for (const auto& [us, text] : cases) CHECK(format_us(us) == text);
}

TEST_CASE("sizes are shown in binary units, rates in decimal ones") {
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(1023) == "1023 B");
  CHECK(format_bytes(1536) == "1.50 KiB");
  CHECK(format_bytes(12LL << 30) == "12.0 GiB");
  CHECK(format_bytes(berth::kNoLimit - 1) == "8.00 EiB");
  CHECK(format_bytes(berth::kNoLimit) == "no limit");
  CHECK(format_rate(0, "B/s") == "-");
  CHECK(format_rate(8.73e12, "FLOP/s") == "8.73 TFLOP/s");
  CHECK(format_rate(12, "B") == "12.0 B");
}

TEST_CASE("counts, shares and factors") {
  CHECK(format_count(999) == "999");
  CHECK(format_count(1203442) == "1,203,442");
  CHECK(format_count(-1000) == "-1,000");
  CHECK(format_percent(0.1234) == "12.3 %");
  CHECK(format_percent(std::numeric_limits<double>::infinity()) == "-");
  CHECK(format_factor(1.234) == "1.23x");
  CHECK(format_factor(std::nan("")) == "-");
}
