// Strict reading of the engine's JSON files: every error names the file, the place and the fix.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "berth/dtype.h"

namespace berth {

using Json = nlohmann::json;

/// The line of every value by its place, "constraints[2].pin": that of its key, or of its first
/// character in a list. Entries of lists count from 1.
using JsonLines = std::map<std::string, std::size_t, std::less<>>;

/// Whether a root's key is the text by which an editor finds the schema of the file.
[[nodiscard]] bool names_schema(std::string_view key, const Json& value);
/// Reads a text that parse_json accepts.
[[nodiscard]] JsonLines json_lines(std::string_view text);

/// A value in a file, with its path. Cheap to copy; refers to the Json that it was made from.
class JsonReader {
 public:
  /// Root of `origin`. `value` must outlive the reader.
  JsonReader(const Json& value, const std::string& origin) : value_(&value), origin_(&origin) {}
  /// The same for files that people write by hand: messages name the line where `lines` has it, and
  /// count entries of lists from 1.
  JsonReader(const Json& value, const std::string& origin, const JsonLines& lines)
      : value_(&value), origin_(&origin), lines_(&lines) {}

  /// Throws Error(invalid_file): "<origin>: at <place>: <what>", or with lines "<origin>: line
  /// <line>: at <place>: <what>".
  [[noreturn]] void fail(const std::string& what) const;

  /// Checks that this is an object whose keys are all in `known`, and that "format" equals `format`
  /// unless that is empty. A document with a format may name its schema, too.
  void expect_object(std::initializer_list<std::string_view> known,
                     std::string_view format = {}) const;
  [[nodiscard]] bool has(std::string_view key) const;
  /// Throws if the key is missing.
  [[nodiscard]] JsonReader at(std::string_view key) const;
  /// Number of elements of an array; throws if this is none.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] JsonReader at(std::size_t index) const;
  /// The element at `index`, whose value lies elsewhere: that of a LongDocument. `value` must outlive the reader.
  [[nodiscard]] JsonReader element(const Json& value, std::size_t index) const {
    return {value, *this, {}, index};
  }

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
  /// A known element type.
  [[nodiscard]] DType dtype() const;

  [[nodiscard]] const Json& json() const { return *value_; }
  /// "constraints[2].pin"; empty for the root.
  [[nodiscard]] std::string place() const;

 private:
  JsonReader(const Json& value, const JsonReader& parent, std::string_view key, std::size_t index)
      : value_(&value),
        origin_(parent.origin_),
        lines_(parent.lines_),
        parent_(&parent),
        key_(key),
        index_(index) {}

  const Json* value_;
  const std::string* origin_;
  const JsonLines* lines_ = nullptr;
  // The path to here, followed only for messages. A parent outlives the readers made from it.
  const JsonReader* parent_ = nullptr;
  std::string_view key_;
  std::size_t index_ = 0;
};

/// Parses JSON. Errors name line and column. Duplicate keys are refused, and nesting is bounded.
[[nodiscard]] Json parse_json(std::string_view text, const std::string& origin);

/// A document whose long lists stay text and are read element by element: whole, their values take ten times as much
/// memory as the text.
class LongDocument {
 public:
  /// Parses as parse_json does, apart from the lists that the root has under `long_lists`. `text` must outlive this.
  LongDocument(std::string_view text, const std::string& origin,
               std::initializer_list<std::string_view> long_lists);

  /// The document, with those lists empty.
  [[nodiscard]] const Json& rest() const { return rest_; }
  /// Calls `read` with every element of the long list `key`, in order. `root` reads rest(). A reader of an element, and
  /// what it refers to, lasts as long as the call. Throws if the key is missing or is no list.
  void for_each(const JsonReader& root, std::string_view key,
                const std::function<void(const JsonReader&)>& read) const;

 private:
  std::map<std::string, std::string_view, std::less<>> lists_;  // what lies between [ and ]
  Json rest_;
};

}  // namespace berth
