// The command line as settings: every subcommand's options fill one Settings.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "berth/settings.h"
#include "targets.h"

namespace berth::command {

/// A subcommand's model and settings: those that it has an option for, and those that `serve` names. In a file,
/// which several commands may share, others are left out; a file that another command would write is told. It
/// outlives the parsing of the command line.
class SettingOptions {
 public:
  std::string model;
  /// The command line's own, which are the strongest.
  Settings given;

  /// MODEL, and how it is loaded: --dim, --batch, --shape, --fetch, --state, --no-fold, and an option
  /// per key of its group that has a form of one text.
  void add_model(CLI::App& app);
  /// An option per key of the group that has a form of one text; for the problem also --pin,
  /// --respect-devices and --memory-margin, for the search also --set.
  void add(CLI::App& app, SettingGroup group);
  void add(CLI::App& app, std::initializer_list<std::string_view> keys);
  /// --config and --untrusted-config.
  void add_config(CLI::App& app);
  /// Removes the options of the problem that a run which measures refuses.
  void remove_simulated(CLI::App& app);
  /// Keys that count without an option.
  void serve(std::initializer_list<std::string_view> keys);
  /// Keys that say nothing in this run after all: files are read without them, and one on the command line is
  /// a usage error, for this reason.
  void leave_out(std::initializer_list<std::string_view> keys, const std::string& why);
  void leave_out(SettingGroup group, const std::string& why, std::string_view but = {});

  /// All that is in force, the weakest first: `weakest`, --untrusted-config, --config, BERTH_CONFIG,
  /// the command line.
  [[nodiscard]] Settings merged(Settings weakest = {}) const;
  /// Runs check_targets with all that the settings, the model and `more` read.
  void check_files(Engine& engine, const Settings& merged, const std::vector<Target>& targets,
                   std::vector<Input> more = {}) const;

 private:
  [[nodiscard]] Settings served(Settings file) const;

  std::string command_;
  std::string config_;
  std::string untrusted_;
  std::set<std::string_view> served_;
};

/// The reason why keys of a search are left out where placements are named.
inline constexpr const char* kNoSearch =
    "a placement is named, so that none is searched for; leave one of the two out";

/// The files that the settings read, and the one that BERTH_CONFIG names.
[[nodiscard]] std::vector<Input> setting_inputs(const Settings& settings);
/// --config FILE of Lua or JSON (empty = none) and BERTH_CONFIG over it, for commands without options
/// for settings.
[[nodiscard]] Settings read_settings(const std::string& file = {});

/// A usage error where settings that simulate name no machine.
void require_cluster(const Settings& settings);
/// A usage error where no backend is named.
[[nodiscard]] std::string required_backend(const Settings& settings);

/// The two sides of "name=value", of which neither is empty.
[[nodiscard]] std::pair<std::string, std::string> split_assignment(const std::string& text,
                                                                   const std::string& option);
/// An option whose value is a file name, which is not empty.
CLI::Option* add_file(CLI::App& app, const std::string& name, std::string& path,
                      const std::string& meaning);
/// An option that may be given again and again; `take` gets each value.
CLI::Option* add_repeated(CLI::App& app, const std::string& name, const std::string& value_name,
                          const std::string& meaning, std::function<void(const std::string&)> take);

}  // namespace berth::command
