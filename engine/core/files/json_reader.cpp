#include "files/json_reader.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <vector>

#include "berth/error.h"
#include "berth/support/text.h"

namespace berth {

std::string JsonReader::place() const {
  if (parent_ == nullptr) return {};
  std::string path = parent_->place();
  if (key_.empty()) return path + cat("[", index_ + (lines_ == nullptr ? 0 : 1), "]");
  if (!path.empty()) path += '.';
  return path.append(key_);
}

void JsonReader::fail(const std::string& what) const {
  const std::string path = place();
  std::string line;
  if (lines_ != nullptr) {
    if (const auto found = lines_->find(path); found != lines_->end()) {
      line = cat("line ", found->second, ": ");
    }
  }
  throw Error(ErrorCode::invalid_file,
              cat(*origin_, ": ", line, path.empty() ? "" : "at " + path + ": ", what));
}

namespace {

/// Also finds the line of the first key that its object has already; 0 = none.
JsonLines scan_lines(std::string_view text, std::size_t& duplicate) {
  struct Level {
    std::string path;
    bool object;
    std::size_t entries = 0;
    bool expects = true;  ///< a key, or an entry of the list
  };
  JsonLines lines;
  duplicate = 0;
  std::vector<Level> levels;
  std::string path;  // of the value that comes next
  std::size_t line = 1;
  const auto begins_value = [&] {
    if (levels.empty() || levels.back().object || !levels.back().expects) return;
    levels.back().expects = false;
    path = cat(levels.back().path, "[", ++levels.back().entries, "]");
    lines[path] = line;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (c == '{' || c == '[') {
      begins_value();
      levels.push_back({path, c == '{'});
    } else if (c == '}' || c == ']') {
      levels.pop_back();
    } else if (c == ',') {
      levels.back().expects = true;
    } else if (c == '"') {
      begins_value();
      const std::size_t begin = i + 1;
      for (++i; text[i] != '"'; ++i) i += text[i] == '\\' ? 1 : 0;
      if (levels.empty() || !levels.back().object || !levels.back().expects) continue;
      levels.back().expects = false;
      const std::string& parent = levels.back().path;
      path = cat(parent, parent.empty() ? "" : ".", text.substr(begin, i - begin));
      if (!lines.emplace(path, line).second && duplicate == 0) duplicate = line;
    } else if (std::string_view(" \t\r\n:").find(c) == std::string_view::npos) {
      begins_value();  // a number, true, false or null
    }
  }
  return lines;
}

}  // namespace

JsonLines json_lines(std::string_view text) {
  std::size_t duplicate = 0;
  return scan_lines(text, duplicate);
}

bool names_schema(std::string_view key, const Json& value) {
  return key == "$schema" && value.is_string();
}

void JsonReader::expect_object(std::initializer_list<std::string_view> known,
                               std::string_view format) const {
  if (!value_->is_object()) fail("expected an object { ... }");
  for (const auto& [key, value] : value_->items()) {
    if (!format.empty() && names_schema(key, value)) continue;
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      fail(cat("unknown key '", key, "'", known_names(key, {known.begin(), known.end()})));
    }
  }
  if (!format.empty() && at("format").text() != format) {
    at("format").fail(cat("the format is '", at("format").text(), "', expected '", format, "'"));
  }
}

bool JsonReader::has(std::string_view key) const {
  return value_->contains(key);
}

JsonReader JsonReader::at(std::string_view key) const {
  if (!value_->is_object()) fail("expected an object { ... }");
  const auto found = value_->find(key);
  if (found == value_->end()) fail(cat("the key '", key, "' is missing; add it"));
  return JsonReader(*found, *this, key, 0);
}

std::size_t JsonReader::size() const {
  if (!value_->is_array()) fail("expected a list [ ... ]");
  return value_->size();
}

JsonReader JsonReader::at(std::size_t index) const {
  return JsonReader((*value_)[index], *this, {}, index);
}

const std::string& JsonReader::text() const {
  if (!value_->is_string()) fail("expected a text in quotes");
  return value_->get_ref<const std::string&>();
}

bool JsonReader::boolean() const {
  if (!value_->is_boolean()) fail("expected true or false");
  return value_->get<bool>();
}

double JsonReader::number() const {
  if (!value_->is_number()) fail("expected a number");
  const double number = value_->get<double>();
  if (!std::isfinite(number)) fail("expected a finite number");
  return number;
}

double JsonReader::amount() const {
  const double value = number();
  if (value < 0) fail(cat("expected a number that is not negative, found ", value));
  return value;
}

std::int64_t JsonReader::integer(std::int64_t low, std::int64_t high) const {
  std::int64_t value = 0;
  if (value_->is_number_unsigned()) {
    const auto number = value_->get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      fail("the number is not within 2^63 - 1");
    }
    value = static_cast<std::int64_t>(number);
  } else if (value_->is_number_integer()) {
    value = value_->get<std::int64_t>();
  } else if (value_->is_number_float()) {
    // People, and writers in other languages, write large whole numbers as 1.6e10.
    const double number = value_->get<double>();
    if (std::nearbyint(number) != number) fail("expected a whole number");
    if (!(std::abs(number) < 0x1p63)) fail("the number is not within 2^63 - 1");
    value = static_cast<std::int64_t>(number);
  } else {
    fail("expected a whole number");
  }
  if (value < low || value > high) {
    fail(cat("expected a whole number from ", low, " to ", high, ", found ", value));
  }
  return value;
}

std::int64_t JsonReader::bytes() const {
  return integer(0, std::numeric_limits<std::int64_t>::max());
}

DType JsonReader::dtype() const {
  const auto dtype = dtype_from_name(text());
  if (dtype && *dtype != DType::unknown) return *dtype;
  fail(cat("'", text(), "' is no element type; write f32, f16, bf16, i64, i8, bool or another"));
}

namespace {

/// "line 3, column 14" of a byte offset.
std::string line_and_column(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 = 0
  return cat("line ", line, ", column ", before.size() - line_start + 1);
}

/// Reads without keeping anything, to find what is wrong. The library can also be told of what it
/// reads while it builds a value, but then looks through all of a list after each of its elements.
class Inspection final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t& text) override { return check(text); }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    keys_.emplace_back();
    return enter();
  }
  bool key(string_t& key) override {
    check(key);
    if (!keys_.back().insert(key).second && refused.empty()) {
      refused = cat("the key '", key, "' appears twice in one object");
      duplicate = true;
    }
    return true;
  }
  bool end_object() override {
    keys_.pop_back();
    return leave();
  }
  bool start_array(std::size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool parse_error(std::size_t position, const std::string& last,
                   const Json::exception& error) override {
    too_large = dynamic_cast<const Json::out_of_range*>(&error) != nullptr;
    token = last;
    end = position;
    return false;
  }

  std::string refused;     ///< what is valid JSON but not accepted; empty = nothing
  bool duplicate = false;  ///< it is a key that its object has already
  bool too_large = false;  ///< reading stopped at a number too large for a double
  std::string token;       ///< the last one read where reading stopped
  std::size_t end = 0;     ///< bytes read until then

 private:
  /// A NUL would end every message that quotes the text, and the name in other programs.
  bool check(const std::string& text) {
    const std::size_t nul = text.find('\0');
    if (nul != std::string::npos && refused.empty()) {
      refused = cat("a NUL character (\\u0000) follows '", text.substr(0, nul), "' in a text");
    }
    return true;
  }
  bool enter() {
    constexpr int kDeepest = 64;
    if (++depth_ > kDeepest) refused = "nested too deeply";
    return true;
  }
  bool leave() {
    --depth_;
    return true;
  }

  std::vector<std::unordered_set<std::string>> keys_;  // of the open objects
  int depth_ = 0;
};

/// Throws where parse_json does.
void inspect(std::string_view text, const std::string& origin) {
  Inspection found;
  const auto refuse = [&](std::size_t offset, const std::string& what) {
    return Error(ErrorCode::invalid_file, cat(origin, ": ", line_and_column(text, offset), ": ",
                                              what, "; correct the file"));
  };
  if (!Json::sax_parse(text.begin(), text.end(), &found)) {
    if (found.too_large) {
      throw refuse(found.end - std::min(found.end, found.token.size()),
                   cat("the number ", found.token, " is too large (above 1.7e308)"));
    }
    // Positions are counted from 1.
    throw refuse(found.end > 0 ? found.end - 1 : 0,
                 text.empty() ? "the file is empty" : "not valid JSON here");
  }
  if (!found.refused.empty()) {
    std::size_t line = 0;
    if (found.duplicate) static_cast<void>(scan_lines(text, line));
    throw Error(ErrorCode::invalid_file, cat(origin, ": ", line > 0 ? cat("line ", line, ": ") : "",
                                             found.refused, "; correct the file"));
  }
}

/// Takes the first value or key off what is left of an object or a list of valid JSON; empty at its end.
std::string_view take_value(std::string_view& left) {
  constexpr std::string_view kBetween = " \t\r\n,:";
  constexpr std::string_view kAfter = " \t\r\n,:]}";
  left.remove_prefix(std::min(left.find_first_not_of(kBetween), left.size()));
  std::size_t end = 0;
  for (int depth = 0; end < left.size(); ++end) {
    const char c = left[end];
    if (depth == 0 && kAfter.find(c) != std::string_view::npos) break;
    if (c == '"') {
      for (++end; left[end] != '"'; ++end) end += left[end] == '\\' ? 1 : 0;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
  }
  const std::string_view value = left.substr(0, end);
  left.remove_prefix(end);
  return value;
}

}  // namespace

Json parse_json(std::string_view text, const std::string& origin) {
  inspect(text, origin);
  return Json::parse(text.begin(), text.end());
}

LongDocument::LongDocument(std::string_view text, const std::string& origin,
                           std::initializer_list<std::string_view> long_lists) {
  inspect(text, origin);
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::string_view left = text;
  if (left.starts_with(kByteOrderMark)) left.remove_prefix(kByteOrderMark.size());
  left.remove_prefix(left.find_first_not_of(" \t\r\n"));
  if (!left.starts_with('{')) {
    rest_ = Json::parse(text.begin(), text.end());
    return;
  }
  left.remove_prefix(1);
  rest_ = Json::object();
  for (std::string_view key = take_value(left); !key.empty(); key = take_value(left)) {
    const std::string name = Json::parse(key).get<std::string>();
    std::string_view value = take_value(left);
    if (value.starts_with('[') &&
        std::find(long_lists.begin(), long_lists.end(), name) != long_lists.end()) {
      lists_[name] = value.substr(1, value.size() - 2);
      value = "[]";
    }
    rest_[name] = Json::parse(value);
  }
}

void LongDocument::for_each(const JsonReader& root, std::string_view key,
                            const std::function<void(const JsonReader&)>& read) const {
  const JsonReader list = root.at(key);
  static_cast<void>(list.size());  // refuses what is no list
  std::string_view left = lists_.find(key)->second;
  std::size_t index = 0;
  for (std::string_view text = take_value(left); !text.empty(); text = take_value(left)) {
    const Json value = Json::parse(text);
    read(list.element(value, index++));
  }
}

}  // namespace berth
