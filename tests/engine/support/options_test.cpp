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

TEST_CASE("Options: ranges and choices are checked and said in one wording") {
  constexpr OptionSpec kRanged[] = {
      {"from_one", OptionType::integer, "1", "", OptionRange::at_least(1)},
      {"above_zero", OptionType::real, "1", "", OptionRange::above(0)},
      {"closed", OptionType::real, "0.5", "", OptionRange::at_least(0).up_to(1)},
      {"half_open", OptionType::real, "0.5", "", OptionRange::above(0).up_to(1)},
      {"open", OptionType::real, "0.5", "", OptionRange::above(0).below(1)},
      {"below", OptionType::real, "0.5", "", OptionRange().below(1)},
      {"even", OptionType::integer, "4", "", OptionRange::at_least(2).up_to(8).multiple_of(2)},
      {"any", OptionType::integer, "4", ""},
      {"method", OptionType::text, "kway", "", {}, "kway,recursive"}};
  const char* const allowed[] = {">= 1",
                                 "> 0",
                                 "0 to 1",
                                 "> 0 and <= 1",
                                 "> 0 and < 1",
                                 "< 1",
                                 "2 to 8, a multiple of 2",
                                 "",
                                 "kway, recursive"};
  for (std::size_t i = 0; i < std::size(kRanged); ++i)
    CHECK(allowed_text(kRanged[i]) == allowed[i]);

  Options options(kRanged);
  const std::vector<std::pair<const char*, OptionValue>> good = {
      {"from_one", std::int64_t{1}},
      {"above_zero", 1e-300},
      {"closed", std::int64_t{0}},
      {"closed", 1.0},
      {"half_open", std::string("1")},
      {"below", -1e300},
      {"even", 2.0},
      {"any", std::int64_t{-7}},
      {"method", std::string("recursive")}};
  for (const auto& [name, value] : good) CHECK_NOTHROW(options.set("p", name, value));
  const struct {
    const char* name;
    OptionValue value;
    const char* message;
  } bad[] = {
      {"from_one", std::int64_t{0}, "takes an integer >= 1; got '0'"},
      {"above_zero", std::string("0"), "takes a number > 0; got '0'"},
      {"above_zero", HUGE_VAL, "takes a number > 0; got 'inf'"},
      {"above_zero", std::nan(""), "takes a number > 0; got 'nan'"},
      {"closed", -0.1, "takes a number from 0 to 1; got '-0.1'"},
      {"half_open", 0.0, "takes a number > 0 and <= 1; got '0'"},
      {"half_open", std::nextafter(1.0, 2.0), "takes a number > 0 and <= 1"},
      {"open", 1.0, "takes a number > 0 and < 1; got '1'"},
      {"below", -HUGE_VAL, "takes a number < 1; got '-inf'"},
      {"even", std::int64_t{3}, "takes an integer from 2 to 8, a multiple of 2; got '3'"},
      {"method", std::string("kwya"), "takes one of kway, recursive; got 'kwya'"},
      {"method", std::string(""), "takes one of kway, recursive; got ''"},
  };
  const auto before = options.values();
  for (const auto& each : bad) {
    test::expect_error(ErrorCode::invalid_argument,
                       {"policy 'p': option '", each.name, each.message},
                       [&] { options.set("policy 'p'", each.name, each.value); });
  }
  CHECK(options.values() == before);
  const OptionSpec out_of_range[] = {{"n", OptionType::integer, "0", "?", OptionRange::above(0)}};
  CHECK_THROWS_AS(Options{out_of_range}, Error);
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
