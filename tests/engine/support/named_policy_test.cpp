#include "berth/sdk/named_policy.h"

#include <doctest/doctest.h>

#include "berth/error.h"
#include "support/expect_error.h"

namespace berth {

TEST_CASE("a policy has its options behind colons") {
  CHECK(parse_named_policy("heft").name == "heft");
  CHECK(parse_named_policy("heft").options.empty());
  const NamedPolicy named = parse_named_policy("placeto:weights=none:groups=64");
  CHECK(named.name == "placeto");
  CHECK(named.options ==
        OptionTexts{{"weights", std::string("none")}, {"groups", std::string("64")}});
  CHECK(parse_named_policy("single:device=gpu:1:x=2").options ==
        OptionTexts{{"device", std::string("gpu:1")}, {"x", std::string("2")}});
  CHECK(parse_named_policy("mine.lua:text=a=b:empty=").options ==
        OptionTexts{{"text", std::string("a=b")}, {"empty", std::string()}});
}

TEST_CASE("what stands behind a colon is an option, once") {
  const struct {
    const char* text;
    const char* part;
  } cases[] = {{"auto:moves", "'moves' is not of the form key=value; write NAME:KEY=VALUE"},
               {"auto:", "'' is not of the form key=value"},
               {"auto:=3", "'=3' is not of the form"},
               {"auto:moves=1:moves=2", "'moves' is given twice"}};
  for (const auto& each : cases) {
    test::expect_error(ErrorCode::invalid_argument, {each.text, each.part},
                       [&] { static_cast<void>(parse_named_policy(each.text)); });
  }
}

}  // namespace berth
