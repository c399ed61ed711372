// `berth plugins`: which policies, frontends and backends there are, and the options of one.
#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "berth/engine.h"
#include "berth/error.h"
#include "berth/support/text.h"
#include "command_run.h"
#include "console.h"
#include "outcome.h"
#include "scripts.h"
#include "setting_options.h"
#include "subcommands.h"
#include "support/enum_name.h"
#include "text_table.h"

namespace berth::command {
namespace {

using Json = nlohmann::ordered_json;

struct PluginsOptions {
  std::string name;
  std::string config;
  bool json = false;
};

constexpr std::string_view kTypes[] = {"true|false", "integer", "number", "text"};
static_assert(ends_with(kTypes, OptionType::text));

std::string list_text(const std::vector<PluginInfo>& plugins) {
  TextTable table({{"kind"}, {"name"}, {"version"}, {"description"}});
  for (const PluginInfo& plugin : plugins) {
    table.add_row({plugin_kind_name(plugin.kind), plugin.name, plugin.version, plugin.description});
  }
  return table.text();
}

std::string plugin_text(const PluginInfo& plugin) {
  std::string text = fmt::format("{} {} {}: {}\n", plugin_kind_name(plugin.kind), plugin.name,
                                 plugin.version, plugin.description);
  text += fmt::format("from {}\n", plugin.file.empty() ? "this program" : plugin.file.string());
  if (plugin.options.empty()) return text + "no options\n";
  TextTable table({{"option"}, {"type"}, {"default"}, {"allowed"}, {"meaning"}});
  for (const PluginInfo::Option& option : plugin.options) {
    table.add_row({option.name, std::string(name_of(kTypes, option.type)), option.default_value,
                   option.allowed, option.meaning});
  }
  return text + "\n" + table.text();
}

Json option_json(const PluginInfo::Option& option) {
  Json json = {{"name", option.name},
               {"type", name_of(kTypes, option.type)},
               {"default", option.default_value},
               {"meaning", option.meaning},
               {"allowed", option.allowed}};
  const OptionRange& range = option.range;
  if (std::isfinite(range.least)) json[range.above_least ? "above" : "at_least"] = range.least;
  if (std::isfinite(range.most)) json[range.below_most ? "below" : "at_most"] = range.most;
  if (range.divisor > 1) json["multiple_of"] = range.divisor;
  if (!option.choices.empty()) json["choices"] = option.choices;
  return json;
}

Json plugin_json(const PluginInfo& plugin) {
  Json options = Json::array();
  for (const PluginInfo::Option& option : plugin.options) {
    options.push_back(option_json(option));
  }
  return {{"kind", plugin_kind_name(plugin.kind)},
          {"name", plugin.name},
          {"version", plugin.version},
          {"description", plugin.description},
          {"file", plugin.file.string()},
          {"options", std::move(options)}};
}

/// Those called `name`: at most one per kind. Throws Error(not_found) if there is none.
std::vector<PluginInfo> named(const std::vector<PluginInfo>& plugins, const std::string& name) {
  std::vector<PluginInfo> found;
  std::vector<std::string> known;
  for (const PluginInfo& plugin : plugins) {
    known.push_back(plugin.name);
    if (plugin.name == name) found.push_back(plugin);
  }
  if (found.empty()) {
    throw Error(ErrorCode::not_found,
                fmt::format("there is no plugin '{}'{}", name, known_names(name, known)));
  }
  return found;
}

int run_plugins(const PluginsOptions& options) {
  CommandRun run(read_settings(options.config));
  Engine& engine = run.engine();
  std::vector<PluginInfo> plugins;
  if (is_script(options.name)) {
    plugins.push_back(run.scripts().describe(options.name));
  } else {
    plugins = engine.plugins();
    for (const std::string& problem : engine.problems()) log_warning(problem);
    if (!options.name.empty()) plugins = named(plugins, options.name);
  }
  if (options.json) {
    Json list = Json::array();
    for (const PluginInfo& plugin : plugins) list.push_back(plugin_json(plugin));
    print(json_text({{"plugins", std::move(list)}}));
    return 0;
  }
  std::string text;
  if (options.name.empty()) {
    text = list_text(plugins) + "\nThe options of one: berth plugins NAME\n";
  } else {
    for (const PluginInfo& plugin : plugins) text += plugin_text(plugin);
  }
  print(text);
  return 0;
}

}  // namespace

void add_plugins(CLI::App& app, Action& chosen) {
  CLI::App* sub =
      app.add_subcommand("plugins", "list policies, frontends and backends, or one's options");
  const auto options = std::make_shared<PluginsOptions>();
  sub->add_option("NAME", options->name, "show the options of this one, or of a policy's Lua file")
      ->type_name("");
  add_file(*sub, "--config", options->config,
           "a file of settings, which may say where plugins are and which may be opened");
  sub->add_flag("--json", options->json, "print one JSON object");
  sub->footer(
      "Examples:\n"
      "  berth plugins\n"
      "  berth plugins scotch\n"
      "Plugins are looked for beside the engine's library, then in the folders of\n"
      "BERTH_PLUGIN_PATH (absolute paths, separated by ':'); an entry that cannot be\n"
      "searched is told.");
  sub->callback([&chosen, options] { chosen = [options] { return run_plugins(*options); }; });
}

}  // namespace berth::command
