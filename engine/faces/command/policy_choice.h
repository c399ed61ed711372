// Which policy a command runs, and with which options.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "berth/engine.h"
#include "berth/settings.h"
#include "scripts.h"

namespace berth::command {

struct PolicyChoice {
  std::optional<std::string> name;
  OptionTexts options;

  /// Adds --policy, described by `what`, and --set.
  void add_to(CLI::App& sub, const std::string& what);
  /// The config fills in what the command line leaves open. Its options belong to its policy: they
  /// are left aside where the command line names another.
  void fill_in(const Settings& config);
};

}  // namespace berth::command
