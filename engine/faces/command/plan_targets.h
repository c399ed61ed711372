// --write FORMAT=FILE: a placement in the form that another tool takes.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "berth/engine.h"
#include "berth/frontend.h"
#include "berth/outcome.h"
#include "berth/run.h"
#include "berth/settings.h"
#include "setting_options.h"
#include "targets.h"

namespace berth::command {

/// Adds --write, whose texts go to Settings::write.
void add_write(CLI::App& app, SettingOptions& settings);

/// The plans of the settings "write" and "annotate".
class PlanTargets {
 public:
  /// Throws Error(invalid_argument) for a form that there is not.
  explicit PlanTargets(const Settings& settings);
  /// For check_targets.
  void add_to(std::vector<Target>& targets) const;
  /// Before the work: what writes the model, null where it is not to be written. Throws what
  /// Engine::frontend_for throws, and Error(unsupported) for what it cannot write.
  [[nodiscard]] std::unique_ptr<Frontend> writer_of_model(Engine& engine, const std::string& model,
                                                          const Settings& settings) const;
  /// Whether there is a plan of this form.
  [[nodiscard]] bool has(std::string_view form) const;
  /// Before the search: throws Error(unsupported) for a form that no placement of this model on this
  /// machine can have. The form of the tool that is placed for is left to its rules; replicas that are searched for
  /// are left to the end, where the plain step may be the best. `frontend`: from writer_of_model.
  void check(const Task& task, const std::string& model, Frontend* frontend,
             const Settings& settings) const;
  /// Writes all that can be. `frontend`: from writer_of_model.
  void write(const std::string& model, Frontend* frontend, const Outcome& outcome,
             Written& written) const;

 private:
  struct Plan {
    std::string format;  ///< of plan_writers(), or "model": the model's own format
    std::string path;
    std::string option;  ///< as it was asked for, for messages
  };
  static Plan parse(const std::string& text);

  std::vector<Plan> plans_;
};

}  // namespace berth::command
