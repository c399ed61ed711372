#include "setting_options.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>
#include <vector>

#include "berth/error.h"
#include "berth/run.h"
#include "console.h"
#include "detect/here.h"
#include "scripts.h"

namespace berth::command {
namespace {

std::int64_t parse_dimension(const std::string& text, const std::string& option) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < 0) {
    throw CLI::ValidationError(
        option, fmt::format("'{}' is not a dimension; write a whole number from 0 on", text));
  }
  return value;
}

std::vector<std::int64_t> parse_shape(const std::string& text, const std::string& option) {
  std::vector<std::int64_t> shape;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of("x,", begin), text.size());
    shape.push_back(parse_dimension(text.substr(begin, end - begin), option));
    begin = end + 1;
  }
  return shape;
}

/// A rule for ops whose whole name matches one of these, as `option` was given it.
ConstraintRule rule_of(ConstraintRule::Kind kind, const std::vector<std::string>& regexes,
                       const std::string& option, const std::string& text) {
  ConstraintRule rule;
  rule.kind = kind;
  for (const std::string& regex : regexes) rule.ops.emplace_back().regex = regex;
  rule.text = fmt::format("{} '{}'", option, text);
  return rule;
}

void add_constraints(CLI::App& app, std::vector<ConstraintRule>& rules) {
  using Kind = ConstraintRule::Kind;
  const auto add_for_devices = [&](Kind kind, const std::string& option,
                                   const std::string& meaning) {
    add_repeated(app, option, "REGEX=DEVICE", meaning,
                 [&rules, kind, option](const std::string& text) {
                   auto [regex, device] = split_assignment(text, option);
                   rules.push_back(rule_of(kind, {regex}, option, text));
                   rules.back().devices.push_back(std::move(device));
                 });
  };
  add_for_devices(
      Kind::pin, "--pin",
      "keep ops whose whole name matches on this device, or on devices of this kind; repeatable");
  add_for_devices(
      Kind::forbid, "--forbid",
      "keep ops whose whole name matches off this device, or devices of this kind; repeatable");
  add_repeated(app, "--colocate", "REGEX",
               "keep ops whose whole name matches together on one device; repeatable",
               [&rules](const std::string& text) {
                 rules.push_back(rule_of(Kind::colocate, {text}, "--colocate", text));
               });
  add_repeated(app, "--separate", "REGEX[;REGEX..]",
               "keep ops that match one of these off the devices of those that match another; a "
               "single one: no two of its ops share a device; repeatable",
               [&rules](const std::string& text) {
                 std::vector<std::string> regexes;
                 for (std::size_t begin = 0; begin <= text.size();) {
                   const std::size_t end = std::min(text.find(';', begin), text.size());
                   regexes.push_back(text.substr(begin, end - begin));
                   begin = end + 1;
                 }
                 rules.push_back(rule_of(Kind::separate, regexes, "--separate", text));
               });
  app.add_flag_callback(
      "--respect-devices",
      [&rules] {
        ConstraintRule rule;
        rule.kind = ConstraintRule::Kind::respect_devices;
        rule.text = "--respect-devices";
        rules.push_back(std::move(rule));
      },
      "keep ops on the devices that the model file asks for");
  add_repeated(app, "--memory-margin", "[DEVICE=]AMOUNT",
               "keep this much memory free, on every device or on one device or kind: 10%, 2GiB, "
               "gpu:0=500MB; repeatable",
               [&rules](const std::string& text) {
                 const std::size_t equals = text.rfind('=');
                 std::vector<std::string> devices;
                 if (equals != std::string::npos) devices.push_back(text.substr(0, equals));
                 try {
                   rules.push_back(memory_margin_rule(
                       equals == std::string::npos ? text : text.substr(equals + 1), devices));
                 } catch (const Error& error) {
                   throw CLI::ValidationError("--memory-margin", error.what());
                 }
                 rules.back().text = fmt::format("--memory-margin '{}'", text);
               });
}

/// Two values of one name contradict each other.
template <typename Value>
void assign(std::map<std::string, Value>& values, const std::string& option,
            const std::string& name, std::type_identity_t<Value> value) {
  if (values.emplace(name, std::move(value)).second) return;
  throw CLI::ValidationError(
      option, name == "*" ? "it is given twice"
                          : fmt::format("'{}' is given twice; give it one value", name));
}

void add_policy_options(CLI::App& app, OptionTexts& options) {
  add_repeated(app, "--set", "KEY=VALUE",
               "an option of the policy (see `berth plugins NAME`); repeatable",
               [&options](const std::string& text) {
                 const std::size_t equals = text.find('=');
                 if (equals == std::string::npos || equals == 0) {
                   throw CLI::ValidationError(
                       "--set", fmt::format("'{}' is not of the form key=value", text));
                 }
                 assign(options, "--set", text.substr(0, equals), text.substr(equals + 1));
               });
}

/// The option of a key.
std::string option_of(std::string_view key) {
  if (key == "tool") return "--for";
  if (key == "options") return "--set";
  std::string name = "--" + std::string(key);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

void add_key(CLI::App& app, Settings& settings, const SettingKey& key) {
  const std::string name = option_of(key.name);
  const auto set = [&settings, &key, name](const std::string& text) {
    try {
      if (text.empty() && key.form == std::string_view("FILE")) {
        throw Error(ErrorCode::invalid_argument, "give it a file name");
      }
      set_setting(settings, key.name, text);
    } catch (const Error& error) {
      throw CLI::ValidationError(name, error.what());
    }
  };
  app.add_option_function<std::string>((name == "--output" ? "-o," : "") + name, set, key.meaning)
      ->type_name(key.form);
}

Settings read_file_or_lua(const std::string& file) {
  if (is_script(file)) {
    Engine engine;
    return Scripts(engine).read_config(file);
  }
  // The name of a file, whatever it begins with.
  return load_settings((std::filesystem::path(".") / file).string());
}

/// The settings that the placement to start from was made with. Its tool is asked for anew, as it decides what
/// the search may do.
Settings settings_of_start(const std::string& path) {
  StoredPlacement stored = read_placement(path);
  stored.settings.tool.reset();
  // A placement says itself where its inputs are; a search asks what it was made with.
  const auto document = nlohmann::json::parse(stored.text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() ||
      !document.value("settings", nlohmann::json::object()).contains("inputs")) {
    stored.settings.inputs.reset();
  }
  return std::move(stored.settings);
}

}  // namespace

void SettingOptions::add_model(CLI::App& app) {
  command_ = app.get_name();
  for (const SettingKey& key : setting_keys()) {
    if (key.group == SettingGroup::model || key.group == SettingGroup::engine) {
      served_.insert(key.name);
    }
  }
  app.add_option("MODEL", model, "model file or folder: .onnx, .graph.json, ...")
      ->required()
      ->type_name("");
  LoadOptions& load = given.load;
  add_repeated(
      app, "--dim", "NAME=SIZE",
      "size of a dynamic dimension, such as batch=8, or how often a loop runs that the file "
      "does not count; repeatable",
      [&load](const std::string& text) {
        auto [name, value] = split_assignment(text, "--dim");
        assign(load.dims, "--dim", name, parse_dimension(value, "--dim"));
      });
  add_repeated(
      app, "--batch", "SIZE", "size of the first dimension of every input that leaves it open",
      [&load](const std::string& text) {
        const std::int64_t size = parse_dimension(text, "--batch");
        if (size == 0) {
          throw CLI::ValidationError("--batch", "a batch of 0 has no work; give 1 or more");
        }
        assign(load.dims, "--batch", "*", size);
      });
  add_repeated(
      app, "--shape", "NAME=SHAPE",
      "shape of a model input, such as data=1x3x224x224 or data=1,3,224,224, or of any other "
      "tensor that the model leaves without one; repeatable",
      [&load](const std::string& text) {
        auto [name, value] = split_assignment(text, "--shape");
        assign(load.shapes, "--shape", name, parse_shape(value, "--shape"));
      });
  add(app, SettingGroup::model);
  add_repeated(app, "--fetch", "NAME",
               "load only what this op, tensor or signature (of a SavedModel) needs, such as "
               "train_op or loss:0; repeatable; default: the model's training step if it has one, "
               "else its outputs",
               [&load](const std::string& text) {
                 if (text.empty()) {
                   throw CLI::ValidationError("--fetch", "name an op or a tensor of the model");
                 }
                 load.fetches.push_back(text);
               });
  add_repeated(app, "--state", "OUT=IN|none",
               "a result that is the next step's input; repeatable. Others are found by name "
               "(present.0.key, past_key_values.0.key), and where an input is appended to or "
               "written on; none: they are not",
               [&load](const std::string& text) { load.states.push_back(text); });
  app.add_flag_callback(
      "--no-fold", [&load] { load.fold = false; },
      "keep in the step what depends on parameters alone; runtimes compute it once, when they load "
      "the model");
}

void SettingOptions::add(CLI::App& app, SettingGroup group) {
  for (const SettingKey& key : setting_keys()) {
    if (key.group != group || *key.form == 0) continue;
    add_key(app, given, key);
    served_.insert(key.name);
  }
  if (group == SettingGroup::problem) {
    add_constraints(app, given.constraints);
    app.add_flag_callback(
        "--soft", [this] { given.soft = true; },
        "leave constraints out that cannot be kept, with a note, instead of failing");
    serve({"constraints", "soft"});
  }
  if (group == SettingGroup::search) {
    add_policy_options(app, given.options);
    serve({"options"});
  }
}

void SettingOptions::add(CLI::App& app, std::initializer_list<std::string_view> keys) {
  for (const std::string_view name : keys) {
    const auto all = setting_keys();
    add_key(app, given, *std::find_if(all.begin(), all.end(), [&](const SettingKey& key) {
              return name == key.name;
            }));
  }
  serve(keys);
}

void SettingOptions::remove_simulated(CLI::App& app) {
  for (const char* key : {"tool", "replicate", "soft"}) {
    app.remove_option(app.get_option_no_throw(option_of(key)));
    served_.erase(key);
  }
}

void SettingOptions::serve(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) served_.insert(key);
}

void SettingOptions::leave_out(std::initializer_list<std::string_view> keys,
                               const std::string& why) {
  for (const std::string_view key : keys) {
    if (given.has(key)) throw CLI::ValidationError(option_of(key), why);
    served_.erase(key);
  }
}

void SettingOptions::leave_out(SettingGroup group, const std::string& why, std::string_view but) {
  for (const SettingKey& key : setting_keys()) {
    if (key.group == group && key.name != but) leave_out({key.name}, why);
  }
}

void SettingOptions::add_config(CLI::App& app) {
  add_file(
      app, "--config", config_,
      "a file of settings, berth.settings/1 or Lua; the command line overrides it. It may name "
      "files to read and write, and code to run: use your own");
  add_file(app, "--untrusted-config", untrusted_,
           "somebody else's berth.settings/1, which may choose presets, numbers and installed "
           "plugins, but name no files; --config overrides it");
}

Settings SettingOptions::served(Settings file) const {
  for (const SettingKey& key : setting_keys()) {
    if (served_.contains(key.name) || !file.has(key.name)) continue;
    if (key.group == SettingGroup::files) {
      log_note(
          fmt::format("{}`berth {}` does not write this file", file.place(key.name), command_));
    }
    unset_setting(file, key.name);
  }
  return file;
}

Settings SettingOptions::merged(Settings weakest) const {
  Settings own;
  if (!untrusted_.empty()) {
    own = served(load_settings((std::filesystem::path(".") / untrusted_).string(),
                               SettingsTrust::untrusted));
  }
  if (!config_.empty()) own.add(served(read_file_or_lua(config_)));
  own.add(served(environment_settings()));
  own.add(given);
  Settings settings = own.start ? settings_of_start(*own.start) : Settings();
  settings.add(weakest);
  settings.add(own);
  for (const std::string& note : detect::find_here(settings)) log_note(note);
  return settings;
}

void SettingOptions::check_files(Engine& engine, const Settings& merged,
                                 const std::vector<Target>& targets,
                                 std::vector<Input> more) const {
  std::vector<Input> inputs = model_inputs(engine, model, targets);
  for (Input& input : setting_inputs(merged)) inputs.push_back(std::move(input));
  inputs.push_back({"the config", config_});
  inputs.push_back({"the config", untrusted_});
  inputs.insert(inputs.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
  check_targets(targets, inputs);
}

std::vector<Input> setting_inputs(const Settings& settings) {
  constexpr std::pair<std::string_view, const char*> kWhat[] = {
      {"cluster", "the cluster"},
      {"policy", "the policy"},
      {"start", "the placement to start from"}};
  std::vector<Input> inputs;
  for (NamedFile& file : files_read(settings)) {
    const auto* const known =
        std::find_if(std::begin(kWhat), std::end(kWhat),
                     [&](const auto& each) { return each.first == file.key; });
    inputs.push_back({known != std::end(kWhat) ? known->second : "the file of " + file.key,
                      std::move(file.path)});
  }
  if (const char* const variable = std::getenv("BERTH_CONFIG")) {
    inputs.push_back({"the config", variable});  // a text of settings is the name of no file
  }
  return inputs;
}

Settings read_settings(const std::string& file) {
  Settings settings;
  if (!file.empty()) settings = read_file_or_lua(file);
  settings.add(environment_settings());
  return settings;
}

void require_cluster(const Settings& settings) {
  if (settings.cluster || settings.evaluator == EvaluatorKind::measure) return;
  throw CLI::ValidationError("--cluster",
                             "which machine? Name a preset of `berth devices`, words such as "
                             "2xrtx4090, a berth.cluster/1 file, or `here` for this machine");
}

std::string required_backend(const Settings& settings) {
  if (!settings.backend) {
    throw CLI::RequiredError("--backend, such as cpu, which executes the model,");
  }
  return *settings.backend;
}

std::pair<std::string, std::string> split_assignment(const std::string& text,
                                                     const std::string& option) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw CLI::ValidationError(option, fmt::format("'{}' is not of the form name=value", text));
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

CLI::Option* add_file(CLI::App& app, const std::string& name, std::string& path,
                      const std::string& meaning) {
  return app.add_option(name, path, meaning)
      ->type_name("FILE")
      ->check(CLI::Validator(
          [](const std::string& text) -> std::string {
            return text.empty() ? "give it a file name" : "";
          },
          ""));
}

CLI::Option* add_repeated(CLI::App& app, const std::string& name, const std::string& value_name,
                          const std::string& meaning,
                          std::function<void(const std::string&)> take) {
  return app
      .add_option_function<std::vector<std::string>>(
          name,
          [take = std::move(take)](const std::vector<std::string>& values) {
            for (const std::string& value : values) take(value);
          },
          meaning)
      ->type_name(value_name)
      ->allow_extra_args(false);
}

}  // namespace berth::command
