#include "host/settings_constraints.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "berth/error.h"
#include "berth/support/text.h"

namespace berth {
namespace {

using Kind = ConstraintRule::Kind;

OpSelector read_selector(const JsonReader& json) {
  OpSelector selector;
  if (json.json().is_string()) {
    selector.regex = json.text();
    return selector;
  }
  if (!json.json().is_object()) {
    json.fail("an expression over names of ops, or an object of selectors, is expected");
  }
  json.expect_object({"name", "regex", "type", "requested_device"});
  if (json.has("name")) selector.name = json.at("name").text();
  if (json.has("regex")) selector.regex = json.at("regex").text();
  if (json.has("type")) selector.type = json.at("type").text();
  if (json.has("requested_device")) {
    selector.requested_device = json.at("requested_device").text();
  }
  return selector;
}

std::vector<OpSelector> read_ops(const JsonReader& json) {
  if (!json.json().is_array()) return {read_selector(json)};
  std::vector<OpSelector> ops;
  for (std::size_t i = 0; i < json.size(); ++i) ops.push_back(read_selector(json.at(i)));
  return ops;
}

std::vector<std::string> read_devices(const JsonReader& rule, const char* key) {
  if (!rule.has(key)) return {};
  const JsonReader json = rule.at(key);
  if (json.json().is_string()) return {json.text()};
  std::vector<std::string> devices;
  for (std::size_t i = 0; i < json.size(); ++i) devices.push_back(json.at(i).text());
  return devices;
}

struct RuleKey {
  const char* name;
  Kind kind;
  const char* devices;  // the key of its devices; null = it takes none
};
constexpr RuleKey kRuleKeys[] = {{"pin", Kind::pin, "to"},
                                 {"forbid", Kind::forbid, "on"},
                                 {"colocate", Kind::colocate, nullptr},
                                 {"separate", Kind::separate, nullptr},
                                 {"respect_devices", Kind::respect_devices, nullptr},
                                 {"memory_margin", Kind::memory_margin, "on"}};

const RuleKey& key_of(const JsonReader& json) {
  const RuleKey* given = nullptr;
  int count = 0;
  for (const RuleKey& key : kRuleKeys) {
    if (!json.has(key.name)) continue;
    given = &key;
    ++count;
  }
  if (count != 1) {
    json.fail(
        "a rule has exactly one of pin, forbid, colocate, separate, respect_devices and "
        "memory_margin");
  }
  const std::string_view takes = given->devices == nullptr ? "" : given->devices;
  for (const char* const key : {"to", "on"}) {
    if (!json.has(key) || takes == key) continue;
    json.fail(cat("'", key, "' does not belong to ", given->name,
                  "; pin takes 'to', forbid and memory_margin take 'on'"));
  }
  return *given;
}

ConstraintRule read_rule(const JsonReader& json) {
  json.expect_object(
      {"pin", "forbid", "colocate", "separate", "respect_devices", "memory_margin", "to", "on"});
  const RuleKey& key = key_of(json);
  const JsonReader value = json.at(key.name);
  std::vector<std::string> devices;
  if (key.devices != nullptr) devices = read_devices(json, key.devices);
  if (key.kind == Kind::memory_margin) {
    const std::string amount =
        value.json().is_number() ? std::to_string(value.bytes()) : value.text();
    try {
      return memory_margin_rule(amount, std::move(devices));
    } catch (const Error& error) {
      value.fail(error.what());
    }
  }
  ConstraintRule rule;
  rule.kind = key.kind;
  rule.devices = std::move(devices);
  const bool all = key.kind == Kind::respect_devices && value.json().is_boolean();
  if (all && !value.boolean()) value.fail("respect_devices is true, or says which ops");
  if (!all) rule.ops = read_ops(value);
  return rule;
}

}  // namespace

std::vector<ConstraintRule> read_constraints(const JsonReader& list) {
  if (!list.json().is_array()) {
    list.fail("a list of rules is expected: [{ \"pin\": \"conv1/.*\", \"to\": \"gpu:0\" }, ...]");
  }
  std::vector<ConstraintRule> rules;
  for (std::size_t i = 0; i < list.size(); ++i) {
    rules.push_back(read_rule(list.at(i)));
    rules.back().text = cat("constraints[", i + 1, "] ", to_text(rules.back()));
  }
  return rules;
}

nlohmann::ordered_json written_constraints(const std::vector<ConstraintRule>& rules) {
  using Ordered = nlohmann::ordered_json;
  Ordered list = Ordered::array();
  for (const ConstraintRule& rule : rules) {
    const RuleKey& key = *std::find_if(std::begin(kRuleKeys), std::end(kRuleKeys),
                                       [&](const RuleKey& each) { return each.kind == rule.kind; });
    Ordered ops = Ordered::array();
    for (const OpSelector& selector : rule.ops) {
      Ordered fields = Ordered::object();
      const auto add = [&fields](const char* name, const std::string& text) {
        if (!text.empty()) fields[name] = text;
      };
      add("name", selector.name);
      add("regex", selector.regex);
      add("type", selector.type);
      add("requested_device", selector.requested_device);
      ops.push_back(std::move(fields));
    }
    Ordered json;
    if (rule.kind == Kind::memory_margin) {
      json[key.name] = rule.margin_share > 0 ? Ordered(cat(rule.margin_share * 100, "%"))
                                             : Ordered(rule.margin_bytes);
    } else {
      json[key.name] = ops.empty() ? Ordered(true) : std::move(ops);
    }
    if (key.devices != nullptr && !rule.devices.empty()) json[key.devices] = rule.devices;
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace berth
