#include "execution.h"

#include <spdlog/fmt/fmt.h>

#include <limits>
#include <utility>

#include "berth/error.h"
#include "berth/files.h"
#include "console.h"

namespace berth::command {

std::unique_ptr<Backend> make_backend(Engine& engine, const std::string& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  OptionTexts options;
  for (std::size_t begin = colon + 1; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    auto [key, value] = split_assignment(text.substr(begin, end - begin), "--backend");
    options[key] = value;
    begin = end + 1;
  }
  return engine.make_backend(text.substr(0, colon), options);
}

namespace {

template <typename Text>
CLI::Option* add_backend_to(CLI::App& app, Text& text) {
  return app
      .add_option("--backend", text,
                  "the backend that executes the model, such as cpu or "
                  "cpu:devices=4,threads=1; `berth plugins NAME` lists a backend's options")
      ->type_name("NAME[:KEY=VALUE,..]");
}

}  // namespace

CLI::Option* add_backend(CLI::App& app, std::string& text) {
  return add_backend_to(app, text);
}

CLI::Option* add_backend(CLI::App& app, std::optional<std::string>& text) {
  return add_backend_to(app, text);
}

Execution load_execution(Engine& engine, const ModelOptions& model, const std::string& backend) {
  // The backend first: a misspelled option is told at once.
  Execution execution;
  execution.backend = make_backend(engine, backend);
  const Stage stage("loading " + model.model);
  LoadedProgram loaded = engine.load_program(model.model, model.load);
  for (const std::string& note : loaded.notes) log_note(note);
  execution.program = std::move(loaded.program);
  return execution;
}

std::shared_ptr<const Problem> make_problem(Engine& engine, const Execution& execution,
                                            const ProblemChoices& choices) {
  const std::shared_ptr<const Cluster> own = execution.backend->cluster();
  std::shared_ptr<const Cluster> cluster = own;
  if (choices.cluster) {
    cluster = load_cluster(*choices.cluster);
    if (cluster->device_names() != own->device_names()) {
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("cluster {} has the devices {}, the backend {}; give the cluster file "
                      "that `berth profile` wrote for it, or none",
                      *choices.cluster, cluster->device_names(), own->device_names()));
    }
  }
  return make_problem(engine, execution.program->graph, std::move(cluster), choices);
}

std::shared_ptr<Session> open_session(const Execution& execution, const Problem& problem,
                                      std::uint64_t seed) {
  SessionOptions options;
  options.seed = seed;
  options.priorities_us = priorities_us(problem);
  return execution.backend->open(execution.program, options);
}

Bench make_bench(Engine& engine, const ModelOptions& model, const ProblemChoices& choices,
                 const SearchChoices& search) {
  if (!search.measures()) return {nullptr, make_problem(engine, model, choices), nullptr};
  const Execution execution = load_execution(engine, model, search.backend.value_or("cpu"));
  Bench bench{execution.backend, make_problem(engine, execution, choices), nullptr};
  bench.session = open_session(execution, *bench.problem, search.seed.value_or(0));
  return bench;
}

void add_evaluator(CLI::App& app, SearchChoices& search) {
  app.add_option("--evaluator", search.evaluator,
                 "whether placements are simulated, or executed by --backend and measured (then "
                 "--cluster is not needed); default: simulate")
      ->check(CLI::IsMember({"simulate", "measure"}))
      ->type_name("simulate|measure");
  add_backend(app, search.backend);
}

void RepeatChoices::add_to(CLI::App& app, int least) {
  constexpr int kMost = 1'000'000;
  options.should_stop = [] { return InterruptGuard::interrupted(); };
  app.add_option("--warm-up", options.warm_up, "number of first steps that do not count")
      ->capture_default_str()
      ->check(CLI::Range(0, kMost))
      ->type_name("N");
  app.add_option("--repeats", options.repeats, "steps that count")
      ->capture_default_str()
      ->check(CLI::Range(least, kMost))
      ->type_name("N");
  app.add_option("--seed", options.seed,
                 "seed of inputs, and of parameters that the model file does not hold")
      ->capture_default_str()
      ->type_name("N");
}

}  // namespace berth::command
