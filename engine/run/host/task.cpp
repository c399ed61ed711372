// From settings to a problem and what evaluates its placements.
#include <algorithm>
#include <set>
#include <utility>

#include "berth/files.h"
#include "berth/groups.h"
#include "berth/run.h"
#include "berth/sdk/ops/constants.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "costs/cost_table.h"
#include "costs/op_work.h"
#include "host/joined.h"
#include "host/machine_notes.h"
#include "host/replica_models.h"
#include "host/replica_search.h"
#include "host/replica_steps.h"
#include "host/simplest_run.h"
#include "host/states_apart.h"
#include "host/task_notes.h"
#include "ops/gpu_kernels.h"

namespace berth {
namespace {

/// Errors in the value of a key name the key's file and line.
template <typename Call>
auto at_key(const Settings& settings, const char* key, const Call& call) {
  try {
    return call();
  } catch (const Error& error) {
    throw Error(error.code(), settings.place(key) + error.what());
  }
}

std::shared_ptr<void> stage_of(const RunHooks& hooks, const std::string& what) {
  return hooks.stage ? hooks.stage(what, std::numeric_limits<double>::infinity()) : nullptr;
}

bool has_inputs(const Graph& graph) {
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (graph.is_input(op)) return true;
  }
  return false;
}

/// The input's own group: nothing else shares its device.
bool is_alone(const Graph& graph, const Constraints* constraints, OpId input) {
  if (constraints == nullptr) return graph.colocation(input).empty();
  const Groups& classes = *constraints->classes();
  return classes.members(classes.of(input)).size() == 1;
}

bool may_be_on_host(const Cluster& cluster, const Costs& costs, const Constraints* constraints,
                    OpId op) {
  for (DeviceId d = 0; d < cluster.device_count(); ++d) {
    if (!cluster.device(d).host || !costs.can_run(op, cluster.kind_of(d))) continue;
    if (constraints == nullptr || constraints->allowed(op, d)) return true;
  }
  return false;
}

/// The costs with inputs that only hosts "run". Null where that changes nothing.
std::shared_ptr<const Costs> with_inputs_on_host(const Graph& graph, const Cluster& cluster,
                                                 const Costs& costs,
                                                 const Constraints* constraints) {
  CostTable table(costs);
  bool changed = false;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (!graph.is_input(op) || !is_alone(graph, constraints, op)) continue;
    if (!may_be_on_host(cluster, costs, constraints, op)) continue;
    for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
      if (cluster.kind_device(kind).host) continue;
      table.cost_us(op, kind) = kCannotRun;
      changed = true;
    }
  }
  if (!changed) return nullptr;
  return std::move(table).costs();
}

/// The rule that sends inputs to `where`. States are where the step leaves them.
ConstraintRule input_rule(const Graph& graph, const std::string& where) {
  std::set<OpId> states;
  for (const Graph::State& state : graph.states()) states.insert(state.input);
  ConstraintRule rule;
  rule.kind = ConstraintRule::Kind::pin;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (!graph.is_input(op) || states.contains(op)) continue;
    rule.ops.push_back(
        {.name = graph.op_name(op), .regex = {}, .type = {}, .requested_device = {}});
  }
  rule.devices = {where};
  rule.text = cat("inputs '", where, "'");
  return rule;
}

/// A machine of the caller's own is stored whole, so that the placement does not need its file.
std::string machine_text(const Cluster& cluster) {
  for (const Cluster::PresetInfo& preset : Cluster::presets()) {
    if (preset.name == cluster.name() &&
        cluster_json(*Cluster::preset(preset.name)) == cluster_json(cluster)) {
      return cluster.name();
    }
  }
  return cluster_json(cluster);
}

std::string stored_settings(const Settings& settings, const Problem& problem,
                            const Cluster& cluster, bool own_costs) {
  constexpr SettingGroup kGroups[] = {SettingGroup::model, SettingGroup::machine,
                                      SettingGroup::problem};
  Settings part = settings_of(settings, kGroups);
  part.cluster = machine_text(cluster);
  if (!part.inputs && has_inputs(problem.graph())) part.inputs = "host";
  if (own_costs) part.costs.reset();
  const bool file = part.costs && part.costs->find_first_of("/.") != std::string::npos;
  if (file) part.costs = std::filesystem::absolute(*part.costs).string();
  return settings_json(part);
}

/// Without rules that leave an op nowhere, alone or together with `hard` ones and those before.
std::vector<ConstraintRule> kept_rules(const Graph& graph, const Cluster& cluster,
                                       const Costs& costs, std::vector<ConstraintRule> hard,
                                       const std::vector<ConstraintRule>& soft,
                                       std::vector<std::string>& notes) {
  for (const ConstraintRule& rule : soft) {
    hard.push_back(rule);
    try {
      static_cast<void>(Constraints(graph, cluster, costs, hard));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::infeasible) throw;
      hard.pop_back();
      notes.push_back(
          cat("left out, as it cannot be kept: ", rule.text.empty() ? to_text(rule) : rule.text));
    }
  }
  return hard;
}

/// The parts of a problem before rules and options change them.
struct Posed {
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<const Cluster> cluster;
  std::shared_ptr<const Costs> costs;
  Settings settings;
  TaskParts parts;
  bool placed = false;  ///< RunHooks::placed
  std::vector<std::string> notes;
  bool spill = false;      ///< ToolTask::spill
  bool may_carry = false;  ///< whether states may be apart, for which the graph gets more ops
  bool overwrites = true;  ///< ToolRules::overwrites
};

/// The same where states cannot be where their results are made. Empty where rules are in conflict
/// without them.
std::optional<Posed> with_states_apart(const Posed& posed, const Costs& costs,
                                       const std::vector<ConstraintRule>& rules) {
  if (!posed.may_carry) return {};
  auto apart = states_apart(*posed.graph, *posed.cluster, costs, rules);
  if (!apart) return {};
  Posed changed = posed;
  changed.graph = std::move(apart->graph);
  changed.costs = with_free_ops(*posed.costs, changed.graph->op_count());
  changed.notes.push_back(std::move(apart->note));
  changed.may_carry = false;
  return changed;
}

/// Whether the tool runs a model of its own, with kernels of its own, which writes into its caches
/// whatever op of the file makes them, and reads weights as they are stored.
bool has_own_model(const Tool& tool) {
  constexpr std::string_view kTools[] = {"accelerate", "llama.cpp", "vllm", "deepspeed",
                                         "torch-pipelining"};
  return std::find(std::begin(kTools), std::end(kTools), tool.name) != std::end(kTools);
}

/// The costs where every device has the kernels: an op that the file's runtime leaves to hosts takes what
/// its work takes, or what it takes there where a device's figures are not stated. Text resides on hosts
/// for all.
std::shared_ptr<const Costs> with_all_kernels(const Graph& graph, const Cluster& cluster,
                                              const Costs& costs, const Arithmetic& arithmetic) {
  CostTable table(costs);
  const auto is_text = [&](TensorId tensor) {
    return tensor != kNoTensor &&
           (graph.dtype(tensor) == DType::string || graph.dtype(tensor) == DType::opaque);
  };
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const auto inputs = graph.inputs(op), outputs = graph.outputs(op);
    if (!graph.stated_costs(op).empty() || !ops::lacks_gpu_kernel(graph, op) ||
        std::any_of(inputs.begin(), inputs.end(), is_text) ||
        std::any_of(outputs.begin(), outputs.end(), is_text)) {
      continue;
    }
    double least = kCannotRun;
    for (const std::vector<double>& row : table.us) least = std::min(least, row[at(op)]);
    for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
      double& us = table.cost_us(op, kind);
      if (us < kCannotRun) continue;
      const Device& device = cluster.kind_device(kind);
      const bool has_figures = device.flops > 0 && device.memory_bandwidth > 0;
      us = has_figures ? costs::kernel_us(graph, op, device, arithmetic) : least;
    }
  }
  return std::move(table).costs();
}

/// The rules of settings and tool, the tool's costs in place of the others.
std::vector<ConstraintRule> rules_of(Posed& posed, const Tool* for_tool) {
  ToolRules of_tool;
  if (for_tool != nullptr) {
    of_tool =
        for_tool->rules({*posed.graph, *posed.cluster, *posed.costs, posed.spill || posed.placed,
                         posed.settings.objective == Objective::throughput,
                         arithmetic_of(posed.settings, *posed.graph)});
    if (of_tool.costs != nullptr) posed.costs = std::move(of_tool.costs);
    if (of_tool.cluster != nullptr) posed.cluster = std::move(of_tool.cluster);
    posed.overwrites = of_tool.overwrites;
    if (posed.placed) of_tool = {};
    posed.notes.insert(posed.notes.end(), of_tool.notes.begin(), of_tool.notes.end());
  }
  const std::vector<ConstraintRule>& own = posed.settings.constraints;
  if (posed.settings.soft.value_or(false)) {
    return kept_rules(*posed.graph, *posed.cluster, *posed.costs, std::move(of_tool.constraints),
                      own, posed.notes);
  }
  std::vector<ConstraintRule> rules = own;
  rules.insert(rules.end(), of_tool.constraints.begin(), of_tool.constraints.end());
  return rules;
}

ProblemOptions options_of(const Posed& posed) {
  ProblemOptions options;
  const Settings& settings = posed.settings;
  if (settings.objective) options.objective = *settings.objective;
  if (settings.semantics) options.semantics = *settings.semantics;
  if (settings.in_flight) options.in_flight = *settings.in_flight;
  if (posed.parts.device_gap_us) options.device_gap_us = *posed.parts.device_gap_us;
  if (posed.parts.transfer_gap_us) options.transfer_gap_us = *posed.parts.transfer_gap_us;
  options.overwrites = posed.overwrites;
  return options;
}

/// The caller's groups, or those of the settings.
std::shared_ptr<const Groups> groups_of(const Posed& posed) {
  if (posed.parts.groups != nullptr) return posed.parts.groups;
  const Settings& settings = posed.settings;
  return at_key(settings, settings.grouping ? "grouping" : "groups", [&] {
    return make_groups(*posed.graph, *posed.costs, settings.grouping, settings.groups);
  });
}

/// Null where there are no rules.
std::shared_ptr<const Constraints> constraints_with(const Posed& posed,
                                                    const std::vector<ConstraintRule>& rules) {
  if (rules.empty()) return nullptr;
  return std::make_shared<const Constraints>(*posed.graph, *posed.cluster, *posed.costs, rules);
}

Task task_of(const Posed& before) {
  Posed posed = before;
  const Tool* const for_tool = tool_of(posed.settings);
  const bool own_model = for_tool != nullptr && has_own_model(*for_tool);
  if (own_model && !posed.graph->states().empty()) {
    posed.graph = posed.graph->with_states(posed.graph->states());
  }
  const Arithmetic arithmetic = arithmetic_of(posed.settings, *posed.graph);
  if (own_model) {
    posed.costs = with_all_kernels(*posed.graph, *posed.cluster, *posed.costs, arithmetic);
  }
  std::vector<ConstraintRule> joined;  // a placement that is there may have them apart
  if (!posed.placed) joined = joined_rules(*posed.graph, *posed.costs);
  std::vector<ConstraintRule> rules = rules_of(posed, for_tool);
  const ProblemOptions options = options_of(posed);
  rules.insert(rules.end(), joined.begin(), joined.end());
  const std::string where = posed.settings.inputs.value_or("host");
  const bool inputs = where != "any" && has_inputs(*posed.graph);
  if (inputs && where != "host") {
    ConstraintRule rule = input_rule(*posed.graph, where);
    if (!rule.ops.empty()) rules.push_back(std::move(rule));
  }
  std::shared_ptr<const Constraints> constraints;
  try {
    constraints = constraints_with(posed, rules);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::infeasible) throw;
    const std::optional<Posed> apart = with_states_apart(before, *posed.costs, rules);
    if (!apart) throw;
    return task_of(*apart);
  }
  // A tool may keep inputs off hosts, and its rules are not asked about a placement that is there.
  const bool free = for_tool != nullptr && posed.placed;
  if (inputs && where == "host" && !free && counts_lifetimes(options)) {
    if (auto changed =
            with_inputs_on_host(*posed.graph, *posed.cluster, *posed.costs, constraints.get())) {
      posed.costs = std::move(changed);
      constraints = constraints_with(posed, rules);
    }
  }
  Task task;
  task.tool = for_tool;
  task.problem = std::make_shared<const Problem>(posed.graph, posed.cluster, posed.costs,
                                                 groups_of(posed), options, std::move(constraints));
  task.notes = std::move(posed.notes);
  for (std::string& note : notes_of_machine(posed.settings, *before.graph, *before.cluster)) {
    task.notes.push_back(std::move(note));
  }
  add_notes(*task.problem, *before.cluster, own_model, task.notes);
  note_tf32(*posed.graph, *posed.cluster, *posed.costs, posed.settings, task.notes);
  note_unused(posed.settings, task.notes);
  task.settings = stored_settings(posed.settings, *task.problem, *before.cluster,
                                  before.parts.costs != nullptr);
  if (for_tool != nullptr && for_tool->spills && !before.spill && !before.placed) {
    task.spilled = [again = before]() mutable {
      again.spill = true;
      return task_of(again);
    };
  }
  return task;
}

/// The part of make_task that load_task shares.
Task pose(Engine& engine, std::shared_ptr<const Graph> graph,
          std::shared_ptr<const Cluster> cluster, const Settings& settings, const TaskParts& parts,
          bool placed, bool may_carry = false) {
  Posed posed{std::move(graph), std::move(cluster), parts.costs, settings, parts, placed, {}};
  posed.may_carry = may_carry;
  const Tool* const for_tool = tool_of(settings);
  if (for_tool != nullptr && has_own_model(*for_tool)) {
    posed.graph = ops::with_parameters_as_stored(std::move(posed.graph));
    if (for_tool->held != nullptr) posed.graph = for_tool->held(std::move(posed.graph));
    if (posed.costs != nullptr) {
      posed.costs = Costs::of_step(std::move(posed.costs), *posed.graph, *posed.cluster);
    }
  }
  if (posed.costs == nullptr) {
    LoadedCosts loaded = at_key(settings, "costs", [&] {
      return make_costs(engine, *posed.graph, *posed.cluster, settings.costs.value_or(""),
                        arithmetic_of(settings, *posed.graph));
    });
    posed.costs = std::move(loaded.costs);
    posed.notes = std::move(loaded.notes);
  }
  try {
    return task_of(posed);
  } catch (const Error& error) {
    // An op that only hosts run, for a tool that leaves them out at first.
    if (error.code() != ErrorCode::infeasible || !settings.tool || !tool(*settings.tool).spills ||
        placed) {
      throw;
    }
    posed.spill = true;
    return task_of(posed);
  }
}

/// The machine of the settings, which has the backend's devices, or else the backend's own.
std::shared_ptr<const Cluster> measured_cluster(const Backend& backend, const Settings& settings) {
  const std::shared_ptr<const Cluster> own = backend.cluster();
  if (!settings.cluster) return own;
  auto cluster = make_cluster(settings);
  if (cluster->device_names() == own->device_names()) return cluster;
  throw Error(ErrorCode::invalid_argument,
              cat(settings.place("cluster"), "cluster ", cluster->name(), " has the devices ",
                  cluster->device_names(), ", the backend ", own->device_names(),
                  "; give the cluster file that `berth profile` wrote for it, or none"));
}

/// With the sizes as the model has them, so that what is stored with a placement does not contradict itself.
Settings settled(Settings settings, const std::optional<SettledSizes>& sizes) {
  if (!sizes) return settings;
  settings.load.dims = sizes->dims;
  settings.load.shapes = sizes->shapes;
  settings.load.weakness.clear();
  return settings;
}

Task load_measured(Engine& engine, const std::string& model, const Settings& settings,
                   const RunHooks& hooks) {
  constexpr std::string_view kSimulated[] = {"tool", "within", "soft", "replicate"};
  refuse_unserved(settings, "a run that measures", kSimulated);
  // The backend first: a misspelled option is told at once.
  std::shared_ptr<Backend> backend = at_key(
      settings, "backend", [&] { return make_backend(engine, settings.backend.value_or("cpu")); });
  const auto cluster = measured_cluster(*backend, settings);
  LoadedProgram loaded = [&] {
    const auto stage = stage_of(hooks, "loading " + model);
    return engine.load_program(model, settings.load);
  }();
  const auto stage = stage_of(hooks, "costs and groups");
  Task task = pose(engine, loaded.program->graph, cluster, settled(settings, loaded.sizes), {},
                   hooks.placed);
  task.notes.insert(task.notes.begin(), loaded.notes.begin(), loaded.notes.end());
  for (std::string& note : backend->notes()) task.notes.push_back(std::move(note));
  task.backend = std::move(backend);
  task.program = std::move(loaded.program);
  SessionOptions options;
  options.seed = settings.seed.value_or(hooks.seed);
  options.priorities_us = priorities_us(*task.problem);
  task.session = task.backend->open(task.program, options);
  return task;
}

Task load_replicated(Engine& engine, const std::string& model, const Settings& settings,
                     std::shared_ptr<const Cluster> cluster, const RunHooks& hooks) {
  check_replicable(settings);
  const auto stage = stage_of(hooks, "loading " + model);
  ReplicaModels models(engine, model, settings, std::move(cluster));
  const ReplicaPlan plan = at_key(settings, "replicate", [&] {
    return plan_of(*settings.replicate, *models.cluster(), models.batch());
  });
  Task task = replicated_task(engine, models, plan, settings);
  task.plain = plain_task(engine, models, settings).problem;
  return task;
}

Task load_simulated(Engine& engine, const std::string& model, const Settings& settings,
                    const RunHooks& hooks) {
  // The small file first: a wrong name is told at once.
  auto cluster = make_cluster(settings);
  if (settings.replicate)
    return load_replicated(engine, model, settings, std::move(cluster), hooks);
  LoadedModel loaded = [&] {
    const auto stage = stage_of(hooks, "loading " + model);
    return engine.load(model, settings.load);
  }();
  const auto stage = stage_of(hooks, "costs and groups");
  Task task = pose(engine, std::move(loaded.graph), std::move(cluster),
                   settled(settings, loaded.sizes), {}, hooks.placed, /*may_carry=*/true);
  task.notes.insert(task.notes.begin(), loaded.notes.begin(), loaded.notes.end());
  return task;
}

}  // namespace

std::unique_ptr<Engine> make_engine(const Settings& settings) {
  const std::vector<std::string> names =
      settings.plugin_folders.value_or(std::vector<std::string>());
  auto engine =
      std::make_unique<Engine>(std::vector<std::filesystem::path>(names.begin(), names.end()));
  if (settings.plugins) {
    const auto from = settings.origins.find("plugins");
    at_key(settings, "plugins", [&] {
      engine->allow_only(*settings.plugins, from == settings.origins.end() ? "" : from->second);
    });
  }
  return engine;
}

std::shared_ptr<const Cluster> make_cluster(const Settings& settings) {
  if (!settings.cluster) {
    throw Error(ErrorCode::invalid_argument,
                "no cluster is named; set \"cluster\" (on a command line --cluster) to a preset of "
                "`berth devices` or a berth.cluster/1 file");
  }
  return at_key(settings, "cluster", [&] { return load_cluster(*settings.cluster); });
}

std::unique_ptr<Backend> make_backend(Engine& engine, const std::string& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  OptionTexts options;
  for (std::size_t begin = colon + 1; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string pair = text.substr(begin, end - begin);
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == pair.size()) {
      throw Error(ErrorCode::invalid_argument,
                  cat("backend '", text, "': '", pair,
                      "' is not of the form name=value; write cpu:devices=4,threads=1"));
    }
    options[pair.substr(0, equals)] = pair.substr(equals + 1);
    begin = end + 1;
  }
  return engine.make_backend(text.substr(0, colon), options);
}

LoadedCosts make_costs(Engine& engine, const Graph& graph, const Cluster& cluster,
                       const std::string& source, const std::optional<Arithmetic>& arithmetic) {
  if (source.empty()) return {Costs::stated_or_roofline(graph, cluster, arithmetic), {}};
  if (source == "stated") return {Costs::stated(graph, cluster), {}};
  if (source == "roofline") return {Costs::roofline(graph, cluster, arithmetic), {}};
  return engine.load_costs(source, graph, cluster);
}

Arithmetic arithmetic_of(const Settings& settings, const Graph& graph) {
  Arithmetic arithmetic = usual_arithmetic(graph);
  if (const Tool* const for_tool = tool_of(settings)) {
    arithmetic = for_tool->arithmetic;
  } else if (settings.evaluator == EvaluatorKind::measure) {
    arithmetic.tf32 =
        Tf32::none;  // backends compute f32 as f32, so that a GPU agrees with the host
  }
  arithmetic.tf32 = settings.tf32.value_or(arithmetic.tf32);
  return arithmetic;
}

BoundEffort bound_effort(const Settings& settings) {
  return settings.bound.value_or(BoundEffort::strong);
}

Task load_task(Engine& engine, const std::string& model, const Settings& settings,
               const RunHooks& hooks) {
  const bool measures = settings.evaluator == EvaluatorKind::measure;
  Task task = (measures ? load_measured : load_simulated)(engine, model, settings, hooks);
  task.model = model;
  for (const std::string& note : task.notes) {
    if (hooks.note) hooks.note(note);
  }
  return task;
}

Task make_task(Engine& engine, std::shared_ptr<const Graph> graph,
               std::shared_ptr<const Cluster> cluster, const Settings& settings,
               const TaskParts& parts) {
  if (settings.replicate) {
    throw Error(ErrorCode::unsupported,
                cat(settings.place("replicate"),
                    "replicas need the model at several sizes of its batch, and a graph that is "
                    "there has one; name its file"));
  }
  Task task = pose(engine, std::move(graph), std::move(cluster), settings, parts, /*placed=*/false);
  // A frontend says it of the models that it loads.
  const Graph& posed = task.problem->graph();
  TensorId unknown = 0;
  for (TensorId tensor = 0; tensor < posed.tensor_count(); ++tensor) {
    unknown += posed.bytes_known(tensor) ? 0 : 1;
  }
  if (unknown > 0) {
    task.notes.push_back(cat(unknown, " of ", posed.tensor_count(),
                             " tensors have no known size and count as empty; give the sizes that "
                             "the graph leaves open"));
  }
  return task;
}

}  // namespace berth
