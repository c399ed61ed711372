// Values of settings by their types: reading them from JSON and from a command line, writing them,
// merging them. An overload per type; a new type of value needs one of each.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "berth/error.h"
#include "berth/support/text.h"
#include "files/json_reader.h"
#include "host/setting_keys.h"
#include "host/settings_constraints.h"
#include "support/duration.h"

namespace berth {

/// Numbers without a fraction.
template <typename T>
concept Whole = std::integral<T> && !std::same_as<T, bool>;

// --- Words -------------------------------------------------------------------------------------

inline void parse_word(const std::string& text, std::string& out) {
  out = text;
}
inline void parse_word(const std::string& text, Objective& out) {
  out = objective_from_name(text);
}
inline void parse_word(const std::string& text, Semantics& out) {
  out = semantics_from_name(text);
}
inline void parse_word(const std::string& text, Grouping& out) {
  out = grouping_from_name(text);
}
inline void parse_word(const std::string& text, BoundEffort& out) {
  out = bound_effort_from_name(text);
}
inline void parse_word(const std::string& text, EvaluatorKind& out) {
  if (text != "simulate" && text != "measure") {
    throw Error(ErrorCode::invalid_argument,
                cat("no evaluator '", text, "'", known_names(text, {"simulate", "measure"})));
  }
  out = text == "measure" ? EvaluatorKind::measure : EvaluatorKind::simulate;
}

inline void parse_word(const std::string& text, Tf32& out) {
  out = tf32_from_name(text);
}
inline void parse_word(const std::string& text, LoadOptions::Arguments& out) {
  out = arguments_from_name(text);
}
inline void parse_word(const std::string& text, LoadOptions::Experts& out) {
  out = experts_from_text(text);
}

inline std::string word(Tf32 value) {
  return std::string(tf32_name(value));
}
inline std::string word(LoadOptions::Arguments value) {
  return std::string(arguments_name(value));
}
inline std::string word(const std::string& value) {
  return value;
}
inline std::string word(Objective value) {
  return std::string(objective_name(value));
}
inline std::string word(Semantics value) {
  return std::string(semantics_name(value));
}
inline std::string word(Grouping value) {
  return std::string(grouping_name(value));
}
inline std::string word(BoundEffort value) {
  return std::string(bound_effort_name(value));
}
inline std::string word(EvaluatorKind value) {
  return value == EvaluatorKind::measure ? "measure" : "simulate";
}

/// "0..4", "7" or "0..2,9": each seed once, in order. Throws Error(invalid_argument) for other text.
[[nodiscard]] std::vector<std::uint64_t> parse_seeds(const std::string& text);

/// "3%" or "0.03"; without a sign below 1, since 5 is meant as 5 % more likely than as 500 %. Throws
/// Error(invalid_argument) for other text.
inline Share parse_share(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  const bool percent = rest != end && *rest == '%';
  if (error != std::errc() || rest + (percent ? 1 : 0) != end || !(value >= 0) ||
      !std::isfinite(value) || (!percent && value >= 1)) {
    throw Error(ErrorCode::invalid_argument, cat("'", text, "' is not a share; write 3% or 0.03"));
  }
  return {percent ? value / 100 : value};
}

// --- From JSON ---------------------------------------------------------------------------------

/// "30s", or "none": infinity.
inline double parse_budget_s(const std::string& text) {
  return text == "none" ? std::numeric_limits<double>::infinity() : parse_duration_s(text);
}

/// Runs `parse`; what it finds wrong is said of the place in the file.
template <typename Parse>
void read_text(const JsonReader& json, const Parse& parse) {
  try {
    parse(json.text());
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_file) throw;
    json.fail(error.what());
  }
}

template <typename Word>
void read(const JsonReader& json, const KeyRow&, std::optional<Word>& out) {
  read_text(json, [&](const std::string& text) { parse_word(text, out.emplace()); });
}
template <Whole Number>
void read(const JsonReader& json, const KeyRow& row, std::optional<Number>& out) {
  out = static_cast<Number>(json.integer(row.least, row.most));
}
inline void read(const JsonReader& json, const KeyRow&, std::optional<bool>& out) {
  out = json.boolean();
}
/// Seconds, or a text with a unit.
inline void read(const JsonReader& json, const KeyRow&, std::optional<double>& out) {
  if (!json.json().is_string()) {
    out = json.amount();
    return;
  }
  read_text(json, [&](const std::string& text) { out = parse_budget_s(text); });
}
/// A number, or "3%".
inline void read(const JsonReader& json, const KeyRow&, std::optional<Share>& out) {
  if (!json.json().is_string()) {
    const double value = json.amount();
    if (value >= 1) json.fail(cat(value, " is not a share; write \"3%\" or 0.03"));
    out = Share{value};
    return;
  }
  read_text(json, [&](const std::string& text) { out = parse_share(text); });
}
inline void read(const JsonReader& json, const KeyRow&, std::vector<std::string>& out) {
  for (std::size_t i = 0; i < json.size(); ++i) out.push_back(json.at(i).text());
}
inline void read(const JsonReader& json, const KeyRow& row,
                 std::optional<std::vector<std::string>>& out) {
  read(json, row, out.emplace());
}
/// A list, one number, or a text such as "0..4".
inline void read(const JsonReader& json, const KeyRow& row,
                 std::optional<std::vector<std::uint64_t>>& out) {
  if (json.json().is_string()) {
    read_text(json, [&](const std::string& text) { out = parse_seeds(text); });
    return;
  }
  const auto seed = [&](const JsonReader& each) {
    out->push_back(static_cast<std::uint64_t>(each.integer(row.least, row.most)));
  };
  out.emplace();
  if (!json.json().is_array()) return seed(json);
  for (std::size_t i = 0; i < json.size(); ++i) seed(json.at(i));
}
/// An empty table of Lua has become a list.
inline void expect_table(const JsonReader& json) {
  const bool empty = json.json().is_array() && json.json().empty();
  if (!empty && !json.json().is_object()) json.fail("expected an object { ... }");
}
inline void read(const JsonReader& json, const KeyRow& row,
                 std::map<std::string, std::int64_t>& out) {
  expect_table(json);
  for (const auto& [name, value] : json.json().items()) {
    out[name] = json.at(name).integer(row.least, row.most);
  }
}
inline void read(const JsonReader& json, const KeyRow& row,
                 std::map<std::string, std::vector<std::int64_t>>& out) {
  expect_table(json);
  for (const auto& [name, value] : json.json().items()) {
    const JsonReader shape = json.at(name);
    std::vector<std::int64_t>& sizes = out[name];
    for (std::size_t i = 0; i < shape.size(); ++i) {
      sizes.push_back(shape.at(i).integer(row.least, row.most));
    }
  }
}
inline void read(const JsonReader& json, const KeyRow&, OptionTexts& out) {
  expect_table(json);
  for (const auto& [name, value] : json.json().items()) {
    const JsonReader option = json.at(name);
    if (value.is_boolean()) {
      out[name] = value.get<bool>();
    } else if (value.is_number_integer()) {
      out[name] = option.integer(-kMostCount, kMostCount);
    } else if (value.is_number()) {
      out[name] = option.number();
    } else {
      out[name] = option.text();
    }
  }
}
inline void read(const JsonReader& json, const KeyRow&, std::vector<ConstraintRule>& out) {
  out = read_constraints(json);
}

// --- From a command line -----------------------------------------------------------------------

template <typename Word>
void parse(const std::string& text, const KeyRow&, std::optional<Word>& out) {
  parse_word(text, out.emplace());
}
template <Whole Number>
void parse(const std::string& text, const KeyRow& row, std::optional<Number>& out) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < row.least || value > row.most) {
    throw Error(ErrorCode::invalid_argument,
                cat("'", text, "' is not a whole number from ", row.least, " to ", row.most));
  }
  out = static_cast<Number>(value);
}
inline void parse(const std::string& text, const KeyRow&, std::optional<double>& out) {
  out = parse_budget_s(text);
}
inline void parse(const std::string& text, const KeyRow&, std::optional<Share>& out) {
  out = parse_share(text);
}
inline void parse(const std::string& text, const KeyRow&, std::optional<bool>& out) {
  if (text != "true" && text != "false") {
    throw Error(ErrorCode::invalid_argument, cat("'", text, "' is neither true nor false"));
  }
  out = text == "true";
}
inline void parse(const std::string& text, const KeyRow&, std::vector<std::string>& out) {
  out = split_names(text);
  if (out.empty()) {
    throw Error(ErrorCode::invalid_argument, "name at least one; commas separate several");
  }
}
inline void parse(const std::string& text, const KeyRow& row,
                  std::optional<std::vector<std::string>>& out) {
  parse(text, row, out.emplace());
}
inline void parse(const std::string& text, const KeyRow&,
                  std::optional<std::vector<std::uint64_t>>& out) {
  out = parse_seeds(text);
}
/// The rest has options of its own: --dim, --set, --pin.
template <typename Value>
void parse(const std::string&, const KeyRow& row, Value&) {
  throw Error(ErrorCode::invalid_argument, cat(row.key.name, " has no form of one text"));
}

// --- Whether, merging, writing -----------------------------------------------------------------

template <typename T>
bool given(const std::optional<T>& value) {
  return value.has_value();
}
template <typename T>
bool given(const T& container) {
  return !container.empty();
}

template <typename T>
void merge(std::optional<T>& mine, const std::optional<T>& stronger) {
  if (stronger) mine = stronger;
}
template <typename Key, typename Value>
void merge(std::map<Key, Value>& mine, const std::map<Key, Value>& stronger) {
  for (const auto& [key, value] : stronger) mine[key] = value;
}
inline void merge(std::vector<std::string>& mine, const std::vector<std::string>& stronger) {
  if (!stronger.empty()) mine = stronger;
}
/// Rules of both hold.
inline void merge(std::vector<ConstraintRule>& mine, const std::vector<ConstraintRule>& stronger) {
  mine.insert(mine.end(), stronger.begin(), stronger.end());
}

using Written = nlohmann::ordered_json;
template <typename T>
Written written(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return word(value);
  } else {
    return value;
  }
}
inline Written written(const LoadOptions::Experts& experts) {
  return cat(experts.chosen, "/", experts.of);
}
inline Written written(Share share) {
  if (share.of_one < 1) return share.of_one;
  return cat(share.of_one * 100, "%");
}
inline Written written(double seconds) {
  return std::isfinite(seconds) ? Written(seconds) : Written("none");
}
template <typename T>
Written written(const std::optional<T>& value) {
  return written(*value);
}
inline Written written(const OptionTexts& options) {
  Written json = Written::object();
  for (const auto& [name, value] : options) {
    std::visit([&json, &name = name](const auto& held) { json[name] = held; }, value);
  }
  return json;
}
inline Written written(const std::vector<ConstraintRule>& rules) {
  return written_constraints(rules);
}

}  // namespace berth
