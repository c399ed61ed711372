#include "support/sizes.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

namespace berth::test {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

TEST_CASE("sizes are read as people write them") {
  for (const char* const text :
       {"64GiB", "64 GiB", "64gib", "64GIB", "64Gi", "64G", "64g", "64 g", "65536MiB", "65536m"}) {
    CAPTURE(std::string(text));
    CHECK(size_of_text(text) == 64 * kGiB);
  }
  const std::pair<const char*, std::int64_t> others[] = {
      {"64GB", 64'000'000'000},
      {"64gb", 64'000'000'000},
      {"1.5TiB", 1536 * kGiB},
      {"2t", 2048 * kGiB},
      {"500MB", 500'000'000},
      {"3kB", 3000},
      {"3KiB", 3072},
      {"7", 7},
      {"7 B", 7},
      {"0", 0},
  };
  for (const auto& [text, bytes] : others) {
    CAPTURE(text);
    CHECK(size_of_text(text) == bytes);
  }
  for (const char* const text :
       {"", "GiB", "-1GiB", "12GG", "64Gib s", "1e30GiB", "nan", "inf", "5%", "12 apples", " 5"}) {
    CAPTURE(std::string(text));
    CHECK_FALSE(size_of_text(text));
  }
}

}  // namespace
}  // namespace berth::test
