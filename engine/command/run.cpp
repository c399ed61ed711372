// `berth run`: a Lua script on top of the engine.
#include <memory>
#include <string>
#include <vector>

#include "berth/engine.h"
#include "scripts.h"
#include "subcommands.h"

namespace berth::command {
namespace {

struct RunOptions {
  std::string script;
  std::vector<std::string> args;
};

int run_script(const RunOptions& options) {
  Engine engine;
  Scripts(engine).run(options.script, options.args);
  return 0;
}

}  // namespace

void add_run(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand("run", "run a Lua script");
  const auto options = std::make_shared<RunOptions>();
  sub->add_option("SCRIPT", options->script, "a Lua file; it finds `require \"berth\"`")
      ->required()
      ->type_name("");
  sub->add_option("ARGS", options->args, "what the script finds in `...`")->type_name("");
  // Everything after the script is the script's own, also what looks like an option of berth.
  sub->positionals_at_end();
  sub->footer(
      "Examples:\n"
      "  berth run scripts/experiments/compare.lua model.onnx k80x4");
  sub->callback([&chosen, options] { chosen = [options] { return run_script(*options); }; });
}

}  // namespace berth::command
