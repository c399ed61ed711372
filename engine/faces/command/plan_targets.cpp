#include "plan_targets.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "berth/error.h"
#include "berth/files.h"
#include "berth/plan_writers.h"
#include "berth/report.h"
#include "berth/sdk/splitting.h"
#include "berth/sdk/write_checks.h"
#include "berth/tools.h"
#include "console.h"

namespace berth::command {
namespace {

constexpr const char* kModel = "model";
constexpr const char* kSplit = "split";
constexpr const char* kReplicas = "replicas";
constexpr const char* kIndex = "split.json";

std::string meaning() {
  std::string text =
      "write the placement in another tool's form: model (the model file, with its placement), "
      "split "
      "(in a folder, a model per device), replicas (shares and devices of --replicate)";
  for (const PlanWriter& writer : plan_writers()) {
    text += fmt::format(", {} ({})", writer.name, writer.meaning);
  }
  return text + "; may be given again";
}

/// How to get a plan that has the form, where a tool takes it that has it to itself: models and tables have
/// any placement.
std::string advice(std::string_view form) {
  for (const Tool& each : tools()) {
    if (each.form == form && each.form != kModel && each.form != "csv")
      return fmt::format("; `berth place --for {}` searches for a plan that it can run", each.name);
  }
  return {};
}

/// The parts, and which tensors each of them takes and gives, in the order in which they run.
void write_split(const std::string& model, Frontend& frontend, const Outcome& outcome,
                 const std::filesystem::path& folder) {
  const Cluster& cluster = outcome.problem->cluster();
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) {
    throw Error(ErrorCode::io,
                fmt::format("{}: cannot be created: {}", folder.string(), failure.message()));
  }
  nlohmann::ordered_json index = {{"model", model}, {"parts", nlohmann::ordered_json::array()}};
  for (const ModelPart& part : dynamic_cast<ModelSplitter&>(frontend).split(
           model, outcome.problem->graph(), cluster, outcome.placement, folder)) {
    index["parts"].push_back({{"file", part.file},
                              {"device", cluster.device(part.device).name},
                              {"inputs", part.inputs},
                              {"outputs", part.outputs}});
  }
  write_file(folder / kIndex,
             index.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

/// The extension of the frontend; `otherwise` says why there is none, and what to do.
template <typename Writer>
Writer& writer_of(const std::string& model, Frontend& frontend, std::string_view otherwise) {
  if (auto* const writer = dynamic_cast<Writer*>(&frontend)) return *writer;
  throw Error(ErrorCode::unsupported, fmt::format("{}: {}", model, otherwise));
}
PlacementWriter& placement_writer(const std::string& model, Frontend& frontend) {
  return writer_of<PlacementWriter>(model, frontend,
                                    "its frontend cannot write placements back into such a file; "
                                    "use -o for a placement file");
}
ReplicaWriter& replica_writer(const std::string& model, Frontend& frontend) {
  return writer_of<ReplicaWriter>(model, frontend,
                                  "replicas are written into TensorFlow's graphs alone; take "
                                  "shares and devices as JSON (--write replicas=FILE)");
}

void write_model(const std::string& model, Frontend& frontend, const Outcome& outcome,
                 const std::filesystem::path& path) {
  const Problem& problem = *outcome.problem;
  if (outcome.replicas == nullptr) {
    placement_writer(model, frontend)
        .annotate(model, problem.graph(), problem.cluster(), outcome.placement, path);
    return;
  }
  ReplicaWriter& writer = replica_writer(model, frontend);
  const ReplicaFigures& figures = *outcome.replicas;
  std::vector<std::int64_t> shares;
  for (const auto& replica : figures.replicas) shares.push_back(replica.share);
  const Settings made = parse_settings(outcome.origin.settings, "the placement's settings");
  writer.write_replicas(model, made.load, *figures.plain, *figures.training, shares,
                        problem.cluster(), outcome.placement, path);
}

}  // namespace

void add_write(CLI::App& app, SettingOptions& settings) {
  std::optional<std::vector<std::string>>& write = settings.given.write;
  add_repeated(app, "--write", "FORMAT=FILE", meaning(), [&write](const std::string& text) {
    if (!write) write.emplace();
    write->push_back(text);
  });
  settings.serve({"write"});
}

PlanTargets::Plan PlanTargets::parse(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals + 1 == text.size()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--write: '{}' is no FORMAT=FILE, such as csv=plan.csv", text));
  }
  std::string format = text.substr(0, equals);
  if (format != kModel && format != kSplit && format != kReplicas) {
    try {
      static_cast<void>(plan_writer(format));
    } catch (const Error& error) {
      throw Error(error.code(),
                  fmt::format("--write: {} Also: model, split, replicas", error.what()));
    }
  }
  const std::string option = "--write " + format;
  return {std::move(format), text.substr(equals + 1), option};
}

PlanTargets::PlanTargets(const Settings& settings) {
  for (const std::string& text : settings.write.value_or(std::vector<std::string>())) {
    plans_.push_back(parse(text));
  }
  if (settings.annotate) plans_.push_back({kModel, *settings.annotate, "--annotate"});
}

void PlanTargets::add_to(std::vector<Target>& targets) const {
  std::error_code ignored;
  for (const Plan& plan : plans_) {
    const bool within = plan.format == kSplit && std::filesystem::is_directory(plan.path, ignored);
    targets.push_back({plan.option, within ? std::filesystem::path(plan.path) / kIndex
                                           : std::filesystem::path(plan.path)});
  }
}

std::unique_ptr<Frontend> PlanTargets::writer_of_model(Engine& engine, const std::string& model,
                                                       const Settings& settings) const {
  if (has(kReplicas) && !settings.replicate) {
    throw Error(ErrorCode::unsupported,
                "--write replicas: the step is not replicated, so that there is no plan to write; "
                "add --replicate");
  }
  if (has(kSplit) && settings.replicate) {
    throw Error(ErrorCode::unsupported,
                "--write split: a step of replicas has a model per replica; leave out --replicate, "
                "or take shares and devices as JSON (--write replicas=FILE)");
  }
  if (!has(kModel) && !has(kSplit)) return nullptr;
  auto frontend = engine.frontend_for(model);
  if (has(kSplit) && dynamic_cast<ModelSplitter*>(frontend.get()) == nullptr) {
    throw Error(
        ErrorCode::unsupported,
        fmt::format("--write split: {} cannot be written in parts; models of ONNX can", model));
  }
  if (!has(kModel)) return frontend;
  // The plain step may be the best that a search finds.
  if (settings.replicate && *settings.replicate != "auto") {
    static_cast<void>(replica_writer(model, *frontend));
  } else {
    static_cast<void>(placement_writer(model, *frontend));
  }
  return frontend;
}

void PlanTargets::check(const Task& task, const std::string& model, Frontend* frontend,
                        const Settings& settings) const {
  const Problem& problem = *task.problem;
  if (has(kModel) && task.replicas != nullptr && settings.replicate != "auto") {
    if (auto* const checker = dynamic_cast<ReplicaChecker*>(frontend)) {
      const Settings made = parse_settings(task.settings, "the placement's settings");
      checker->check_replicas(model, made.load, *task.replicas->plain, *task.replicas->training);
    }
  }
  for (const Plan& plan : plans_) {
    const bool of_tool = task.tool != nullptr && task.tool->form == plan.format;
    const bool own = plan.format == kModel || plan.format == kSplit || plan.format == kReplicas;
    if (own || of_tool) continue;
    const auto check = plan_writer(plan.format).check;
    if (check == nullptr) continue;
    try {
      check(problem.graph(), problem.cluster());
    } catch (const Error& error) {
      throw Error(ErrorCode::unsupported, fmt::format("{}: {}", plan.option, error.what()));
    }
  }
}

bool PlanTargets::has(std::string_view form) const {
  return std::any_of(plans_.begin(), plans_.end(),
                     [&](const Plan& plan) { return plan.format == form; });
}

void PlanTargets::write(const std::string& model, Frontend* frontend, const Outcome& outcome,
                        Written& written) const {
  const Graph& graph = outcome.problem->graph();
  const Cluster& cluster = outcome.problem->cluster();
  for (const Plan& plan : plans_) {
    try {
      if (plan.format == kModel) {
        write_model(model, *frontend, outcome, output_path(plan.path));
        // Variables and assets lie beside the file, and are found by the folder.
        std::error_code ignored;
        if (std::filesystem::is_directory(model, ignored)) {
          written.advise(plan.option,
                         fmt::format("to load it, put it in the place of the model's file "
                                     "(saved_model.pb) in a copy of the folder {}",
                                     model));
        }
      } else if (plan.format == kReplicas) {
        write_target(plan.path, replicas_json(outcome));
      } else if (plan.format == kSplit) {
        write_split(model, *frontend, outcome, plan.path);
      } else {
        write_target(plan.path, plan_writer(plan.format).text(graph, cluster, outcome.placement));
      }
    } catch (const Error& error) {
      const bool searched = outcome.tool != nullptr && outcome.tool->form == plan.format;
      const bool helps = error.code() == ErrorCode::unsupported && !searched;
      written.fail(plan.option, error.what() + (helps ? advice(plan.format) : std::string()));
    }
  }
}

}  // namespace berth::command
