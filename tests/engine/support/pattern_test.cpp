#include "support/pattern.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/expect_error.h"

using namespace berth;
using namespace berth::test;

TEST_CASE("Pattern: matches whole names") {
  struct Row {
    const char* expression;
    std::vector<std::string> yes;
    std::vector<std::string> no;
  };
  const Row rows[] = {
      {"", {""}, {"a"}},
      {"conv1", {"conv1"}, {"conv10", "xconv1", "conv", ""}},
      {"conv1/.*", {"conv1/", "conv1/weights"}, {"conv10/weights", "conv1"}},
      {"conv1/(.*)", {"conv1/", "conv1/w"}, {"conv1", "conv2/"}},
      {"conv1/.*w", {"conv1/w", "conv1/aw"}, {"conv1/", "conv1/wa"}},
      {"ab*", {"a", "abb"}, {"", "b", "ac"}},
      {".*", {"", "conv1"}, {}},
      {"a|bc|", {"a", "bc", ""}, {"ab", "b", "abc"}},
      {"a(b|c)*d", {"ad", "abcbd"}, {"abc", "aed"}},
      {"(?:ab)+", {"ab", "abab"}, {"", "aba"}},
      {"a?b+?", {"b", "ab", "abbb"}, {"a", "aab"}},
      {"x{3}", {"xxx"}, {"xx", "xxxx"}},
      {"x{2,}", {"xx", "xxxxx"}, {"x"}},
      {"x{1,3}y", {"xy", "xxxy"}, {"y", "xxxxy"}},
      {"x{0}", {""}, {"x"}},
      {"(){1000}a", {"a"}, {""}},
      {"[a-c_]+", {"abc_"}, {"abd", ""}},
      {"[^/]+/[^/]+", {"a/b"}, {"a", "a/b/c"}},
      {"[]a]", {"]", "a"}, {"b"}},
      {"[a-]", {"a", "-"}, {"b"}},
      {"[\\d.]+", {"1.5"}, {"1a"}},
      {"layer_\\d+\\.\\w+", {"layer_12.weight_0"}, {"layer_.w", "layer_1xw"}},
      {"\\S+\\s\\D\\W", {"ab x/"}, {"ab 1/", "ab xx"}},
      {"^a$", {"a"}, {"b", "aa"}},
      {"a^b", {}, {"ab", "a^b"}},
      {"a\\^b", {"a^b"}, {"ab"}},
      {"(a*)*b", {"b", "aaab"}, {"aaaa"}},
      {"\\(\\)\\*", {"()*"}, {"()"}},
      {"\xc3\xa9.", {"\xc3\xa9x"}, {"\xc3x"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.expression);
    const Pattern pattern(row.expression);
    for (const std::string& text : row.yes) CHECK_MESSAGE(pattern.matches(text), text);
    for (const std::string& text : row.no) CHECK_FALSE_MESSAGE(pattern.matches(text), text);
  }
}

TEST_CASE("Pattern: what is no expression is told with its place") {
  struct Row {
    std::string expression;
    const char* complaint;
  };
  const Row rows[] = {
      {"a(b", "at character 2, this '(' is not closed"},
      {"a)b", "at character 2, this ')' closes nothing"},
      {"[a", "at character 1, this '[' is not closed"},
      {"*a", "nothing to repeat"},
      {"a**", "nothing to repeat"},
      {"a{2", "'}' is missing"},
      {"a{x}", "a number is missing"},
      {"a{3,2}", "ends below where it begins"},
      {"a{99999999999}", "at most 1000"},
      {"[z-a]", "a range ends below"},
      {"a\\", "nothing follows"},
      {"\\1", "not known"},
      {"(?=a)", "look-around"},
      {std::string(5000, '('), "nested deeper"},
      {"((a{1000}){1000}){1000}", "steps"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.expression.substr(0, 60));
    expect_error(ErrorCode::invalid_argument, {row.complaint},
                 [&] { Pattern pattern(row.expression); });
  }
}

TEST_CASE("Pattern: takes no more than expression x name, and no stack") {
  // Each of these takes a backtracking matcher exponential time or a stack frame per byte.
  const std::string name(100'000, 'a');
  CHECK_FALSE(Pattern("(a*)*b").matches(name));
  CHECK_FALSE(Pattern("(a|aa)+b").matches(name));
  CHECK(Pattern("(.|a)*").matches(name));
  CHECK_FALSE(Pattern("(x+x+)+y").matches(std::string(5000, 'x')));
  std::string many;
  for (int i = 0; i < 25; ++i) many += "a?";
  CHECK(Pattern(many + std::string(25, 'a')).matches(std::string(25, 'a')));
  CHECK(Pattern("((((){1000}){1000}){1000}){1000}").matches(""));
}
