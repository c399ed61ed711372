#include "berth/settings.h"

#include <cstdlib>
#include <limits>
#include <utility>

#include "berth/error.h"
#include "berth/files.h"
#include "berth/groups.h"
#include "berth/support/text.h"
#include "files/json_reader.h"
#include "host/settings_constraints.h"
#include "support/duration.h"

namespace berth {
namespace {

constexpr std::string_view kFormat = "berth.settings/1";

constexpr SettingKey kKeys[] = {
    {"cluster", SettingKind::text},   {"policy", SettingKind::text},
    {"policies", SettingKind::names}, {"fallbacks", SettingKind::names},
    {"objective", SettingKind::text}, {"semantics", SettingKind::text},
    {"costs", SettingKind::text},     {"groups", SettingKind::count},
    {"grouping", SettingKind::text},  {"seed", SettingKind::count},
    {"threads", SettingKind::count},  {"budget", SettingKind::duration},
    {"moves", SettingKind::count},    {"evaluator", SettingKind::text},
    {"backend", SettingKind::text},   {"clusters", SettingKind::names},
    {"seeds", SettingKind::numbers},  {"output", SettingKind::text},
    {"annotate", SettingKind::text},  {"trace", SettingKind::text},
    {"svg", SettingKind::text},       {"certificate", SettingKind::text},
    {"csv", SettingKind::text},       {"report", SettingKind::text},
    {"write", SettingKind::names},    {"plugin_folders", SettingKind::names},
    {"plugins", SettingKind::names},  {"bound", SettingKind::text},
    {"log", SettingKind::text},
};

/// Lists travel as one text.
std::string joined(const std::vector<std::string>& items) {
  std::string list;
  for (const std::string& item : items) list += (list.empty() ? "" : ",") + item;
  return list;
}

std::vector<std::string> texts(const JsonReader& json) {
  std::vector<std::string> items;
  for (std::size_t i = 0; i < json.size(); ++i) items.push_back(json.at(i).text());
  return items;
}

/// What every JSON reader and Lua agree on.
constexpr std::int64_t kMostCount = std::int64_t{1} << 53;

OptionValue read_value(const JsonReader& json, SettingKind kind) {
  switch (kind) {
    case SettingKind::text:
      break;
    case SettingKind::count:
      return json.integer(0, kMostCount);
    case SettingKind::names:
      if (json.json().is_array()) return joined(texts(json));
      break;
    case SettingKind::numbers: {
      if (json.json().is_string()) break;
      if (!json.json().is_array()) return std::to_string(json.integer(0, kMostCount));
      std::vector<std::string> numbers;
      for (std::size_t i = 0; i < json.size(); ++i) {
        numbers.push_back(std::to_string(json.at(i).integer(0, kMostCount)));
      }
      return joined(numbers);
    }
    case SettingKind::duration:
      if (json.json().is_string()) {
        try {
          static_cast<void>(parse_duration_s(json.text()));
        } catch (const Error& error) {
          json.fail(error.what());
        }
        return json.text();
      }
      return json.amount();
  }
  return json.text();
}

OptionValue read_option(const JsonReader& json) {
  const Json& value = json.json();
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return json.integer(-kMostCount, kMostCount);
  if (value.is_number()) return json.number();
  return json.text();
}

LoadOptions read_load(const JsonReader& root) {
  LoadOptions load;
  if (root.has("dims")) {
    const JsonReader dims = root.at("dims");
    if (!dims.json().is_object()) dims.fail("expected an object { ... }");
    for (const auto& [name, value] : dims.json().items()) {
      load.dims[name] = dims.at(name).integer(0, kMostCount);
    }
  }
  if (root.has("batch")) load.dims["*"] = root.at("batch").integer(0, kMostCount);
  if (root.has("shapes")) {
    const JsonReader shapes = root.at("shapes");
    if (!shapes.json().is_object()) shapes.fail("expected an object { ... }");
    for (const auto& [name, value] : shapes.json().items()) {
      const JsonReader shape = shapes.at(name);
      for (std::size_t i = 0; i < shape.size(); ++i) {
        load.shapes[name].push_back(shape.at(i).integer(0, kMostCount));
      }
    }
  }
  if (root.has("fetches")) load.fetches = texts(root.at("fetches"));
  return load;
}

void check_known(const JsonReader& root) {
  if (!root.json().is_object()) root.fail("expected an object { ... }");
  if (root.at("format").text() != kFormat) {
    root.at("format").fail(
        cat("the format is '", root.at("format").text(), "', expected '", kFormat, "'"));
  }
  std::vector<std::string> known = {"format", "options", "constraints", "dims",
                                    "batch",  "shapes",  "fetches"};
  for (const SettingKey& key : kKeys) known.emplace_back(key.name);
  for (const auto& [key, value] : root.json().items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      root.fail(cat("unknown key '", key, "'", known_names(key, known, known.size())));
    }
  }
}

/// A name that a file gives, as seen from the program.
std::string beside(const std::filesystem::path& file, const std::string& name) {
  const bool is_file = !name.starts_with('{') && name.find_first_of("/.") != std::string::npos;
  if (!is_file || std::filesystem::path(name).is_absolute()) return name;
  return (file.parent_path() / name).string();
}

}  // namespace

std::span<const SettingKey> setting_keys() noexcept {
  return kKeys;
}

std::optional<std::string> Settings::text(std::string_view key) const {
  const auto found = values.find(key);
  if (found == values.end()) return std::nullopt;
  return to_text(found->second);
}

std::optional<std::int64_t> Settings::count(std::string_view key) const {
  const auto found = values.find(key);
  if (found == values.end()) return std::nullopt;
  return std::get<std::int64_t>(found->second);
}

std::vector<std::string> Settings::names(std::string_view key) const {
  return split_names(text(key).value_or(""));
}

double Settings::budget_s() const {
  const auto found = values.find("budget");
  if (found == values.end()) return std::numeric_limits<double>::infinity();
  if (const auto* const written = std::get_if<std::string>(&found->second)) {
    return parse_duration_s(*written);
  }
  if (const auto* const whole = std::get_if<std::int64_t>(&found->second)) {
    return static_cast<double>(*whole);
  }
  return std::get<double>(found->second);
}

void Settings::add(const Settings& stronger) {
  const auto mine = text("policy"), theirs = stronger.text("policy");
  if (theirs && theirs != mine) {
    for (const auto& [name, value] : options) origins.erase("options." + name);
    options.clear();
  }
  for (const auto& [key, value] : stronger.values) values[key] = value;
  for (const auto& [name, value] : stronger.options) options[name] = value;
  constraints.insert(constraints.end(), stronger.constraints.begin(), stronger.constraints.end());
  for (const auto& [name, value] : stronger.load.dims) load.dims[name] = value;
  for (const auto& [name, value] : stronger.load.shapes) load.shapes[name] = value;
  if (!stronger.load.fetches.empty()) load.fetches = stronger.load.fetches;
  for (const auto& [key, origin] : stronger.origins) origins[key] = origin;
}

Settings parse_settings(std::string_view json, const std::string& origin) {
  const Json document = parse_json(json, origin);
  const JsonReader root(document, origin);
  check_known(root);
  Settings settings;
  for (const SettingKey& key : kKeys) {
    if (!root.has(key.name)) continue;
    settings.values[key.name] = read_value(root.at(key.name), key.kind);
    settings.origins[key.name] = origin;
  }
  if (root.has("options")) {
    const JsonReader options = root.at("options");
    if (!options.json().is_object()) options.fail("expected an object { ... }");
    for (const auto& [name, value] : options.json().items()) {
      settings.options[name] = read_option(options.at(name));
      settings.origins["options." + name] = origin;
    }
  }
  if (root.has("constraints")) {
    settings.constraints = read_constraints(root.at("constraints"));
    settings.origins["constraints"] = origin;
  }
  settings.load = read_load(root);
  for (const char* key : {"dims", "batch", "shapes", "fetches"}) {
    if (root.has(key)) settings.origins[key] = origin;
  }
  return settings;
}

void find_beside(const std::filesystem::path& file, Settings& settings) {
  for (const char* key : {"cluster", "costs", "policy"}) {
    const auto found = settings.values.find(key);
    if (found == settings.values.end()) continue;
    found->second = beside(file, std::get<std::string>(found->second));
  }
  for (const char* key : {"clusters", "policies"}) {
    const auto found = settings.values.find(key);
    if (found == settings.values.end()) continue;
    std::vector<std::string> names = settings.names(key);
    for (std::string& name : names) name = beside(file, name);
    found->second = joined(names);
  }
  const auto folders = settings.values.find("plugin_folders");
  if (folders == settings.values.end()) return;
  std::vector<std::string> names = settings.names("plugin_folders");
  for (std::string& name : names) {
    name = (std::filesystem::absolute(file).parent_path() / name).string();
  }
  folders->second = joined(names);
}

Settings load_settings(const std::string& file_or_text) {
  const std::size_t first = file_or_text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && file_or_text[first] == '{') {
    return parse_settings(file_or_text, "the settings");
  }
  Settings settings = parse_settings(read_file(file_or_text), file_or_text);
  find_beside(file_or_text, settings);
  return settings;
}

Settings environment_settings() {
  const char* const variable = std::getenv("BERTH_CONFIG");
  if (variable == nullptr || *variable == 0) return {};
  try {
    Settings settings = load_settings(variable);
    for (auto& [key, origin] : settings.origins) origin = "BERTH_CONFIG: " + origin;
    return settings;
  } catch (const Error& error) {
    throw Error(error.code(), cat("BERTH_CONFIG: ", error.what()));
  }
}

}  // namespace berth
