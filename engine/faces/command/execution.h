// Models on real devices: what profile, measure and verify share.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "berth/backend.h"
#include "berth/engine.h"
#include "berth/settings.h"

namespace berth::command {

/// A model loaded for a backend.
struct Execution {
  std::shared_ptr<Backend> backend;
  std::shared_ptr<const Program> program;
};
/// Passes the frontend's notes on to standard error. Throws Error(unsupported) for a model that
/// cannot be executed, CLI::RequiredError where the settings name no backend.
[[nodiscard]] Execution load_execution(Engine& engine, const std::string& model,
                                       const Settings& settings);

/// How often steps run.
struct RepeatChoices {
  MeasureOptions options;

  /// `least`: how many steps must count.
  void add_to(CLI::App& app, int least);
};

}  // namespace berth::command
