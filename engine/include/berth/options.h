/// @file
/// Options of plugins. They are declared as data and checked before a plugin sees them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "berth/export.h"

namespace berth {

enum class OptionType : std::uint32_t { boolean, integer, real, text };

/// One option as a plugin's descriptor declares it. Plain data, valid as long as the library.
struct OptionSpec {
  const char* name;           ///< lower_snake_case
  OptionType type;            ///< what a value must parse to
  const char* default_value;  ///< as a user would write it: "true", "8", "1e-3", "topo"
  const char* meaning;        ///< one line, with unit and range; for text, the allowed values
};

using OptionValue = std::variant<bool, std::int64_t, double, std::string>;

/// Option values by name, as a command line or a script gives them.
using OptionTexts = std::map<std::string, OptionValue>;

/// The options of one plugin instance. Every declared name has a value of its declared type.
/// [thread-compatible: const members may be called by several threads]
class BERTH_EXPORT Options {
 public:
  /// Starts with the defaults of `specs`. Throws Error(invalid_argument) for a default that does
  /// not parse.
  explicit Options(std::span<const OptionSpec> specs = {});

  /// Sets an option. Text is parsed to the declared type ("8", "true", "1e-3"). An integer is
  /// accepted where a real is declared. Throws Error(invalid_argument) for an unknown name, listing
  /// the known ones, and for a value of another type. `owner` names the plugin in the message.
  void set(std::string_view owner, std::string_view name, const OptionValue& value);

  /// Values by name. Asking for an undeclared name or for another type is a bug in the plugin and
  /// throws Error(invalid_argument).
  [[nodiscard]] bool boolean(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] double real(std::string_view name) const;
  [[nodiscard]] const std::string& text(std::string_view name) const;

  /// All values, by name, for provenance.
  [[nodiscard]] const std::map<std::string, OptionValue, std::less<>>& values() const {
    return values_;
  }

 private:
  [[nodiscard]] const OptionValue& value(std::string_view name) const;
  std::map<std::string, OptionValue, std::less<>> values_;
};

/// A value as a user would write it.
[[nodiscard]] BERTH_EXPORT std::string to_text(const OptionValue& value);

}  // namespace berth
