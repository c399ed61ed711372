#include "model_options.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "berth/cluster.h"
#include "berth/error.h"
#include "berth/files.h"
#include "berth/groups.h"
#include "berth/problem_choices.h"
#include "console.h"
#include "constraint_options.h"
#include "graph_summary.h"
#include "support/duration.h"

namespace berth::command {
namespace {

constexpr int kMaxThreads = 1024;

/// Empty unless `text` is a whole number and nothing else.
std::optional<std::int64_t> parse_integer(const std::string& text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

std::int64_t parse_dimension(const std::string& text, const std::string& option) {
  const std::optional<std::int64_t> value = parse_integer(text);
  if (!value || *value < 1) {
    throw CLI::ValidationError(
        option, fmt::format("'{}' is not a dimension; write a whole number from 1 on", text));
  }
  return *value;
}

std::vector<std::int64_t> parse_shape(const std::string& text, const std::string& option) {
  std::vector<std::int64_t> shape;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of("x,", begin), text.size());
    shape.push_back(parse_dimension(text.substr(begin, end - begin), option));
    begin = end + 1;
  }
  return shape;
}

/// A check of an option's value while the command line is read; `what` returns what is wrong.
CLI::Validator checked(std::function<std::string(const std::string&)> what) {
  return CLI::Validator([what = std::move(what)](std::string& text) { return what(text); }, "");
}

/// An optional text option that `check` accepts, or throws Error.
void add_checked(CLI::App& app, const std::string& name, std::optional<std::string>& value,
                 const std::string& value_name, const std::string& meaning,
                 std::function<void(const std::string&)> check) {
  app.add_option(name, value, meaning)
      ->type_name(value_name)
      ->check(checked([check = std::move(check)](const std::string& text) -> std::string {
        try {
          check(text);
        } catch (const Error& error) {
          return error.what();
        }
        return {};
      }));
}

/// An optional whole number in [low, high].
template <typename Number>
void add_integer(CLI::App& app, const std::string& name, std::optional<Number>& value,
                 std::int64_t low, std::int64_t high, const std::string& meaning) {
  app.add_option(name, value, meaning)
      ->type_name("N")
      ->check(checked([low, high](const std::string& text) -> std::string {
        const std::optional<std::int64_t> number = parse_integer(text);
        if (number && *number >= low && *number <= high) return {};
        return fmt::format("'{}' is not a whole number from {} to {}", text, low, high);
      }));
}

}  // namespace

std::pair<std::string, std::string> split_assignment(const std::string& text,
                                                     const std::string& option) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw CLI::ValidationError(option, fmt::format("'{}' is not of the form name=value", text));
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

CLI::Option* add_file(CLI::App& app, const std::string& name, std::string& path,
                      const std::string& meaning) {
  return app.add_option(name, path, meaning)
      ->type_name("FILE")
      ->check(checked([](const std::string& text) -> std::string {
        return text.empty() ? "give it a file name" : "";
      }));
}

CLI::Option* add_repeated(CLI::App& app, const std::string& name, const std::string& value_name,
                          const std::string& meaning,
                          std::function<void(const std::string&)> take) {
  return app
      .add_option_function<std::vector<std::string>>(
          name,
          [take = std::move(take)](const std::vector<std::string>& values) {
            for (const std::string& value : values) take(value);
          },
          meaning)
      ->type_name(value_name)
      ->allow_extra_args(false);
}

void ModelOptions::add_to(CLI::App& app) {
  app.add_option("MODEL", model, "model file or folder: .onnx, .graph.json, ...")
      ->required()
      ->type_name("");
  add_repeated(app, "--dim", "NAME=SIZE",
               "size of a dynamic dimension, such as batch=8; repeatable",
               [this](const std::string& text) {
                 auto [name, value] = split_assignment(text, "--dim");
                 load.dims[name] = parse_dimension(value, "--dim");
               });
  add_repeated(
      app, "--batch", "SIZE", "size of the first dimension of every input that leaves it open",
      [this](const std::string& text) { load.dims["*"] = parse_dimension(text, "--batch"); });
  add_repeated(app, "--shape", "NAME=SHAPE",
               "shape of a model input, such as data=1x3x224x224 or data=1,3,224,224; repeatable",
               [this](const std::string& text) {
                 auto [name, value] = split_assignment(text, "--shape");
                 load.shapes[name] = parse_shape(value, "--shape");
               });
  add_repeated(app, "--fetch", "NAME",
               "load only what this op or tensor needs, such as train_op or loss:0; repeatable; "
               "default: the model's training step if it has one, else its outputs",
               [this](const std::string& text) {
                 if (text.empty()) {
                   throw CLI::ValidationError("--fetch", "name an op or a tensor of the model");
                 }
                 load.fetches.push_back(text);
               });
}

void ProblemChoices::add_machine_to(CLI::App& app) {
  app.add_option("--cluster", cluster,
                 "the machine: a preset (see `berth devices`) or a berth.cluster/1 file")
      ->type_name("PRESET|FILE");
  app.add_option("--costs", costs,
                 "source of compute times: roofline, stated (in the graph file), or a file "
                 "(berth.costs/1, or a profile of TensorFlow, PyTorch, ONNX Runtime or Nsight "
                 "Systems); "
                 "default: stated where the graph has one, roofline for the other ops")
      ->type_name("SOURCE");
}

void ProblemChoices::add_to(CLI::App& app, bool searches) {
  add_machine_to(app);
  add_checked(app, "--semantics", semantics, "dataflow|placeto",
              "rules of the simulator; default: dataflow",
              [](const std::string& text) { (void)semantics_from_name(text); });
  add_checked(app, "--objective", objective, "latency|throughput",
              "what to minimise: latency (the runtime of one step) or throughput (the largest load "
              "of a device when steps run as a pipeline); default: latency",
              [](const std::string& text) { (void)objective_from_name(text); });
  add_constraints(app, constraints);
  if (!searches) return;
  add_integer(app, "--groups", groups, 1, std::numeric_limits<GroupId>::max(),
              "merge ops into at most this many groups; default: every op by itself");
  add_checked(
      app, "--grouping", grouping, "NAME",
      "how ops are grouped: colocation (only ops that must stay together), "
      "icml2017 (LSTM steps, runs of convolutions, and what serves only one of them), "
      "placeto (icml2017, then merged along the heaviest edges to --groups), balanced (merged "
      "to --groups of similar size); default: balanced with --groups, else colocation",
      [](const std::string& text) { (void)grouping_from_name(text); });
  add_integer(app, "--threads", threads, 1, kMaxThreads,
              "threads of the policy, and of what evaluates placements; default: all cores");
}

void SearchChoices::add_to(CLI::App& app) {
  add_integer(app, "--seed", seed, 0, std::numeric_limits<std::int64_t>::max(),
              "the only source of randomness: same seed, same placement; default: 0");
  add_checked(
      app, "--budget", budget, "DURATION",
      "stop a policy's search after this time: 30s, 500ms, 2m, ...; default: when it is done",
      [](const std::string& text) { (void)parse_duration_s(text); });
}

void SearchChoices::add_log_to(CLI::App& app) {
  add_file(
      app, "--log", log,
      "write here what the search does, as lines of JSON, while it does it; `berth watch` shows "
      "them");
}

double SearchChoices::budget_s() const {
  return budget ? parse_duration_s(*budget) : std::numeric_limits<double>::infinity();
}

std::vector<Input> input_files(const ModelOptions& model, const ProblemChoices& choices) {
  // A preset or "roofline" may be the name of a file as well, which is then not what is read.
  const auto file = [](const std::optional<std::string>& name) {
    return name && name->find_first_of("/.") != std::string::npos ? *name : std::string();
  };
  return {{"the model", model.model},
          {"the cluster", file(choices.cluster)},
          {"the file of costs", file(choices.costs)}};
}

std::optional<std::string> config_text(const Settings& config, const std::string& key) {
  const auto found = config.values.find(key);
  if (found == config.values.end()) return std::nullopt;
  return to_text(found->second);
}

void fill_in(const Settings& config, ModelOptions& model, ProblemChoices& choices,
             SearchChoices& search) {
  const auto text = [&config](const std::string& key, std::optional<std::string>& choice) {
    if (!choice) choice = config_text(config, key);
  };
  const auto number = [&config](const std::string& key, auto& choice) {
    const auto found = config.values.find(key);
    if (choice || found == config.values.end()) return;
    using Number = typename std::decay_t<decltype(choice)>::value_type;
    const std::int64_t value = std::get<std::int64_t>(found->second);
    if (!std::in_range<Number>(value)) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("the config's {} = {} is out of range", key, value));
    }
    choice = static_cast<Number>(value);
  };
  text("cluster", choices.cluster);
  text("costs", choices.costs);
  text("objective", choices.objective);
  text("semantics", choices.semantics);
  number("groups", choices.groups);
  text("grouping", choices.grouping);
  number("threads", choices.threads);
  text("backend", search.backend);
  text("bound", search.bound);
  text("evaluator", search.evaluator);
  if (search.evaluator && search.evaluator != "simulate" && search.evaluator != "measure") {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("the config's evaluator is '{}'; known: simulate, measure", *search.evaluator));
  }
  number("seed", search.seed);
  // Both hold: a constraint of the command line does not replace one of the file.
  choices.constraints.insert(choices.constraints.end(), config.constraints.begin(),
                             config.constraints.end());
  if (!search.budget) {
    search.budget = config_text(config, "budget");
    // A number in the file is a number of seconds.
    const auto found = config.values.find("budget");
    if (search.budget && !std::holds_alternative<std::string>(found->second)) *search.budget += "s";
  }
  model.load.dims.insert(config.load.dims.begin(), config.load.dims.end());
  model.load.shapes.insert(config.load.shapes.begin(), config.load.shapes.end());
  if (model.load.fetches.empty()) model.load.fetches = config.load.fetches;
}

std::shared_ptr<const Graph> load_model(Engine& engine, const ModelOptions& options) {
  const Stage stage("loading " + options.model);
  LoadedModel loaded = engine.load(options.model, options.load);
  for (const std::string& note : loaded.notes) log_note(note);
  return std::move(loaded.graph);
}

std::shared_ptr<const Problem> make_problem(Engine& engine, const ModelOptions& model,
                                            const ProblemChoices& choices) {
  if (!choices.cluster) {
    throw CLI::ValidationError("--cluster",
                               "which machine? Name a preset of `berth devices` or a "
                               "berth.cluster/1 file");
  }
  // The small file first: a wrong name is told at once.
  const auto cluster = load_cluster(*choices.cluster);
  return make_problem(engine, load_model(engine, model), cluster, choices);
}

std::shared_ptr<const Problem> make_problem(Engine& engine, std::shared_ptr<const Graph> graph,
                                            std::shared_ptr<const Cluster> cluster,
                                            const ProblemChoices& choices) {
  berth::ProblemChoices made;
  made.cost_source = choices.costs.value_or("");
  if (choices.grouping) made.grouping = grouping_from_name(*choices.grouping);
  made.group_count = choices.groups;
  if (choices.objective) made.options.objective = objective_from_name(*choices.objective);
  if (choices.semantics) made.options.semantics = semantics_from_name(*choices.semantics);
  made.constraints = choices.constraints;
  const Stage stage("costs and groups");
  MadeProblem result = berth::make_problem(engine, std::move(graph), std::move(cluster), made);
  for (const std::string& note : result.notes) log_note(note);
  if (result.problem->costs().source() == "roofline") {
    const std::string uncounted = without_rule_text(summarize(result.problem->graph()));
    if (!uncounted.empty()) log_note(uncounted);
  }
  return std::move(result.problem);
}

}  // namespace berth::command
