#include "execution.h"

#include <utility>

#include "berth/run.h"
#include "console.h"
#include "setting_options.h"

namespace berth::command {

Execution load_execution(Engine& engine, const std::string& model, const Settings& settings) {
  // The backend first: a misspelled option is told at once.
  Execution execution;
  execution.backend = make_backend(engine, required_backend(settings));
  const Stage stage("loading " + model);
  LoadedProgram loaded = engine.load_program(model, settings.load);
  for (const std::string& note : loaded.notes) log_note(note);
  execution.program = std::move(loaded.program);
  return execution;
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
