// Models on real devices: what profile, measure, verify and the searches that measure share.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "berth/backend.h"
#include "berth/engine.h"
#include "model_options.h"

namespace berth::command {

/// "cpu" or "cpu:devices=4,threads=1". Throws CLI::ValidationError for text of another form, and
/// what Engine::make_backend throws.
[[nodiscard]] std::unique_ptr<Backend> make_backend(Engine& engine, const std::string& text);

/// Adds `--backend NAME[:KEY=VALUE,..]`.
CLI::Option* add_backend(CLI::App& app, std::string& text);
CLI::Option* add_backend(CLI::App& app, std::optional<std::string>& text);

/// A model loaded for a backend.
struct Execution {
  std::shared_ptr<Backend> backend;
  std::shared_ptr<const Program> program;
};
/// Passes the frontend's notes on to standard error. Throws Error(unsupported) for a model that
/// cannot be executed.
[[nodiscard]] Execution load_execution(Engine& engine, const ModelOptions& model,
                                       const std::string& backend);

/// The problem of executing: on the cluster that was chosen, which has the backend's devices, or
/// else on the backend's own.
[[nodiscard]] std::shared_ptr<const Problem> make_problem(Engine& engine,
                                                          const Execution& execution,
                                                          const ProblemChoices& choices);

/// A session that schedules as a simulation of `problem` does.
[[nodiscard]] std::shared_ptr<Session> open_session(const Execution& execution,
                                                    const Problem& problem, std::uint64_t seed);

/// What a search works on. Members in the order in which they depend on one another.
struct Bench {
  std::shared_ptr<Backend> backend;  ///< null where placements are simulated
  std::shared_ptr<const Problem> problem;
  std::shared_ptr<Session> session;  ///< null where placements are simulated
};
[[nodiscard]] Bench make_bench(Engine& engine, const ModelOptions& model,
                               const ProblemChoices& choices, const SearchChoices& search);

/// Adds `--evaluator` and the backend it needs.
void add_evaluator(CLI::App& app, SearchChoices& search);

/// How often steps run.
struct RepeatChoices {
  MeasureOptions options;

  /// `least`: how many steps must count.
  void add_to(CLI::App& app, int least);
};

}  // namespace berth::command
