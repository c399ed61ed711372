// `berth run`: a Lua script on top of the engine.
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/error.h"
#include "command_run.h"
#include "console.h"
#include "scripts.h"
#include "setting_options.h"
#include "subcommands.h"

namespace berth::command {
namespace {

struct RunOptions {
  std::string script;
  std::string config;
  std::vector<std::string> args;
  std::optional<int> threads;
  std::optional<int> workers;
};

/// Processes share the cores: one thread each, unless told otherwise.
void launch(Scripts& scripts, const RunOptions& options) {
  std::vector<std::string> args = {std::to_string(*options.workers),
                                   std::to_string(options.threads.value_or(1)),
                                   output_path("/dev/stdout").filename().string(), options.script};
  args.insert(args.end(), options.args.begin(), options.args.end());
  scripts.run_library("commands/launch.lua", args);
}

/// Whether the process is there and is more than a record of its end.
bool is_running(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(") ");  // a name may hold anything
  return name_end != std::string::npos && line.compare(name_end + 2, 1, "Z") != 0;
}

/// A process of `--workers` ends with the one that started it, also where its script trains alone or has not joined the
/// others yet. Programs that such a process starts inherit the variable, and have another parent.
void end_with_launcher() {
  const char* const parent = std::getenv("BERTH_PARENT");
  if (parent == nullptr) return;
  if (std::to_string(getppid()) == parent) prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (!is_running(parent)) std::raise(SIGKILL);  // it ended before it could be asked to tell
}

int run_script(const RunOptions& options) {
  end_with_launcher();
  CommandRun run(read_settings(options.config));
  try {
    Scripts& scripts = run.scripts();
    if (options.workers) {
      launch(scripts, options);
      return 0;
    }
    scripts.set_threads(options.threads.value_or(0));
    scripts.run(options.script, options.args);
  } catch (const Error& error) {
    if (options.workers) throw;
    log_script_error(error.what());
    return 1;
  }
  return 0;
}

}  // namespace

void add_run(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand("run", "run a Lua script");
  const auto options = std::make_shared<RunOptions>();
  sub->add_option("SCRIPT", options->script, "a Lua file; it can `require \"berth\"`")
      ->required()
      ->type_name("");
  sub->add_option("ARGS", options->args, "arguments of the script: its `...`")->type_name("");
  add_file(*sub, "--config", options->config,
           "a file of settings that hold where the script names nothing itself: of the search, "
           "policy:place takes seed, threads, budget, moves and bound, and berth.place all");
  sub->add_option(
         "--threads", options->threads,
         "threads of its policies and evaluators where it names no number; default: all cores")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  sub->add_option("--workers", options->workers,
                  "number of extra worker processes, which run the script too and train together")
      ->check(CLI::Range(1, 100000))
      ->type_name("N");
  // Everything after the script is the script's own, also what looks like an option of berth.
  sub->positionals_at_end();
  sub->footer(
      "Examples:\n"
      "  berth run scripts/experiments/compare.lua model.onnx:k80x4 model.onnx:v100x8\n"
      "  berth run --threads 2 train.lua --seed 3    options of berth stand before the script\n"
      "  berth run --workers 8 train.lua             nine processes, one of which learns\n"
      "A script is a program: it has Lua's `os` and `io` and may do all that you may. Run none "
      "that\n"
      "you do not trust. A --config has `math` alone.");
  sub->callback([&chosen, options] { chosen = [options] { return run_script(*options); }; });
}

}  // namespace berth::command
