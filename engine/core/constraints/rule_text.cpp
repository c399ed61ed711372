#include "constraints/rule_text.h"

#include <charconv>

#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "support/sizes.h"

namespace berth {
namespace {

/// As a Lua string, so that a message can be pasted back into a config.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string selector_text(const OpSelector& selector) {
  std::vector<std::string> fields;
  const auto add = [&fields](const char* key, const std::string& value) {
    if (!value.empty()) fields.push_back(cat(key, " = ", quoted(value)));
  };
  add("name", selector.name);
  add("regex", selector.regex);
  add("type", selector.type);
  add("requested_device", selector.requested_device);
  if (fields.size() == 1 && !selector.regex.empty()) return quoted(selector.regex);
  return "{ " + join(fields) + " }";
}

std::string list_text(const std::vector<std::string>& items) {
  return items.size() == 1 ? items.front() : "{ " + join(items, 8) + " }";
}

std::string ops_text(const std::vector<OpSelector>& ops) {
  std::vector<std::string> items;
  for (const OpSelector& selector : ops) items.push_back(selector_text(selector));
  return list_text(items);
}

std::string devices_text(const std::vector<std::string>& devices) {
  std::vector<std::string> items;
  for (const std::string& device : devices) items.push_back(quoted(device));
  return list_text(items);
}

std::string amount_text(const ConstraintRule& rule) {
  if (rule.margin_share > 0) return cat("\"", rule.margin_share * 100, "%\"");
  return std::to_string(rule.margin_bytes);
}

}  // namespace

std::string to_text(const ConstraintRule& rule) {
  using Kind = ConstraintRule::Kind;
  switch (rule.kind) {
    case Kind::pin:
      return cat("{ pin = ", ops_text(rule.ops), ", to = ", devices_text(rule.devices), " }");
    case Kind::forbid:
      return cat("{ forbid = ", ops_text(rule.ops), ", on = ", devices_text(rule.devices), " }");
    case Kind::colocate:
      return cat("{ colocate = ", ops_text(rule.ops), " }");
    case Kind::separate:
      return cat("{ separate = ", ops_text(rule.ops), " }");
    case Kind::respect_devices:
      return cat("{ respect_devices = ", rule.ops.empty() ? "true" : ops_text(rule.ops), " }");
    case Kind::memory_margin:
      return rule.devices.empty() ? cat("{ memory_margin = ", amount_text(rule), " }")
                                  : cat("{ memory_margin = ", amount_text(rule),
                                        ", on = ", devices_text(rule.devices), " }");
  }
  return "{}";
}

std::string shown(const ConstraintRule& rule) {
  return rule.text.empty() ? to_text(rule) : rule.text;
}

std::vector<std::string> shown(const std::vector<ConstraintRule>& rules,
                               const std::vector<std::size_t>& which) {
  std::vector<std::string> texts;
  for (const std::size_t rule : which) texts.push_back(shown(rules[rule]));
  return texts;
}

std::string listed(const std::vector<std::string>& items) {
  constexpr std::size_t kMost = 12;
  std::string text;
  for (std::size_t i = 0; i < items.size() && i < kMost; ++i) {
    text += (i == 0 ? "" : "; ") + items[i];
  }
  return items.size() > kMost ? text + cat("; and ", items.size() - kMost, " more") : text;
}

ConstraintRule memory_margin_rule(std::string_view amount, std::vector<std::string> devices) {
  ConstraintRule rule;
  rule.kind = ConstraintRule::Kind::memory_margin;
  rule.devices = std::move(devices);
  double value = 0;
  const auto [rest, error] = std::from_chars(amount.data(), amount.data() + amount.size(), value);
  std::string_view unit = amount.substr(at(rest - amount.data()));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  if (error == std::errc() && value >= 0 && unit == "%" && value < 100) {
    rule.margin_share = value / 100;
    return rule;
  }
  if (const auto bytes = size_of_text(amount)) {
    rule.margin_bytes = *bytes;
    return rule;
  }
  throw Error(
      ErrorCode::invalid_argument,
      cat("'", amount, "' is not a memory margin; write a share below 100 %, such as 10%, or ",
          "a size, such as 2GiB or 500MB"));
}

}  // namespace berth
