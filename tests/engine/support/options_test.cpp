#include "berth/options.h"

#include <doctest/doctest.h>

#include <cmath>

#include "support/expect_error.h"

namespace berth {
namespace {

constexpr OptionSpec kSpecs[] = {
    {"order", OptionType::text, "topo", "topo or random"},
    {"rounds", OptionType::integer, "8", ">= 1"},
    {"lr", OptionType::real, "1e-3", "> 0"},
    {"repair", OptionType::boolean, "true", "move what does not fit"},
};

TEST_CASE("Options: defaults have the declared types") {
  const Options options(kSpecs);
  CHECK(options.text("order") == "topo");
  CHECK(options.integer("rounds") == 8);
  CHECK(options.real("lr") == 1e-3);
  CHECK(options.boolean("repair"));
}

TEST_CASE("Options: values are taken as text or typed") {
  Options options(kSpecs);
  const std::vector<std::pair<const char*, OptionValue>> good = {
      {"rounds", std::string("-3")}, {"rounds", std::int64_t{4}}, {"rounds", 5.0},
      {"lr", std::string("0.5")},    {"lr", std::int64_t{2}},     {"repair", std::string("false")},
      {"order", std::string("x")},
  };
  for (const auto& [name, value] : good) CHECK_NOTHROW(options.set("p", name, value));
  CHECK(options.integer("rounds") == 5);
  CHECK(options.real("lr") == 2.0);
  CHECK_FALSE(options.boolean("repair"));
}

TEST_CASE("Options: bad values are refused and change nothing") {
  Options options(kSpecs);
  const std::vector<std::pair<const char*, OptionValue>> bad = {
      {"rounds", std::string("8x")},
      {"rounds", std::string("")},
      {"rounds", 1.5},
      {"rounds", true},
      {"rounds", 1e300},
      {"lr", std::string("nan")},
      {"lr", std::string("fast")},
      {"lr", HUGE_VAL},
      {"repair", std::string("yes")},
      {"repair", std::int64_t{1}},
      {"order", std::int64_t{1}},
      {"rounds", std::string("99999999999999999999")},
  };
  for (const auto& [name, value] : bad) {
    test::expect_error(ErrorCode::invalid_argument, {"policy 'p'", name},
                       [&, &n = name, &v = value] { options.set("policy 'p'", n, v); });
  }
  CHECK(options.values() == Options(kSpecs).values());
}

TEST_CASE("Options: an unknown name lists the known ones") {
  Options options(kSpecs);
  test::expect_error(ErrorCode::invalid_argument,
                     {"no option 'round'", "did you mean 'rounds'", "lr, order, repair, rounds"},
                     [&] { options.set("policy 'p'", "round", std::int64_t{1}); });
}

TEST_CASE("Options: a plugin that reads what it did not declare is told") {
  const Options options(kSpecs);
  CHECK_THROWS_AS(static_cast<void>(options.integer("seed")), Error);
  CHECK_THROWS_AS(static_cast<void>(options.integer("order")), Error);
  const OptionSpec wrong[] = {{"n", OptionType::integer, "many", "?"}};
  CHECK_THROWS_AS(Options{wrong}, Error);
}

}  // namespace
}  // namespace berth
