// Strict reading of the engine's JSON files: every error names the file, the place and the fix.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace berth {

using Json = nlohmann::json;

/// A value in a file, with its path. Cheap to copy; refers to the Json that it was made from.
class JsonReader {
 public:
  /// Root of `origin`. `value` must outlive the reader.
  JsonReader(const Json& value, const std::string& origin) : value_(&value), origin_(&origin) {}

  /// Throws Error(invalid_file): "<origin>: at <place>: <what>".
  [[noreturn]] void fail(const std::string& what) const;

  /// Checks that this is an object whose keys are all in `known`, and that "format" equals `format`
  /// unless that is empty.
  void expect_object(std::initializer_list<std::string_view> known,
                     std::string_view format = {}) const;
  [[nodiscard]] bool has(std::string_view key) const;
  /// Throws if the key is missing.
  [[nodiscard]] JsonReader at(std::string_view key) const;
  /// Number of elements of an array; throws if this is none.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] JsonReader at(std::size_t index) const;

  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] bool boolean() const;
  /// A finite number.
  [[nodiscard]] double number() const;
  /// A finite number >= 0.
  [[nodiscard]] double amount() const;
  /// A whole number in [low, high].
  [[nodiscard]] std::int64_t integer(std::int64_t low, std::int64_t high) const;
  /// A whole number >= 0.
  [[nodiscard]] std::int64_t bytes() const;

  [[nodiscard]] const Json& json() const { return *value_; }

 private:
  JsonReader(const Json& value, const JsonReader& parent, std::string_view key, std::size_t index)
      : value_(&value), origin_(parent.origin_), parent_(&parent), key_(key), index_(index) {}
  [[nodiscard]] std::string place() const;

  const Json* value_;
  const std::string* origin_;
  // The path to here, followed only for messages. A parent outlives the readers made from it.
  const JsonReader* parent_ = nullptr;
  std::string_view key_;
  std::size_t index_ = 0;
};

/// Parses JSON. Errors name line and column. Duplicate keys are refused, and nesting is bounded.
[[nodiscard]] Json parse_json(std::string_view text, const std::string& origin);

}  // namespace berth
