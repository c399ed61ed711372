#include "plan_targets.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "berth/error.h"
#include "berth/plan_writers.h"
#include "console.h"
#include "model_options.h"

namespace berth::command {
namespace {

constexpr const char* kModel = "model";
constexpr std::string_view kAnnotate = "--annotate";

std::string meaning() {
  std::string text =
      "write the placement in another tool's form: model (the model file, with its placement)";
  for (const PlanWriter& writer : plan_writers()) {
    text += fmt::format(", {} ({})", writer.name, writer.meaning);
  }
  return text + "; may be given again";
}

PlanTarget parse_plan(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals + 1 == text.size()) {
    throw CLI::ValidationError("--write",
                               fmt::format("'{}' is no FORMAT=FILE, such as csv=plan.csv", text));
  }
  std::string format = text.substr(0, equals);
  if (format != kModel) {
    try {
      static_cast<void>(plan_writer(format));
    } catch (const Error& error) {
      throw CLI::ValidationError("--write", fmt::format("{} Also: model", error.what()));
    }
  }
  const std::string option = "--write " + format;
  return {std::move(format), text.substr(equals + 1), option};
}

bool is_annotate(const PlanTarget& plan) {
  return plan.option == kAnnotate;
}

}  // namespace

void PlanTargets::add_to(CLI::App& app) {
  add_repeated(app, "--write", "FORMAT=FILE", meaning(),
               [this](const std::string& text) { plans_.push_back(parse_plan(text)); });
  app.add_option_function<std::string>(
         std::string(kAnnotate),
         [this](const std::string& path) {
           plans_.push_back({kModel, path, std::string(kAnnotate)});
         },
         "write the model here, with the placement in the model's own format: --write model=FILE")
      ->type_name("FILE");
}

void PlanTargets::fill_in(const Settings& settings) {
  const auto asked =
      static_cast<std::size_t>(std::count_if(plans_.begin(), plans_.end(), is_annotate));
  if (plans_.size() == asked) {
    for (const std::string& text : settings.names("write")) plans_.push_back(parse_plan(text));
  }
  const std::string annotate = settings.text("annotate").value_or("");
  if (asked == 0 && !annotate.empty()) plans_.push_back({kModel, annotate, std::string(kAnnotate)});
}

void PlanTargets::add_to(std::vector<Target>& targets) const {
  for (const PlanTarget& plan : plans_) targets.push_back({plan.option, plan.path});
}

std::unique_ptr<Frontend> PlanTargets::writer_of_model(Engine& engine,
                                                       const std::string& model) const {
  const bool wanted = std::any_of(plans_.begin(), plans_.end(),
                                  [](const PlanTarget& plan) { return plan.format == kModel; });
  return wanted ? engine.frontend_for(model) : nullptr;
}

void PlanTargets::write(const std::string& model, Frontend* frontend,
                        const Outcome& outcome) const {
  const Graph& graph = outcome.problem->graph();
  const Cluster& cluster = outcome.problem->cluster();
  for (const PlanTarget& plan : plans_) {
    if (plan.format == kModel) {
      frontend->annotate(model, graph, cluster, outcome.placement, output_path(plan.path));
    } else {
      write_target(plan.path, plan_writer(plan.format).text(graph, cluster, outcome.placement));
    }
  }
}

}  // namespace berth::command
