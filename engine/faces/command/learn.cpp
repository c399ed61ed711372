// `berth learn`: rules for the policy `instant`. The work is done by the Lua library.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "command_run.h"
#include "console.h"
#include "setting_options.h"
#include "subcommands.h"
#include "targets.h"

namespace berth::command {
namespace {

struct LearnOptions {
  std::vector<std::string> models;
  std::string machines;
  std::string output;
  std::string record;
  int draws = 300;
  int keep = 8;
  int seed = 1;
};

/// The file of FILE@NAME=SIZE,NAME=SIZE.
std::string file_of(const std::string& model) {
  const std::size_t at = model.rfind('@');
  return at != std::string::npos && model.find('=', at) != std::string::npos ? model.substr(0, at)
                                                                             : model;
}

void check_files(Engine& engine, const LearnOptions& options) {
  std::vector<Target> targets = {{"-o", options.output}};
  if (!options.record.empty()) targets.push_back({"--record", options.record});
  Settings machines;
  set_setting(machines, "clusters", options.machines);
  std::vector<Input> inputs = setting_inputs(machines);
  for (const std::string& model : options.models) {
    for (Input& input : model_inputs(engine, file_of(model), targets)) {
      inputs.push_back(std::move(input));
    }
  }
  check_targets(targets, inputs);
}

int run_learn(const LearnOptions& options) {
  CommandRun run{read_settings()};
  check_files(run.engine(), options);
  std::vector<std::string> args{output_path(options.output).string(), options.machines,
                                std::to_string(options.draws),        std::to_string(options.keep),
                                std::to_string(options.seed),         options.record};
  args.insert(args.end(), options.models.begin(), options.models.end());
  run.scripts().run_library("commands/learn.lua", args);
  return 0;
}

}  // namespace

void add_learn(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand("learn", "learn rules for the policy instant from models");
  const auto options = std::make_shared<LearnOptions>();
  sub->add_option("MODEL", options->models, "models to learn from")->required()->type_name("");
  sub->add_option("--machines", options->machines, "presets or cluster files, as in k80x4,v100x8")
      ->required()
      ->type_name("LIST");
  sub->add_option("-o,--output", options->output, "the file of weights")
      ->required()
      ->type_name("FILE");
  sub->add_option("--draws", options->draws, "rules to try, each on every model and machine")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
  sub->add_option("--keep", options->keep, "rules to keep")
      ->check(CLI::Range(1, 64))
      ->type_name("N");
  sub->add_option("--seed", options->seed, "seed of the draws")->type_name("N");
  sub->add_option("--record", options->record,
                  "a file of what is done: the same command goes on where it was stopped")
      ->type_name("FILE");
  sub->footer(
      "Example:\n"
      "  berth learn a.onnx b.onnx --machines k80x4,v100x8 -o mine.weights\n"
      "  berth place c.onnx --cluster v100x8 --policy instant --set weights=mine.weights \\\n"
      "      --budget 10ms -o placement.json\n");
  sub->callback([&chosen, options] { chosen = [options] { return run_learn(*options); }; });
}

}  // namespace berth::command
