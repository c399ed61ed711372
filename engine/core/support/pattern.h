// Regular expressions of users over names of ops. Matching takes time in proportion to name x
// expression, whatever they hold, and does not recurse. So no expression can hang or overflow it.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

/// A compiled regular expression, in the common syntax: literals, `.`, `[a-z]`, `[^a-z]`, `\d \w
/// \s` and their capitals, `( )`, `(?: )`, `|`, `* + ? {n} {n,} {n,m}`, `^ $`, and `\` before
/// punctuation. There are no back references and no look-around, which need unbounded time. Names
/// are bytes: `.` is any one byte.
///
/// Simulates the automaton of the expression on all its states at once (Thompson, "Regular
/// expression search algorithm", CACM 1968). [thread-safe: immutable]
class Pattern {
 public:
  /// Throws Error(invalid_argument) that shows the expression and says what is wrong, and where.
  explicit Pattern(std::string_view expression);

  /// Whether the whole of `text` matches.
  [[nodiscard]] bool matches(std::string_view text) const;

 private:
  friend class PatternCompiler;
  enum class Opcode : std::uint8_t { take, split, jump, at_begin, at_end, accept };
  struct Step {
    Opcode what;
    std::int32_t next = -1;   ///< take: index into sets_; split, jump: a step
    std::int32_t other = -1;  ///< split: the other step
  };
  using Bytes = std::bitset<256>;
  class Run;

  std::vector<Step> steps_;
  std::vector<Bytes> sets_;
  std::string beginning_;          // of every text that matches
  bool matches_any_rest_ = false;  // behind it
};

}  // namespace berth
