/// @file
/// Options of plugins. They are declared as data and checked before a plugin sees them.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "berth/export.h"

namespace berth {

enum class OptionType : std::uint32_t { boolean, integer, real, text };

/// The numbers that an option may take. NaN and infinity are in no range. Plain data.
///
///     OptionRange::at_least(1)                      >= 1
///     OptionRange::above(0).up_to(10)               > 0 and <= 10
///     OptionRange::at_least(32).up_to(4096).multiple_of(32)
struct OptionRange {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool above_least = false;  ///< `least` itself is excluded
  bool below_most = false;   ///< `most` itself is excluded
  std::int64_t divisor = 1;  ///< of an integer: every value is a multiple of it

  static constexpr OptionRange at_least(double least) { return OptionRange{.least = least}; }
  static constexpr OptionRange above(double least) {
    return OptionRange{.least = least, .above_least = true};
  }
  [[nodiscard]] constexpr OptionRange up_to(double value) const {
    OptionRange range = *this;
    range.most = value;
    return range;
  }
  [[nodiscard]] constexpr OptionRange below(double value) const {
    OptionRange range = up_to(value);
    range.below_most = true;
    return range;
  }
  [[nodiscard]] constexpr OptionRange multiple_of(std::int64_t value) const {
    OptionRange range = *this;
    range.divisor = value;
    return range;
  }
};

/// One option as a plugin's descriptor declares it. Plain data, valid as long as the library. The
/// engine checks ranges and choices; a plugin sees only values that are allowed.
struct OptionSpec {
  const char* name;           ///< lower_snake_case
  OptionType type;            ///< what a value must parse to
  const char* default_value;  ///< as a user would write it: "true", "8", "1e-3", "topo"
  const char* meaning;        ///< one line, with the unit; range and choices are shown beside it
  OptionRange range = {};     ///< of an integer or a real
  const char* choices = "";   ///< of a text: the allowed values, as in "kway,recursive"; "" = any
};

/// The choices of a text as a list. Empty = any text.
[[nodiscard]] BERTH_EXPORT std::vector<std::string> option_choices(const OptionSpec& spec);
/// Range or choices in words: ">= 1", "1 to 64", "> 0 and <= 10", "kway, recursive". Empty if every
/// value of the type is allowed.
[[nodiscard]] BERTH_EXPORT std::string allowed_text(const OptionSpec& spec);

using OptionValue = std::variant<bool, std::int64_t, double, std::string>;

/// Option values by name, as a command line or a script gives them.
using OptionTexts = std::map<std::string, OptionValue>;

/// The options of one plugin instance. Every declared name has a value of its declared type.
/// [thread-compatible: const members may be called by several threads]
class BERTH_EXPORT Options {
 public:
  /// Starts with the defaults of `specs`, which must live as long as `set` is called. Throws
  /// Error(invalid_argument) for a default that is not allowed.
  explicit Options(std::span<const OptionSpec> specs = {});

  /// Sets an option. Text is parsed to the declared type ("8", "true", "1e-3"). An integer is
  /// accepted where a real is declared. Throws Error(invalid_argument) for an unknown name, listing
  /// the known ones, and for a value of another type, out of range or not among the choices.
  /// `owner` names the plugin in the message.
  void set(std::string_view owner, std::string_view name, const OptionValue& value);

  /// Values by name. Asking for an undeclared name or for another type is a bug in the plugin and
  /// throws Error(invalid_argument).
  [[nodiscard]] bool boolean(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] double real(std::string_view name) const;
  [[nodiscard]] const std::string& text(std::string_view name) const;

  /// Whether `set` was called for the option, be it with its default. False for an undeclared name.
  [[nodiscard]] bool given(std::string_view name) const;

  /// All values, by name, for provenance.
  [[nodiscard]] const std::map<std::string, OptionValue, std::less<>>& values() const {
    return values_;
  }

 private:
  [[nodiscard]] const OptionValue& value(std::string_view name) const;
  std::span<const OptionSpec> specs_;
  std::map<std::string, OptionValue, std::less<>> values_;
  std::set<std::string, std::less<>> given_;
};

/// A value as a user would write it.
[[nodiscard]] BERTH_EXPORT std::string to_text(const OptionValue& value);

}  // namespace berth
