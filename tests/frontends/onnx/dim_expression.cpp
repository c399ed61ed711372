// Dimensions that are computed from others.
#include "onnx/dim_expression.h"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace berth::onnx_frontend {
namespace {

std::optional<std::int64_t> value(const std::string& text,
                                  const std::map<std::string, std::int64_t>& given) {
  const auto expression = DimExpression::parse(text);
  REQUIRE_MESSAGE(expression.has_value(), text);
  return expression->value([&](const std::string& symbol) -> std::optional<std::int64_t> {
    const auto found = given.find(symbol);
    return found == given.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST_CASE("expressions as exporters write them") {
  const std::pair<const char*, std::int64_t> kCases[] = {
      {"s0", 37},
      {"7", 7},
      {"2*s0", 74},
      {"s0//2", 18},
      {"(s0//8)", 4},
      {"s0 + s1", 42},
      {"s0*s1", 185},
      {"s0**2", 1369},
      {"2**s1*3", 96},
      {"Max(1, s0)", 37},
      {"max(1, s0, 99)", 99},
      {"Min(s0, 7)", 7},
      {"Mod(s0, 5)", 2},
      {"PythonMod(-s0, 5)", 3},
      {"-s0 % 5", 3},
      {"floor(s0/2)", 18},
      {"ceiling(s0/2)", 19},
      {"ceil(s0 / 2)", 19},
      {"-s0 + 300", 263},
      {"s0 - 1", 36},
      {"s0 - 1 - 1", 35},
      {"100 - (s0 - 1)", 64},
      {"FloorDiv(s0, 4)", 9},
      {"floor_div(s0, 4)", 9},
      {"CeilDiv(s0, 4)", 10},
      {"RoundToInt(s0/2)", 18},
      {"RoundToInt(IntTrueDiv(s0 + 2, 2))", 20},
      {"round(s0/4)", 9},
      {"round(-s1/2) + 10", 8},
      {"((s0 - 1)//2) + 1", 19},
      {"CeilToInt(IntTrueDiv(s0, 4))", 10},
      {"1 + floor((s0-1)/2)", 19},
      {"s0 // 2 * s1", 90},
      {"s0/2*2", 37},
      {"s0/2", 18},
      {"-7//2 + 10", 6},
      {"floor(s0*0.5)", 18},
      {"0.25*s0*4", 37},
      {"16s1", 80},
      {"floor(floor(floor(s0/2 - 1/2)/2 - 1/2)/2 + 1/2)", 4},
      {"encoder.layers_0.len + decoder_2", 11},
      {"s0*s1//(s0*s1)", 1},
      {"-2**2 + 10", 6},
  };
  for (const auto& [text, expected] : kCases) {
    CAPTURE(text);
    CHECK(value(text, {{"s0", 37}, {"s1", 5}, {"encoder.layers_0.len", 4}, {"decoder_2", 7}}) ==
          expected);
  }
}

TEST_CASE("no value where a symbol has none, a divisor is 0, or a number has no room") {
  for (const char* text : {"n", "s0//0", "s0 % (s0 - 2)", "1/(s0-2)", "2**s0**99", "s0**-65",
                           "9223372036854775807*s0", "9223372036854775807 + s0"}) {
    CAPTURE(text);
    CHECK(value(text, {{"s0", 2}}) == std::nullopt);
  }
  CHECK(value("s0 - 3", {{"s0", 2}}) == -1);
}

TEST_CASE("what is no expression") {
  const std::string deep(5000, '(');
  const std::string signs = std::string(3000, '-') + "a";
  for (const std::string& text :
       {std::string(), std::string(" "), std::string("a b"), std::string("a +"), std::string("* a"),
        std::string("(a"), std::string("a)"), std::string("f(a)"), std::string("Max()"),
        std::string("Mod(a)"), std::string("floor(a, b)"), std::string("a ** "), std::string("a?"),
        std::string("unk:0"), std::string("99999999999999999999"), std::string("a//"), deep,
        signs}) {
    CAPTURE(text.substr(0, 40));
    CHECK_FALSE(DimExpression::parse(text).has_value());
  }
}

TEST_CASE("the symbols of an expression, each once") {
  const auto expression = DimExpression::parse("a.b + max(c_1, a.b)*3 - 2d");
  REQUIRE(expression.has_value());
  CHECK(expression->symbols() == std::vector<std::string>{"a.b", "c_1", "d"});
  CHECK(expression->computed());
  CHECK_FALSE(DimExpression::parse("unk__12")->computed());
  CHECK(DimExpression::parse("12")->computed());
}

}  // namespace
}  // namespace berth::onnx_frontend
