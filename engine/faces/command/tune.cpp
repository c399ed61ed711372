// `berth tune`: a placement and costs from a few measured steps. The work is done by the Lua library.
#include <spdlog/fmt/fmt.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "berth/error.h"
#include "berth/files.h"
#include "berth/run.h"
#include "command_run.h"
#include "console.h"
#include "outcome.h"
#include "report_file.h"
#include "setting_options.h"
#include "subcommands.h"
#include "targets.h"

namespace berth::command {
namespace {

constexpr const char* kPolicy = "tune";

struct TuneOptions {
  SettingOptions settings;
  int measurements = 25;
  std::string costs;
  std::string machine;
  std::string placement;
  std::string record;
  bool json = false;
};

/// The settings of the search: it measures, and the policy is the library's.
Settings settings_of(const TuneOptions& options) {
  Settings settings = options.settings.merged();
  static_cast<void>(required_backend(settings));
  if (settings.policy && settings.policy != kPolicy) {
    log_note(fmt::format("the policy '{}' of the settings is not asked: tune places by itself",
                         *settings.policy));
    settings.options.clear();
  }
  settings.policy = kPolicy;
  settings.fallbacks.reset();
  settings.evaluator = EvaluatorKind::measure;
  settings.options.insert_or_assign("measurements", std::to_string(options.measurements));
  if (!options.record.empty()) settings.options.insert_or_assign("record", options.record);
  return settings;
}

/// The placement's settings with the machine that was learnt, and its costs where they are in a file
/// (`costs`; empty = none): what measures or simulates it later compares with those.
std::string learnt_settings(const Outcome& outcome, const std::string& costs,
                            const std::string& machine) {
  Settings settings = parse_settings(outcome.origin.settings, "the settings of the placement");
  if (!costs.empty()) settings.costs = std::filesystem::absolute(costs).string();
  settings.cluster = machine;
  return settings_json(settings);
}

/// Texts of the files that the policy wrote.
struct Learnt {
  std::string costs;
  std::string machine;
};

Learnt read_learnt(const std::filesystem::path& folder) {
  return {read_file(folder / "costs.json"), read_file(folder / "machine.json")};
}

/// A folder for the learnt figures, removed at the end.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "berth-tune-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw Error(ErrorCode::io, fmt::format("cannot make a folder like {}", name));
    }
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

std::vector<Target> targets_of(const TuneOptions& options, const Settings& settings) {
  std::vector<Target> targets;
  if (!options.costs.empty()) targets.push_back({"-o", options.costs});
  if (!options.machine.empty()) targets.push_back({"--cluster-output", options.machine});
  if (!options.placement.empty()) targets.push_back({"--placement", options.placement});
  if (!options.record.empty()) targets.push_back({"--record", options.record});
  add_target(targets, "--report", settings.report);
  add_target(targets, "--log", settings.log);
  return targets;
}

void write_all(const TuneOptions& options, const Settings& settings, Outcome& outcome,
               const Learnt& learnt, Written& written) {
  const bool has_costs = !options.costs.empty() &&
                         written.attempt("-o", [&] { write_target(options.costs, learnt.costs); });
  if (!options.machine.empty()) {
    written.attempt("--cluster-output", [&] { write_target(options.machine, learnt.machine); });
  }
  outcome.origin.settings =
      learnt_settings(outcome, has_costs ? options.costs : std::string(), learnt.machine);
  if (!options.placement.empty()) {
    written.attempt("--placement", [&] {
      write_target(options.placement,
                   placement_json(outcome.problem->graph(), outcome.problem->cluster(),
                                  outcome.placement, &outcome.evaluation, &outcome.origin));
    });
  }
  if (settings.report) {
    written.attempt("--report", [&] { write_report(*settings.report, outcome, settings); });
  }
}

int run_tune(const TuneOptions& options) {
  Settings settings = settings_of(options);
  const std::vector<Target> targets = targets_of(options, settings);
  const Scratch scratch;
  settings.options.insert_or_assign("costs", (scratch.path() / "costs.json").string());
  settings.options.insert_or_assign("machine", (scratch.path() / "machine.json").string());

  CommandRun run(settings);
  Settings reads = settings;
  if (!options.record.empty()) reads.options.erase("record");  // it is written too
  options.settings.check_files(run.engine(), reads, targets);
  RunHooks hooks = run.hooks();
  hooks.knows = [](const std::string& name) { return name == kPolicy || is_script(name); };
  hooks.make = [&](std::string_view name, const OptionTexts& texts) {
    return name == kPolicy ? run.scripts().make_library_policy("commands/tune.lua", texts)
                           : run.hooks().make(name, texts);
  };
  Outcome outcome = berth::run(run.engine(), options.settings.model, settings, hooks);
  warn_of_interrupt(outcome);
  if (!outcome.evaluation.feasible) {
    throw Error(ErrorCode::infeasible,
                "none of the placements that were measured fits; nothing was written");
  }
  for (const char* file : {"costs", "machine"}) outcome.origin.options.erase(file);
  Written written(targets);
  write_all(options, settings, outcome, read_learnt(scratch.path()), written);
  if (!run.log_is_whole()) written.lose("--log");
  print(options.json ? json_text(outcome_json(outcome)) : outcome_text(outcome) + written.text());
  return written.exit_status();
}

}  // namespace

void add_tune(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand(
      "tune", "learn the costs of a model from a few measured placements, and place it by them");
  const auto options = std::make_shared<TuneOptions>();
  SettingOptions& settings = options->settings;
  settings.add_model(*sub);
  settings.add(*sub, {"backend", "costs"});
  sub->add_option("--measurements", options->measurements, "placements to measure")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000))
      ->type_name("N");
  add_file(*sub, "-o,--output", options->costs,
           "write the learnt costs here (berth.costs/1), for --costs of other subcommands");
  add_file(*sub, "--cluster-output", options->machine,
           "write the learnt machine here (berth.cluster/1), for --cluster of other subcommands");
  add_file(*sub, "--placement", options->placement,
           "write the best placement that was measured here (berth.placement/1)");
  add_file(*sub, "--record", options->record,
           "keep every measurement in this file; the same command goes on from it");
  settings.add(*sub, SettingGroup::problem);
  settings.remove_simulated(*sub);
  settings.serve({"policy", "options"});  // options of the policy `tune`
  settings.add(*sub, {"seed", "threads", "budget", "report", "log"});
  settings.add_config(*sub);
  sub->add_flag("--json", options->json, "print one JSON object on standard output");
  sub->footer(
      "Examples:\n"
      "  berth tune model.onnx --backend cpu:devices=2 --measurements 25 -o costs.json \\\n"
      "      --cluster-output machine.json --placement placement.json --record tune.record\n"
      "  berth place model.onnx --cluster machine.json --costs costs.json\n"
      "Measurements start from --costs (default: roofline costs of the backend's nominal "
      "figures).\n"
      "Ctrl-C ends the search; what was measured until then counts. --budget ends it, too.");
  sub->callback([&chosen, options] { chosen = [options] { return run_tune(*options); }; });
}

}  // namespace berth::command
