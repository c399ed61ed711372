#include "berth/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "berth/error.h"
#include "berth/support/text.h"
#include "support/enum_name.h"

namespace berth {
namespace {

constexpr std::string_view kTypes[] = {"true or false", "an integer", "a number", "text"};
static_assert(ends_with(kTypes, OptionType::text));

template <typename Number>
bool parse_number(std::string_view text, Number& number) {
  const char* end = text.data() + text.size();
  const auto [position, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && position == end && !text.empty();
}

/// `value` as the declared type; false if it is not one.
bool convert(const OptionValue& value, OptionValue& target) {
  if (value.index() == target.index()) {
    target = value;
  } else if (std::holds_alternative<double>(target) &&
             std::holds_alternative<std::int64_t>(value)) {
    target = static_cast<double>(std::get<std::int64_t>(value));
  } else if (std::holds_alternative<std::int64_t>(target) &&
             std::holds_alternative<double>(value)) {
    // Lua has only doubles; a whole one is an integer.
    const double number = std::get<double>(value);
    if (std::nearbyint(number) != number || std::abs(number) > 0x1p53) return false;
    target = static_cast<std::int64_t>(number);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    if (auto* flag = std::get_if<bool>(&target)) {
      if (*text != "true" && *text != "false") return false;
      *flag = *text == "true";
    } else if (auto* integer = std::get_if<std::int64_t>(&target)) {
      return parse_number(*text, *integer);
    } else if (auto* real = std::get_if<double>(&target)) {
      return parse_number(*text, *real) && std::isfinite(*real);
    }
  } else {
    return false;
  }
  const auto* real = std::get_if<double>(&target);
  return real == nullptr || std::isfinite(*real);
}

OptionValue empty_value(OptionType type) {
  switch (type) {
    case OptionType::boolean:
      return false;
    case OptionType::integer:
      return std::int64_t{0};
    case OptionType::real:
      return 0.0;
    case OptionType::text:
      break;
  }
  return std::string();
}

OptionType type_of(const OptionValue& value) {
  return static_cast<OptionType>(value.index());
}

bool in_range(const OptionRange& range, double number) {
  const bool high_enough = range.above_least ? number > range.least : number >= range.least;
  const bool low_enough = range.below_most ? number < range.most : number <= range.most;
  return high_enough && low_enough;
}

/// Whether `value`, which is of the declared type, is in the range or among the choices.
bool allowed(const OptionSpec& spec, const OptionValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return in_range(spec.range, static_cast<double>(*integer)) &&
           (spec.range.divisor <= 1 || *integer % spec.range.divisor == 0);
  }
  if (const auto* real = std::get_if<double>(&value)) return in_range(spec.range, *real);
  if (const auto* text = std::get_if<std::string>(&value)) {
    const std::vector<std::string> choices = option_choices(spec);
    return choices.empty() || std::find(choices.begin(), choices.end(), *text) != choices.end();
  }
  return true;
}

/// The end of a range: 1000000 rather than 1e+06.
std::string end_text(double end) {
  const bool whole = std::nearbyint(end) == end && std::abs(end) < 1e15;
  return whole ? std::to_string(static_cast<std::int64_t>(end)) : to_text(end);
}

/// The values of an option, as the end of a sentence.
std::string taken_text(const OptionSpec& spec) {
  const std::string allowed = allowed_text(spec);
  if (allowed.empty()) return std::string(name_of(kTypes, spec.type));
  if (spec.type == OptionType::text) return "one of " + allowed;
  const bool interval = allowed.find(" to ") != std::string::npos;
  return cat(name_of(kTypes, spec.type), interval ? " from " : " ", allowed);
}

}  // namespace

std::vector<std::string> option_choices(const OptionSpec& spec) {
  return split_names(spec.choices);
}

std::string allowed_text(const OptionSpec& spec) {
  const OptionRange& range = spec.range;
  if (spec.type == OptionType::text) return join(option_choices(spec));
  if (spec.type == OptionType::boolean) return {};
  const std::string least = end_text(range.least);
  const std::string most = end_text(range.most);
  const bool bounded_below = std::isfinite(range.least);
  const bool bounded_above = std::isfinite(range.most);
  std::string text;
  if (bounded_below && bounded_above && !range.above_least && !range.below_most) {
    text = cat(least, " to ", most);
  } else {
    if (bounded_below) text = cat(range.above_least ? "> " : ">= ", least);
    if (bounded_below && bounded_above) text += " and ";
    if (bounded_above) text += cat(range.below_most ? "< " : "<= ", most);
  }
  if (range.divisor > 1) text += cat(text.empty() ? "" : ", ", "a multiple of ", range.divisor);
  return text;
}

Options::Options(std::span<const OptionSpec> specs) : specs_(specs) {
  for (const OptionSpec& spec : specs) {
    OptionValue value = empty_value(spec.type);
    if (!convert(std::string(spec.default_value), value) || !allowed(spec, value)) {
      throw Error(ErrorCode::invalid_argument,
                  cat("option '", spec.name, "': its default '", spec.default_value, "' is not ",
                      taken_text(spec), "; correct the plugin's descriptor"));
    }
    values_.insert_or_assign(spec.name, std::move(value));
  }
}

void Options::set(std::string_view owner, std::string_view name, const OptionValue& value) {
  const auto spec = std::find_if(specs_.begin(), specs_.end(),
                                 [&](const OptionSpec& each) { return each.name == name; });
  if (spec == specs_.end()) {
    std::vector<std::string> known;
    for (const auto& entry : values_) known.push_back(entry.first);
    throw Error(ErrorCode::invalid_argument,
                cat(owner, " has no option '", name, "'",
                    known_names(name, std::move(known), values_.size())));
  }
  OptionValue converted = empty_value(spec->type);
  if (!convert(value, converted) || !allowed(*spec, converted)) {
    throw Error(ErrorCode::invalid_argument,
                cat(owner, ": option '", name, "' takes ", taken_text(*spec), "; got '",
                    to_text(value), "'"));
  }
  values_.insert_or_assign(std::string(name), std::move(converted));
  given_.emplace(name);
}

bool Options::given(std::string_view name) const {
  return given_.find(name) != given_.end();
}

const OptionValue& Options::value(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) {
    throw Error(ErrorCode::invalid_argument,
                cat("option '", name, "' is read but not declared; add it to the descriptor"));
  }
  return found->second;
}

namespace {

template <typename Type>
const Type& typed(const OptionValue& value, std::string_view name) {
  const auto* held = std::get_if<Type>(&value);
  if (held == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                cat("option '", name, "' is declared as ", name_of(kTypes, type_of(value)),
                    " and read as something else; correct the plugin"));
  }
  return *held;
}

}  // namespace

bool Options::boolean(std::string_view name) const {
  return typed<bool>(value(name), name);
}
std::int64_t Options::integer(std::string_view name) const {
  return typed<std::int64_t>(value(name), name);
}
double Options::real(std::string_view name) const {
  return typed<double>(value(name), name);
}
const std::string& Options::text(std::string_view name) const {
  return typed<std::string>(value(name), name);
}

std::string to_text(const OptionValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) {
    char buffer[32];
    const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, *real);
    return error == std::errc() ? std::string(buffer, end) : std::string("?");
  }
  return std::get<std::string>(value);
}

}  // namespace berth
