// Dimensions that are computed from others: "past + seq", "((s0 - 1)//2) + 1", "Max(1, s0)".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::onnx_frontend {

/// An expression as exporters write it: numbers, symbols (letters, digits, '_' and '.'), brackets,
/// + - * / // % **, and the functions by which symbolic libraries name them (Max, Min, floor, ceil,
/// FloorDiv, Mod, ...). "16s1" is 16 times s1. A name alone is an expression of one symbol.
/// [thread-compatible]
class DimExpression {
 public:
  /// Empty where the text is no such expression, or nests deeper than any exporter writes.
  [[nodiscard]] static std::optional<DimExpression> parse(std::string_view text);

  /// Distinct, in the order in which they come.
  [[nodiscard]] const std::vector<std::string>& symbols() const noexcept { return symbols_; }
  /// Whether it is more than one symbol: a number, or something computed.
  [[nodiscard]] bool computed() const noexcept {
    return steps_.size() != 1 || steps_.front().kind != Kind::symbol;
  }

  using Lookup = std::function<std::optional<std::int64_t>(const std::string& symbol)>;
  /// Exact, in fractions; what is no whole number in the end is rounded down. Empty where a symbol
  /// has no value, a divisor is 0, or a number leaves the range of 64 bits.
  [[nodiscard]] std::optional<std::int64_t> value(const Lookup& value_of) const;

 private:
  enum class Kind : std::uint8_t {
    number,
    symbol,
    negate,
    add,
    subtract,
    multiply,
    divide,
    floor_divide,
    ceil_divide,
    modulo,
    power,
    max,
    min,
    floor,
    ceil,
    round,
    absolute,
    same,
  };
  /// One step of a machine with a stack; `argument` is a number, an index into the symbols, or how
  /// many operands max and min take.
  struct Step {
    Kind kind;
    std::int64_t argument = 0;
  };
  class Parser;
  class Machine;

  std::vector<Step> steps_;
  std::vector<std::string> symbols_;
};

}  // namespace berth::onnx_frontend
