// `berth config`: what is in force, and where each value comes from. `berth schema`: the formats.
#include "berth/settings.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "berth/error.h"
#include "berth/files.h"
#include "berth/support/text.h"
#include "console.h"
#include "outcome.h"
#include "setting_options.h"
#include "subcommands.h"
#include "text_table.h"

namespace berth::command {
namespace {

using Json = nlohmann::ordered_json;

/// Defaults.
constexpr std::pair<const char*, const char*> kDefaults[] = {
    {"policy", "auto"},
    {"costs", "stated where the graph states one, roofline for the other ops"},
    {"objective", "latency"},
    {"semantics", "dataflow"},
    {"grouping", "colocation; balanced with groups"},
    {"seed", "0"},
    {"threads", "all cores"},
    {"budget", "none"},
    {"bound", "strong"},
    {"evaluator", "simulate"},
    {"backend", "cpu"},
    {"plugin_folders", "lib/berth beside the library, then BERTH_PLUGIN_PATH"},
    {"plugins", "all"},
};

struct Line {
  std::string key;
  std::string value;
  std::string from;
};

/// A value as one text: the entries of a table or list apart by commas.
std::string value_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_structured()) return value.dump();
  std::string text;
  for (const auto& [key, entry] : value.items()) {
    text += (text.empty() ? "" : ", ") + (value.is_object() ? key + "=" : "") + value_text(entry);
  }
  return text;
}

std::vector<Line> lines_of(const Settings& settings) {
  std::vector<Line> lines;
  const auto add = [&](const std::string& key, const std::string& value) {
    const auto from = settings.origins.find(key);
    lines.push_back({key, value, from == settings.origins.end() ? "" : from->second});
  };
  const Json values = Json::parse(settings_json(settings));
  for (const auto& [key, value] : values.items()) {
    if (key == "format") continue;
    if (key == "constraints") {
      for (const ConstraintRule& rule : settings.constraints) add(key, to_text(rule));
    } else if (key == "cluster" && value.is_object()) {
      add(key, value.dump());
    } else if (value.is_object()) {
      for (const auto& [name, entry] : value.items()) add(key + "." + name, value_text(entry));
    } else {
      add(key, value_text(value));
    }
  }
  for (const auto& [key, value] : kDefaults) {
    if (!settings.has(key)) lines.push_back({key, value, "default"});
  }
  return lines;
}

int run_config(const std::string& file, bool json) {
  const std::vector<Line> lines = lines_of(read_settings(file));
  if (json) {
    Json list = Json::array();
    for (const Line& line : lines) {
      list.push_back({{"key", line.key}, {"value", line.value}, {"from", line.from}});
    }
    print(json_text({{"settings", std::move(list)}}));
    return 0;
  }
  TextTable table({{"setting"}, {"value"}, {"from"}});
  for (const Line& line : lines) {
    // A machine of the file's own is a page of text.
    const bool machine = line.key == "cluster" && line.value.starts_with('{');
    table.add_row({printable(line.key), machine ? "described there" : printable(line.value),
                   printable(line.from)});
  }
  print(table.text(0));
  return 0;
}

/// `share/berth/schemas` beside `bin/`, in a build folder and in an installed prefix.
std::filesystem::path schema_folder() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path() / "share/berth/schemas";
}

std::vector<std::string> schema_names() {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(schema_folder(), error), end;
       !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".json") names.push_back(entry->path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

int run_schema(const std::string& name) {
  const std::vector<std::string> names = schema_names();
  if (name.empty()) {
    for (const std::string& known : names) print(known + "\n");
    return 0;
  }
  // "berth.graph/1" is a name too.
  std::string stem = name.substr(0, name.find('/'));
  if (stem.starts_with("berth.")) stem.erase(0, 6);
  if (std::find(names.begin(), names.end(), stem) == names.end()) {
    throw Error(ErrorCode::not_found, cat("no schema '", name, "'", known_names(stem, names)));
  }
  print(read_file(schema_folder() / (stem + ".json")));
  return 0;
}

}  // namespace

void add_config(CLI::App& app, Action& chosen) {
  CLI::App* sub =
      app.add_subcommand("config", "show the settings in force and where they are from");
  struct Options {
    std::string file;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  add_file(*sub, "--config", options->file, "a file of settings, berth.settings/1 or Lua");
  sub->add_flag("--json", options->json, "print one JSON object on standard output");
  sub->footer(
      "The order is: defaults, the file, what BERTH_CONFIG names (a file, or JSON text), and the\n"
      "command line of the command that uses them.\n"
      "Examples:\n"
      "  berth config --config experiment.json\n"
      "  BERTH_CONFIG='{\"format\": \"berth.settings/1\", \"policy\": \"heft\"}' berth config");
  sub->callback([&chosen, options] {
    chosen = [options] { return run_config(options->file, options->json); };
  });
}

void add_schema(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand("schema", "print the JSON Schema of a format");
  const auto name = std::make_shared<std::string>();
  const std::vector<std::string> names = schema_names();
  sub->add_option("NAME", *name, join(names) + "; none: list them")->type_name("");
  sub->footer("Examples:\n  berth schema settings > settings.schema.json");
  sub->callback([&chosen, name] { chosen = [name] { return run_schema(*name); }; });
}

}  // namespace berth::command
