// `berth inspect`: what is in a model, and what Berth does not know of it.
#include <spdlog/fmt/fmt.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/backend.h"
#include "berth/engine.h"
#include "berth/run.h"
#include "console.h"
#include "graph_summary.h"
#include "outcome.h"
#include "setting_options.h"
#include "subcommands.h"
#include "support/units.h"
#include "text_table.h"

namespace berth::command {
namespace {

using Json = nlohmann::ordered_json;
using Align = TextTable::Align;

struct InspectOptions {
  SettingOptions settings;
  bool json = false;
};

/// The ops of a model that a backend cannot execute.
struct Executability {
  std::string backend;
  std::vector<Obstacle> obstacles;
};

std::string shape_text(const GraphSummary::Input& input) {
  if (!input.has_shape) return "shape unknown";
  std::string text;
  for (const std::int64_t dim : input.shape) {
    text += (text.empty() ? "" : " x ") + (dim == kUnknownDim ? "?" : std::to_string(dim));
  }
  return text.empty() ? "scalar" : text;
}

std::string inputs_text(const GraphSummary& summary) {
  if (summary.inputs.empty()) return {};
  TextTable table({{"input"}, {"type"}, {"shape"}});
  bool open = false;
  for (const GraphSummary::Input& input : summary.inputs) {
    table.add_row({input.name, std::string(dtype_name(input.dtype)), shape_text(input)});
    open = open || input.dynamic();
  }
  std::string text = "\n" + table.text(2);
  if (open) {
    text +=
        "  '?' is a dynamic dimension: give it a size with --dim NAME=SIZE, the first of every "
        "input "
        "with\n  --batch SIZE, or its input a shape with --shape INPUT=1x3x224x224, and more sizes "
        "become known.\n";
  }
  return text;
}

std::string types_text(const GraphSummary& summary) {
  TextTable table({{"op type"},
                   {"class"},
                   {"ops", Align::right},
                   {"FLOP", Align::right},
                   {"", Align::right},
                   {"bytes moved", Align::right},
                   {"", Align::right},
                   {""}});
  for (const GraphSummary::Type& type : summary.types) {
    const double flop_share = summary.flops > 0 ? type.flops / summary.flops : 0;
    const double byte_share = summary.bytes > 0 ? type.bytes / summary.bytes : 0;
    table.add_row({type.name, std::string(op_class_name(type.op_class)), format_count(type.ops),
                   format_rate(type.flops, ""), format_percent(flop_share),
                   format_rate(type.bytes, "B"), format_percent(byte_share),
                   type.without_rule > 0
                       ? fmt::format("{} by bytes only", format_count(type.without_rule))
                       : ""});
  }
  return "\n" + table.text(2);
}

std::string summary_text(const Graph& graph, const GraphSummary& summary) {
  std::string text = fmt::format("{} ({}): {} ops, {} edges, {} tensors\n\n",
                                 graph.name().empty() ? "model" : graph.name(), graph.dialect(),
                                 format_count(graph.op_count()), format_count(graph.edge_count()),
                                 format_count(graph.tensor_count()));
  text = printable(text.substr(0, text.size() - 2)) + "\n\n";
  text += fmt::format("  parameters       {}\n", format_bytes(summary.param_bytes));
  if (summary.folded > 0) {
    text += fmt::format(
        "  folded           {} {}, {}: computed once, when the model is loaded; {} reside then\n",
        format_count(summary.folded), summary.folded == 1 ? "op" : "ops",
        format_bytes(summary.folded_bytes), format_bytes(graph.total_param_bytes()));
  }
  if (!graph.states().empty()) {
    std::int64_t bytes = 0;
    for (const Graph::State& state : graph.states()) bytes += graph.output_bytes(state.input);
    text += fmt::format("  state            {} {}, {}: results that are the next step's inputs\n",
                        format_count(static_cast<std::int64_t>(graph.states().size())),
                        graph.states().size() == 1 ? "tensor" : "tensors", format_bytes(bytes));
  }
  text += fmt::format("  work             {}, {} moved\n", format_rate(summary.flops, "FLOP"),
                      format_rate(summary.bytes, "B"));
  text += fmt::format("  shape            {} ops deep, up to {} wide\n",
                      format_count(summary.depth), format_count(summary.width));
  text +=
      fmt::format("  without a size   {} of {} tensors\n",
                  format_count(summary.tensors_without_size), format_count(graph.tensor_count()));
  text += fmt::format("  without a rule   {} of {} ops\n", format_count(summary.ops_without_rule),
                      format_count(graph.op_count()));
  if (summary.ops_with_stated_cost > 0) {
    text += fmt::format("  stated costs     {} of {} ops\n",
                        format_count(summary.ops_with_stated_cost), format_count(graph.op_count()));
  }
  return text + inputs_text(summary) + types_text(summary);
}

Json summary_json(const std::string& model, const Graph& graph, const GraphSummary& summary,
                  const std::vector<std::string>& notes) {
  Json types = Json::array();
  for (const GraphSummary::Type& type : summary.types) {
    types.push_back({{"type", type.name},
                     {"class", op_class_name(type.op_class)},
                     {"ops", type.ops},
                     {"flops", type.flops},
                     {"bytes", type.bytes},
                     {"without_rule", type.without_rule}});
  }
  Json inputs = Json::array();
  for (const GraphSummary::Input& input : summary.inputs) {
    Json shape = Json::array();
    for (const std::int64_t dim : input.shape) {
      shape.push_back(dim == kUnknownDim ? Json() : Json(dim));
    }
    inputs.push_back({{"name", input.name},
                      {"dtype", dtype_name(input.dtype)},
                      {"shape", input.has_shape ? std::move(shape) : Json()}});
  }
  return {{"model", model},
          {"graph", graph.name()},
          {"dialect", graph.dialect()},
          {"ops", graph.op_count()},
          {"edges", graph.edge_count()},
          {"tensors", graph.tensor_count()},
          {"param_bytes", summary.param_bytes},
          {"resident_param_bytes", graph.total_param_bytes()},
          {"folded_ops", summary.folded},
          {"folded_bytes", summary.folded_bytes},
          {"states", graph.states().size()},
          {"flops", summary.flops},
          {"bytes", summary.bytes},
          {"depth", summary.depth},
          {"width", summary.width},
          {"tensors_without_size", summary.tensors_without_size},
          {"ops_without_rule", summary.ops_without_rule},
          {"bytes_without_rule", summary.bytes_without_rule},
          {"ops_with_stated_cost", summary.ops_with_stated_cost},
          {"inputs", std::move(inputs)},
          {"types", std::move(types)},
          {"notes", notes}};
}

/// A row per op type and reason, with one op of it.
std::string executability_text(const Graph& graph, const Executability& found) {
  if (found.obstacles.empty()) {
    return fmt::format("\n  {} can execute all of it.\n", found.backend);
  }
  std::map<std::pair<std::string, std::string>, std::vector<OpId>> kinds;
  for (const Obstacle& obstacle : found.obstacles) {
    kinds[{graph.op_type(obstacle.op), obstacle.reason}].push_back(obstacle.op);
  }
  TextTable table({{"op type"}, {"ops", Align::right}, {"such as"}, {"why not"}});
  for (const auto& [kind, ops] : kinds) {
    table.add_row({printable(kind.first), std::to_string(ops.size()),
                   printable(graph.op_name(ops.front())), printable(kind.second)});
  }
  return fmt::format("\n  {} cannot execute {} of {} ops:\n", found.backend, found.obstacles.size(),
                     graph.op_count()) +
         table.text(2);
}

Json executability_json(const Graph& graph, const Executability& found) {
  Json obstacles = Json::array();
  for (const Obstacle& obstacle : found.obstacles) {
    obstacles.push_back({{"op", graph.op_name(obstacle.op)},
                         {"type", graph.op_type(obstacle.op)},
                         {"reason", obstacle.reason}});
  }
  return {{"backend", found.backend}, {"cannot_execute", std::move(obstacles)}};
}

/// The model, and what the backend can do with it where one was asked about.
LoadedModel load_inspected(const InspectOptions& options, std::optional<Executability>& found) {
  const std::string& path = options.settings.model;
  const Settings settings = options.settings.merged();
  const auto engine = make_engine(settings);
  // A backend of a config is for measuring; here it is asked for.
  const std::optional<std::string>& asked = options.settings.given.backend;
  if (!asked) return engine->load(path, settings.load);
  const std::unique_ptr<Backend> backend = make_backend(*engine, *asked);
  LoadedProgram loaded = engine->load_program(path, settings.load);
  found = Executability{*asked, backend->cannot_run(*loaded.program)};
  return {loaded.program->graph, std::move(loaded.notes)};
}

int run_inspect(const InspectOptions& options) {
  std::optional<Executability> executability;
  const Stage stage("inspecting " + options.settings.model);
  LoadedModel model = load_inspected(options, executability);
  const GraphSummary summary = summarize(*model.graph);
  if (const std::string uncounted = without_rule_text(*model.graph); !uncounted.empty()) {
    model.notes.push_back(uncounted);
  }
  if (options.json) {
    Json json = summary_json(options.settings.model, *model.graph, summary, model.notes);
    if (executability) json["execution"] = executability_json(*model.graph, *executability);
    print(json_text(json));
    return 0;
  }
  std::string text = summary_text(*model.graph, summary);
  if (executability) text += executability_text(*model.graph, *executability);
  for (const std::string& note : model.notes) text += "\n  note: " + printable(note);
  print(text + (model.notes.empty() ? "" : "\n"));
  return 0;
}

}  // namespace

void add_inspect(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand("inspect", "show what is in a model");
  const auto options = std::make_shared<InspectOptions>();
  options->settings.add_model(*sub);
  options->settings.add(*sub, {"backend"});
  sub->get_option("--backend")
      ->description("also list the ops that this backend (such as cpu) cannot execute");
  options->settings.add_config(*sub);
  sub->add_flag("--json", options->json, "print one JSON object on standard output");
  sub->footer(
      "Examples:\n"
      "  berth inspect model.onnx\n"
      "  berth inspect model.onnx --dim batch=8 --dim sequence=128\n"
      "  berth inspect model.onnx --batch 8\n"
      "  berth inspect model.onnx --backend cpu");
  sub->callback([&chosen, options] { chosen = [options] { return run_inspect(*options); }; });
}

}  // namespace berth::command
