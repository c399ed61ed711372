// One function per subcommand: describes it to the parser, and says what to do when it is chosen.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace berth::command {

/// Does the work and returns the exit status; throws berth::Error, CLI::ParseError (usage).
using Action = std::function<int()>;

/// Each sets `chosen` when its subcommand is the one on the command line.
void add_place(CLI::App& app, Action& chosen);
void add_compare(CLI::App& app, Action& chosen);
void add_explain(CLI::App& app, Action& chosen);
void add_report(CLI::App& app, Action& chosen);
void add_simulate(CLI::App& app, Action& chosen);
void add_profile(CLI::App& app, Action& chosen);
void add_measure(CLI::App& app, Action& chosen);
void add_learn(CLI::App& app, Action& chosen);
void add_tune(CLI::App& app, Action& chosen);
void add_verify(CLI::App& app, Action& chosen);
void add_inspect(CLI::App& app, Action& chosen);
void add_devices(CLI::App& app, Action& chosen);
void add_plugins(CLI::App& app, Action& chosen);
void add_config(CLI::App& app, Action& chosen);
void add_schema(CLI::App& app, Action& chosen);
void add_watch(CLI::App& app, Action& chosen);
void add_run(CLI::App& app, Action& chosen);
void add_study(CLI::App& app, Action& chosen);
/// Completes all that `app` has when it runs.
void add_completion(CLI::App& app, Action& chosen);

}  // namespace berth::command
