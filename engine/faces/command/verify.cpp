// `berth verify`: does a placement compute what one device computes, where it was asked to?
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "berth/backend.h"
#include "berth/files.h"
#include "berth/run.h"
#include "console.h"
#include "execution.h"
#include "outcome.h"
#include "setting_options.h"
#include "subcommands.h"
#include "text_table.h"

namespace berth::command {
namespace {

using Json = nlohmann::ordered_json;
using Align = TextTable::Align;

struct VerifyChoices {
  SettingOptions settings;
  VerifyOptions options;
  std::string placement;
  bool json = false;
};

std::size_t compared_count(const Verification& found) {
  return static_cast<std::size_t>(
      std::count_if(found.outputs.begin(), found.outputs.end(),
                    [](const auto& output) { return output.compared; }));
}

/// Whether nothing differs of what was compared, and something was.
bool is_verified(const Verification& found) {
  return found.differences.empty() && compared_count(found) > 0;
}

std::string verification_text(const Verification& found, const Cluster& cluster,
                              std::size_t op_count) {
  TextTable table({{"output"}, {"elements", Align::right}, {"largest difference", Align::right}});
  for (const Verification::Output& output : found.outputs) {
    table.add_row(
        {printable(output.name), std::to_string(output.elements),
         output.compared ? fmt::format("{:.3g}", output.largest_difference) : "not compared"});
  }
  std::string text =
      found.outputs.empty() ? "The model has no outputs to compare.\n" : table.text();
  for (const Difference& difference : found.differences) {
    text += fmt::format("DIFFERS: {} {}\n", printable(difference.what),
                        printable(difference.explanation));
  }
  if (!found.differences.empty()) return text;
  const std::string ran = fmt::format("all {} ops ran where they were placed.\n", op_count);
  const std::string& reference = cluster.device(found.reference).name;
  const std::size_t compared = compared_count(found);
  if (compared == 0) {
    return text + "Not verified: there was no output to compare (texts and sequences are not); " +
           ran;
  }
  if (compared < found.outputs.size()) {
    return text + fmt::format(
                      "Verified in part: {} of {} outputs were compared and are those of {} alone, "
                      "and {}",
                      compared, found.outputs.size(), reference, ran);
  }
  return text + fmt::format("Verified: the outputs are those of {} alone, and {}", reference, ran);
}

Json verification_json(const Verification& found, const Cluster& cluster) {
  Json outputs = Json::array();
  for (const Verification::Output& output : found.outputs) {
    outputs.push_back({{"name", output.name},
                       {"elements", output.elements},
                       {"compared", output.compared},
                       {"largest_difference", output.largest_difference}});
  }
  Json differences = Json::array();
  for (const Difference& difference : found.differences) {
    differences.push_back({{"what", difference.what}, {"explanation", difference.explanation}});
  }
  return {{"verified", is_verified(found)},
          {"reference", cluster.device(found.reference).name},
          {"outputs", std::move(outputs)},
          {"differences", std::move(differences)}};
}

int run_verify(const VerifyChoices& options) {
  const StoredPlacement stored = read_placement(options.placement);
  const Settings settings = options.settings.merged(stored.settings);
  const auto engine = make_engine(settings);
  const Execution execution = load_execution(*engine, options.settings.model, settings);
  const std::shared_ptr<const Cluster> cluster = execution.backend->cluster();
  const Graph& graph = *execution.program->graph;
  const Placement placement = parse_placement(stored.text, stored.path, graph, *cluster);
  SessionOptions session_options;
  session_options.seed = options.options.seed;
  const auto session = execution.backend->open(execution.program, session_options);
  const InterruptGuard guard;
  const Stage stage("verifying " + options.settings.model);
  const Verification found = verify(*execution.backend, *session, placement, options.options);
  const auto ops = static_cast<std::size_t>(graph.op_count());
  print(options.json ? json_text(verification_json(found, *cluster))
                     : verification_text(found, *cluster, ops));
  return found.differences.empty() ? 0 : 1;
}

}  // namespace

void add_verify(CLI::App& app, Action& chosen) {
  CLI::App* sub =
      app.add_subcommand("verify", "check that a placement computes the same as one device");
  const auto options = std::make_shared<VerifyChoices>();
  options->options.should_stop = [] { return InterruptGuard::interrupted(); };
  options->settings.add_model(*sub);
  options->settings.add(*sub, {"backend"});
  options->settings.add_config(*sub);
  add_file(*sub, "--placement", options->placement,
           "a berth.placement/1 file, as `berth place -o` writes it")
      ->required();
  sub->add_option("--relative-tolerance", options->options.relative_tolerance,
                  "largest relative difference of an element of an output")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber)
      ->type_name("X");
  sub->add_option("--absolute-tolerance", options->options.absolute_tolerance,
                  "largest absolute difference, allowed in addition")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber)
      ->type_name("X");
  sub->add_option("--seed", options->options.seed,
                  "seed of inputs, and of parameters that the model file does not hold")
      ->capture_default_str()
      ->type_name("N");
  sub->add_flag("--json", options->json, "print one JSON object on standard output");
  sub->footer(
      "Examples:\n"
      "  berth verify model.onnx --backend cpu --placement placement.json\n"
      "The exit status is 1 if an output differs or an op ran on another device.");
  sub->callback([&chosen, options] { chosen = [options] { return run_verify(*options); }; });
}

}  // namespace berth::command
