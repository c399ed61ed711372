#include "berth/settings.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "berth/files.h"
#include "berth/machines.h"
#include "berth/sdk/named_policy.h"
#include "host/setting_keys.h"
#include "host/setting_values.h"

namespace berth {
namespace {

constexpr std::string_view kFormat = "berth.settings/1";

/// Calls `with` with the field of the row in each of the settings.
template <typename With>
void visit(const KeyRow& row, Settings& settings, const With& with) {
  std::visit(
      [&](const auto& field) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(field)>, Batch>) with(field(settings));
      },
      row.field);
}
/// A row gives access to a field that is not changed here.
template <typename With>
void visit(const KeyRow& row, const Settings& settings, const With& with) {
  visit(row, const_cast<Settings&>(settings), [&](const auto& value) { with(value); });
}

bool names_file(std::string_view text) {
  return !text.starts_with('{') && text.find_first_of("/.") != std::string_view::npos;
}

/// Options of policies that are names of files, whatever their text.
constexpr std::string_view kFileOptions[] = {"weights"};

/// The key whose names may have options behind colons.
constexpr std::string_view kPolicies = "policies";

/// The part of a value that may be the name of a file.
std::string_view file_in(const KeyRow& row, std::string_view text) {
  return row.key.name == kPolicies ? text.substr(0, text.find(':')) : text;
}

/// Refuses in another's settings what is not Berth's own.
class Distrust {
 public:
  Distrust(const JsonReader& root, const KeyRow& row) : root_(root), row_(row) {}

  void operator()(const std::optional<std::string>& text) const {
    if (text) check(*text);
  }
  void operator()(const std::optional<std::vector<std::string>>& texts) const {
    for (const std::string& text : texts.value_or(std::vector<std::string>())) {
      check(text);
      if (row_.key.name != kPolicies) continue;
      const auto [name, options] = parse_named_policy(text);
      for (const std::string_view option : kFileOptions) {
        if (options.contains(std::string(option))) root_.at(row_.key.name).fail(refusal());
      }
    }
  }
  void operator()(const OptionTexts& options) const {
    for (const auto& [name, value] : options) {
      const auto* const text = std::get_if<std::string>(&value);
      const bool file = std::find(std::begin(kFileOptions), std::end(kFileOptions), name) !=
                        std::end(kFileOptions);
      if (text != nullptr && (file || names_file(*text))) {
        root_.at("options").at(name).fail(refusal());
      }
    }
  }
  template <typename Other>
  void operator()(const Other&) const {}

 private:
  void check(const std::string& text) const {
    const bool harmless =
        row_.names == Names::nothing || (row_.names == Names::name_or_file && !names_file(text));
    if (!harmless) root_.at(row_.key.name).fail(refusal());
  }
  static std::string refusal() {
    return "untrusted settings may name presets, numbers and installed plugins, but no files; read "
           "it as your own settings (--config) if you trust its author as you trust a program's";
  }

  const JsonReader& root_;
  const KeyRow& row_;
};

void check_known(const JsonReader& root) {
  if (!root.json().is_object()) root.fail("expected an object { ... }");
  if (root.at("format").text() != kFormat) {
    root.at("format").fail(
        cat("the format is '", root.at("format").text(), "', expected '", kFormat, "'"));
  }
  std::vector<std::string> known;
  for (const KeyRow& row : key_rows()) known.emplace_back(row.key.name);
  for (const auto& [key, value] : root.json().items()) {
    if (names_schema(key, value)) continue;
    if (key != "format" && std::find(known.begin(), known.end(), key) == known.end()) {
      root.at(key).fail(cat("unknown key '", key, "'", known_names(key, known, known.size())));
    }
  }
}

/// A machine may be described in place.
void read_cluster(const JsonReader& json, Settings& settings) {
  Json machine = json.json();
  machine.emplace("format", "berth.cluster/1");
  settings.cluster = machine.dump();
  try {
    static_cast<void>(load_cluster(*settings.cluster));
  } catch (const Error& error) {
    json.fail(error.what());
  }
}

void read_key(const JsonReader& root, const KeyRow& row, Settings& settings) {
  const JsonReader json = root.at(row.key.name);
  if (std::holds_alternative<Batch>(row.field)) {
    settings.load.dims["*"] = json.integer(row.least, row.most);
  } else if (std::string_view(row.key.name) == "cluster" && json.json().is_object()) {
    read_cluster(json, settings);
  } else {
    visit(row, settings, [&](auto& value) { read(json, row, value); });
  }
}

/// Sizes by the names that LoadOptions::weakness has for them.
std::vector<std::string> names_of_sizes(const LoadOptions& load) {
  std::vector<std::string> names;
  for (const auto& [name, size] : load.dims) names.push_back("dims." + name);
  for (const auto& [name, shape] : load.shapes) names.push_back("shapes." + name);
  return names;
}

/// Ranks the sizes of `load` behind those of `stronger`, which are about to be added.
void weaken(LoadOptions& load, const LoadOptions& stronger) {
  const std::vector<std::string> strong = names_of_sizes(stronger);
  if (strong.empty()) return;
  int ranks = 1;
  for (const auto& [name, rank] : stronger.weakness) ranks = std::max(ranks, rank + 1);
  for (const std::string& name : names_of_sizes(load)) load.weakness[name] += ranks;
  for (const std::string& name : strong) load.weakness.erase(name);
  for (const auto& [name, rank] : stronger.weakness) load.weakness[name] = rank;
}

/// A name that a file gives, as seen from the program.
std::string beside(const std::filesystem::path& file, const std::string& name, bool always) {
  if ((!always && !names_file(name)) || std::filesystem::path(name).is_absolute()) return name;
  return (file.parent_path() / name).string();
}

}  // namespace

std::vector<std::uint64_t> parse_seeds(const std::string& text) {
  constexpr std::uint64_t kMost = 10'000;
  std::vector<std::uint64_t> seeds;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto fail = [&] {
    throw Error(ErrorCode::invalid_argument,
                cat("'", text, "' is no list of at most 10,000 seeds; write 0..4 or 0,3,7"));
  };
  const auto number = [&] {
    std::uint64_t value = 0;
    const auto [rest, error] = std::from_chars(at, end, value);
    at = rest;
    if (error != std::errc() || value > static_cast<std::uint64_t>(kMostCount)) fail();
    return value;
  };
  while (true) {
    const std::uint64_t first = number();
    std::uint64_t last = first;
    if (end - at > 2 && at[0] == '.' && at[1] == '.') {
      at += 2;
      last = number();
      if (last < first) fail();
    }
    if (last - first >= kMost || seeds.size() + (last - first) >= kMost) fail();
    for (std::uint64_t seed = first; seed <= last; ++seed) {
      if (std::find(seeds.begin(), seeds.end(), seed) == seeds.end()) seeds.push_back(seed);
    }
    if (at == end) return seeds;
    if (*at++ != ',') fail();
  }
}

void Settings::add(const Settings& stronger) {
  weaken(load, stronger.load);
  if (stronger.policy && stronger.policy != policy) {
    for (const auto& [name, value] : options) origins.erase("options." + name);
    options.clear();
  }
  if (stronger.cluster && !stronger.clusters) clusters.reset();
  if (stronger.clusters && !stronger.cluster) cluster.reset();
  if (stronger.seed && !stronger.seeds) seeds.reset();
  if (stronger.seeds && !stronger.seed) seed.reset();
  for (const KeyRow& row : key_rows()) {
    if (!stronger.has(row.key.name)) continue;
    origins.erase(row.key.name);
    std::visit(
        [&](const auto& field) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(field)>, Batch>) {
            merge(field(*this), std::as_const(field(const_cast<Settings&>(stronger))));
          }
        },
        row.field);
  }
  for (const auto& [name, value] : stronger.options) origins.erase("options." + name);
  for (const std::string& name : names_of_sizes(stronger.load)) origins.erase(name);
  for (const auto& [key, origin] : stronger.origins) origins[key] = origin;
}

bool Settings::has(std::string_view key) const {
  const KeyRow& row = key_row(key);
  if (std::holds_alternative<Batch>(row.field)) return load.dims.contains("*");
  bool found = false;
  visit(row, *this, [&](const auto& value) { found = given(value); });
  return found;
}

std::string Settings::place(std::string_view key) const {
  const auto from = origins.find(key);
  return from == origins.end() ? std::string() : cat(from->second, ": at ", key, ": ");
}

void set_setting(Settings& settings, std::string_view key, const std::string& text) {
  const KeyRow& row = key_row(key);
  visit(row, settings, [&](auto& value) { parse(text, row, value); });
}

void unset_setting(Settings& settings, std::string_view key) {
  const KeyRow& row = key_row(key);
  if (std::holds_alternative<Batch>(row.field)) settings.load.dims.erase("*");
  visit(row, settings, [](auto& value) { value = {}; });
  settings.origins.erase(row.key.name);
}

Settings parse_settings(std::string_view json, const std::string& origin, SettingsTrust trust) {
  const Json document = parse_json(json, origin);
  // A line says nothing of a text that has one.
  const bool one_line = json.find('\n') == std::string_view::npos;
  const JsonLines lines = one_line ? JsonLines() : json_lines(json);
  const JsonReader root(document, origin, lines);
  check_known(root);
  Settings settings;
  const auto from = [&](const std::string& place) {
    const auto line = lines.find(place);
    return line == lines.end() ? origin : cat(origin, ": line ", line->second);
  };
  for (const KeyRow& row : key_rows()) {
    const std::string key = row.key.name;
    if (!root.has(key)) continue;
    read_key(root, row, settings);
    settings.origins[key] = from(key);
    if (trust == SettingsTrust::untrusted) {
      visit(row, std::as_const(settings), Distrust(root, row));
    }
  }
  for (const auto& [name, value] : settings.options) {
    settings.origins["options." + name] = from("options." + name);
  }
  for (const std::string& name : names_of_sizes(settings.load)) {
    if (name != "dims.*") settings.origins[name] = from(name);
  }
  for (std::size_t i = 0; i < settings.constraints.size(); ++i) {
    std::string& text = settings.constraints[i].text;
    text = cat(text, " (", from(cat("constraints[", i + 1, "]")), ")");
  }
  return settings;
}

std::vector<ConstraintRule> parse_constraints(std::string_view json, const std::string& origin) {
  const Json document = {{"constraints", parse_json(json, origin)}};
  const JsonLines lines;
  const JsonReader root(document, origin, lines);
  return read_constraints(root.at("constraints"));
}

void find_beside(const std::filesystem::path& file, Settings& settings) {
  const auto each = [&](auto& value, const KeyRow& row, bool always) {
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, std::optional<std::string>>) {
      if (value) *value = beside(file, *value, always);
    } else if constexpr (std::is_same_v<Value, std::optional<std::vector<std::string>>>) {
      if (!value) return;
      for (std::string& text : *value) {
        const std::string name(file_in(row, text));
        text = beside(file, name, always) + text.substr(name.size());
      }
    }
  };
  for (const KeyRow& row : key_rows()) {
    if (row.names != Names::name_or_file && row.names != Names::read_file) continue;
    visit(row, settings, [&](auto& value) { each(value, row, row.names == Names::read_file); });
  }
  each(settings.plugins, key_row("plugins"), false);
  each(settings.plugin_folders, key_row("plugin_folders"), true);
}

Settings load_settings(const std::string& file_or_text, SettingsTrust trust) {
  const std::size_t first = file_or_text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && file_or_text[first] == '{') {
    return parse_settings(file_or_text, "the settings", trust);
  }
  Settings settings = parse_settings(read_text(file_or_text), file_or_text, trust);
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

std::vector<NamedFile> files_read(const Settings& settings) {
  std::vector<NamedFile> files;
  const auto add = [&](const KeyRow& row, const std::string& text) {
    const std::string_view key = row.key.name;
    const bool word = key == "costs"
                          ? text == "roofline" || text == "stated"
                          : row.names == Names::name_or_file && !names_cluster_file(text);
    if (!word && !text.starts_with('{')) files.push_back({row.key.name, text});
  };
  for (const KeyRow& row : key_rows()) {
    if (row.names != Names::name_or_file && row.names != Names::read_file) continue;
    visit(row, settings, [&](const auto& value) {
      using Value = std::decay_t<decltype(value)>;
      if constexpr (std::is_same_v<Value, std::optional<std::string>>) {
        if (value) add(row, *value);
      } else if constexpr (std::is_same_v<Value, std::optional<std::vector<std::string>>>) {
        for (const std::string& text : value.value_or(std::vector<std::string>())) {
          add(row, std::string(file_in(row, text)));
          if (row.key.name != kPolicies) continue;
          for (const auto& [name, option] : parse_named_policy(text).options) {
            const auto& file = std::get<std::string>(option);
            if (!file.empty()) files.push_back({row.key.name, file});
          }
        }
      }
    });
  }
  for (const auto& [name, value] : settings.options) {
    const auto* const text = std::get_if<std::string>(&value);
    if (text != nullptr && !text->empty()) files.push_back({"options." + name, *text});
  }
  return files;
}

std::string settings_json(const Settings& settings) {
  Written json = {{"format", kFormat}};
  for (const KeyRow& row : key_rows()) {
    const std::string key = row.key.name;
    if (!settings.has(key)) continue;
    if (std::holds_alternative<Batch>(row.field)) {
      json[key] = settings.load.dims.at("*");
    } else if (key == "cluster" && settings.cluster->starts_with('{')) {
      json[key] = Written::parse(*settings.cluster);
    } else {
      visit(row, settings, [&](const auto& value) { json[key] = written(value); });
    }
  }
  if (const auto dims = json.find("dims"); dims != json.end()) {
    dims->erase("*");
    if (dims->empty()) json.erase("dims");
  }
  return json.dump(-1, ' ', false, Written::error_handler_t::replace);
}

Settings settings_of(const Settings& settings, std::span<const SettingGroup> groups) {
  Settings part = settings;
  for (const KeyRow& row : key_rows()) {
    if (std::find(groups.begin(), groups.end(), row.key.group) != groups.end()) continue;
    unset_setting(part, row.key.name);
  }
  return part;
}

void refuse_unserved(const Settings& settings, std::string_view who,
                     std::span<const std::string_view> unserved) {
  for (const std::string_view key : unserved) {
    const bool simulates = key == "evaluator" && settings.evaluator == EvaluatorKind::simulate;
    if (!settings.has(key) || simulates) continue;
    throw Error(
        ErrorCode::unsupported,
        cat(settings.place(key), who, " does not serve the setting '", key, "'; leave it out"));
  }
}

}  // namespace berth
