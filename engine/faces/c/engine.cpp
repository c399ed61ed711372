#include "berth/engine.h"

#include <nlohmann/json.hpp>

#include "berth/constraints.h"
#include "berth/run.h"
#include "berth/settings.h"
#include "berth/version.h"
#include "detect/here.h"
#include "objects.h"

using namespace berth;
using Json = nlohmann::ordered_json;

berth_engine::berth_engine(Settings the_settings)
    : Object(kKind),
      settings(std::move(the_settings)),
      policies(std::make_shared<c::Policies>()),
      engine(make_engine(settings)) {}
berth_engine::~berth_engine() = default;

void berth::c::Policies::add(Engine& engine, const berth_policy& policy) {
  const auto table = PolicyTable::make(policy, "the table", &c::failed);
  const std::lock_guard lock(mutex_);
  tables_.push_back(table);
  try {
    engine.register_plugin(table->descriptor());
  } catch (...) {
    tables_.pop_back();
    throw;
  }
  table->own();
}

namespace {

/// A call places on one machine with one seed, and gives out what it finds instead of writing it.
constexpr std::string_view kUnserved[] = {
    "evaluator", "prove", "policies", "clusters", "seeds", "output", "trace",    "certificate",
    "annotate",  "svg",   "report",   "write",    "csv",   "log",    "replicate"};

Settings engine_settings(const berth_engine_options& options) {
  Settings settings;
  if (const std::string given = c::string(options.settings); !given.empty()) {
    settings = load_settings(given);
  }
  if (options.no_environment == 0) settings.add(environment_settings());
  if (options.plugin_folder_count > 0) {
    settings.plugin_folders.emplace();
    for (const berth_text& folder :
         c::array(options.plugin_folders, options.plugin_folder_count, "plugin_folders")) {
      settings.plugin_folders->push_back(c::string(folder));
    }
    settings.origins.erase("plugin_folders");
  }
  if (const std::string said = c::string(options.overrides); !said.empty()) {
    settings.add(load_settings(said));
  }
  refuse_unserved(settings, "the C API", kUnserved);
  detect::find_here(settings);
  return settings;
}

/// The value of each key, and its origin.
Json described(const Settings& settings) {
  Json all = Json::object();
  const Json values = Json::parse(settings_json(settings));
  for (const auto& [key, value] : values.items()) {
    if (key == "format") continue;
    const auto from = settings.origins.find(key);
    all[key] = {{"value", value},
                {"from", from == settings.origins.end() ? "the program" : from->second}};
  }
  return all;
}

Json described(const PluginInfo& plugin) {
  Json options = Json::array();
  for (const PluginInfo::Option& option : plugin.options) {
    options.push_back({{"name", option.name},
                       {"default", option.default_value},
                       {"meaning", option.meaning},
                       {"allowed", option.allowed}});
  }
  return {{"kind", plugin_kind_name(plugin.kind)},
          {"name", plugin.name},
          {"version", plugin.version},
          {"description", plugin.description},
          {"options", std::move(options)},
          {"file", plugin.file.string()}};
}

}  // namespace

berth_status berth_engine_new(const berth_engine_options* options, berth_engine** out) {
  return c::guarded([&] {
    berth_engine*& made = c::required(out, "out");
    const berth_engine_options defaults = BERTH_ENGINE_OPTIONS_INIT;
    made = new berth_engine(engine_settings(c::take(options, defaults, "berth_engine_options",
                                                    offsetof(berth_engine_options, overrides))));
  });
}

berth_status berth_engine_describe(berth_engine* engine, berth_text* json) {
  return c::guarded([&] {
    berth_engine& the = c::get(engine);
    berth_text& text = c::required(json, "json");
    Json all = {{"version", version()}, {"settings", described(the.settings)}};
    all["plugins"] = Json::array();
    for (const PluginInfo& plugin : the.engine->plugins()) {
      all["plugins"].push_back(described(plugin));
    }
    all["problems"] = the.engine->problems();
    text = c::give(all.dump(1, ' ', false, Json::error_handler_t::replace));
  });
}

berth_status berth_engine_setting(berth_engine* engine, berth_text key, berth_text* json) {
  return c::guarded([&] {
    const berth_engine& the = c::get(engine);
    berth_text& text = c::required(json, "json");
    const std::string name = c::string(key);
    if (!the.settings.has(name)) {
      text = c::give({});
      return;
    }
    text = c::give(Json::parse(settings_json(the.settings)).at(name).dump());
  });
}

berth_status berth_engine_register(berth_engine* engine, const berth_policy* policy) {
  return c::guarded([&] {
    berth_engine& the = c::get(engine);
    the.policies->add(*the.engine, c::required(policy, "policy"));
  });
}
