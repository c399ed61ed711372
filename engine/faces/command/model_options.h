// The options that place, compare and simulate have in common: what is to be solved.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/engine.h"
#include "berth/frontend.h"
#include "berth/problem.h"
#include "berth/settings.h"
#include "lua/host.h"
#include "targets.h"

namespace berth::command {

/// The model, which part of it to load, and how to bind its dynamic dimensions.
struct ModelOptions {
  std::string model;
  LoadOptions load;

  void add_to(CLI::App& app);
};

/// What a problem needs besides the model. Empty = not given; the defaults are those of
/// `make_problem`.
struct ProblemChoices {
  std::optional<std::string> cluster;
  std::optional<std::string> costs;
  std::optional<GroupId> groups;
  std::optional<std::string> grouping;
  std::optional<std::string> objective;
  std::optional<std::string> semantics;
  std::optional<int> threads;
  std::vector<ConstraintRule> constraints;

  /// `searches`: also the options that only a search for a placement needs.
  void add_to(CLI::App& app, bool searches);
  /// Only cluster and costs.
  void add_machine_to(CLI::App& app);
};

/// Choices of a search: place and compare.
struct SearchChoices {
  std::optional<std::uint64_t> seed;
  std::optional<std::string> budget;
  std::optional<std::string> evaluator;  ///< "simulate" (default) or "measure", by `backend`
  std::optional<std::string> backend;    ///< default: cpu
  std::optional<std::string> bound;      ///< of the config alone; default: strong
  std::string log;                       ///< where events go; empty = nowhere

  void add_to(CLI::App& app);
  /// --log, for commands that write files.
  void add_log_to(CLI::App& app);
  [[nodiscard]] bool measures() const { return evaluator == "measure"; }
  /// Infinity where no budget is given.
  [[nodiscard]] double budget_s() const;
};

/// The files that these choices read, for check_targets.
[[nodiscard]] std::vector<Input> input_files(const ModelOptions& model,
                                             const ProblemChoices& choices);

/// Takes from a config file what the command line left open; dimensions and shapes by name.
void fill_in(const Settings& config, ModelOptions& model, ProblemChoices& choices,
             SearchChoices& search);
/// A text setting of a config; empty where the file does not give it.
[[nodiscard]] std::optional<std::string> config_text(const Settings& config,
                                                     const std::string& key);

/// Loads the model and passes the frontend's notes on to standard error.
[[nodiscard]] std::shared_ptr<const Graph> load_model(Engine& engine, const ModelOptions& options);

/// Throws CLI::ValidationError, a usage error, where no cluster is chosen.
[[nodiscard]] std::shared_ptr<const Problem> make_problem(Engine& engine, const ModelOptions& model,
                                                          const ProblemChoices& choices);
/// The same for a model that is loaded, on a cluster that is.
[[nodiscard]] std::shared_ptr<const Problem> make_problem(Engine& engine,
                                                          std::shared_ptr<const Graph> graph,
                                                          std::shared_ptr<const Cluster> cluster,
                                                          const ProblemChoices& choices);

/// "name=value" at its last '='. Throws CLI::ValidationError: a usage error.
[[nodiscard]] std::pair<std::string, std::string> split_assignment(const std::string& text,
                                                                   const std::string& option);

/// Adds an option that names a file; an empty name is a usage error.
CLI::Option* add_file(CLI::App& app, const std::string& name, std::string& path,
                      const std::string& meaning);

/// Adds an option that is given once per value and never swallows the argument after it.
CLI::Option* add_repeated(CLI::App& app, const std::string& name, const std::string& value_name,
                          const std::string& meaning, std::function<void(const std::string&)> take);

}  // namespace berth::command
