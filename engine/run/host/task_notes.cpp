#include "host/task_notes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "berth/bounds.h"
#include "berth/run.h"
#include "berth/sdk/ops/op.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "constraints/rule_text.h"
#include "constraints/selection.h"
#include "costs/arithmetic.h"
#include "evaluate/next_step.h"
#include "ops/gpu_kernels.h"
#include "ops/tables.h"
#include "support/units.h"

namespace berth {
namespace {

/// Whether the kind runs no op of the graph by what it says that it runs, whatever the costs.
bool runs_none(const Graph& graph, const Device& device) {
  if (device.runs.every()) return false;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const bool counts = !graph.is_constant(op) && !graph.is_input(op);
    if (counts && op_refusal(graph, op, device).empty()) return false;
  }
  return true;
}

/// The types that the graph says are in the op's body.
std::vector<std::string> types_within(const Graph& graph, OpId op) {
  const AttributeValue* const said = graph.attribute(op, "body_types");
  const auto* const text = said != nullptr ? std::get_if<std::string>(said) : nullptr;
  return text == nullptr ? std::vector<std::string>() : split_names(*text);
}

/// Adds the types of ops in the op's body whose work nobody knows, where the graph says what is in it.
void add_unknown_within(const Graph& graph, OpId op, std::set<std::string>& types) {
  for (const std::string& type : types_within(graph, op)) {
    const ops::OpInfo* const info = ops::find_op(graph.dialect(), type);
    if (info == nullptr || !info->has_work) types.insert(type);
  }
}

/// The types and how many ops each has, most first: "Foo (3), Bar (1) and 4 more".
std::string most_of(const std::map<std::string, std::int64_t>& types) {
  std::vector<std::pair<std::string, std::int64_t>> most(types.begin(), types.end());
  std::stable_sort(most.begin(), most.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  constexpr std::size_t kShown = 8;
  std::string names;
  for (std::size_t i = 0; i < std::min(kShown, most.size()); ++i) {
    names += cat(i > 0 ? ", " : "", most[i].first, " (", format_count(most[i].second), ")");
  }
  if (most.size() > kShown) names += cat(" and ", most.size() - kShown, " more");
  return names;
}

/// Kinds of devices that no op can run on: stated costs that speak of other kinds, most likely.
/// The placement would leave them idle without a word.
void note_idle_kinds(const Problem& problem, std::vector<std::string>& notes) {
  if (problem.costs().source() == "roofline") return;  // it knows what only a host can run
  const Cluster& cluster = problem.cluster();
  for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
    bool used = false;
    for (OpId op = 0; op < problem.graph().op_count() && !used; ++op) {
      used = !problem.graph().is_constant(op) && problem.costs().can_run(op, kind);
    }
    if (used || problem.graph().op_count() == 0) continue;
    if (runs_none(problem.graph(), cluster.kind_device(kind))) {
      notes.push_back(cat("device kind '", cluster.kind_name(kind),
                          "' runs no op of the graph by its \"runs\" in the cluster, so that those "
                          "devices stay idle; add the graph's op types and element types there"));
      continue;
    }
    notes.push_back(cat("no op has a cost on device kind '", cluster.kind_name(kind),
                        "', so that those devices stay idle (costs: ", problem.costs().source(),
                        "); name a cluster of the kinds that the costs are for, or choose "
                        "roofline costs"));
  }
}

/// A graph whose sizes nobody knows: every placement of it takes no time, and proves nothing.
void note_no_work(const Problem& problem, std::vector<std::string>& notes) {
  const Graph& graph = problem.graph();
  for (KindId kind = 0; kind < problem.cluster().kind_count(); ++kind) {
    for (OpId op = 0; op < graph.op_count(); ++op) {
      if (problem.costs().can_run(op, kind) && problem.costs().op_us(op, kind) > 0) return;
    }
  }
  std::int64_t unsized = 0;
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    unsized += graph.bytes_known(tensor) ? 0 : 1;
  }
  if (graph.op_count() == 0 || unsized == 0) return;
  notes.push_back(cat("no op takes any time, because ", unsized, " of ", graph.tensor_count(),
                      " tensors have no known size: figures and proofs say nothing of a real step; "
                      "give the model its shapes, or measured costs"));
}

/// An op that a compiler has made of a whole program, which is within its attributes and not in the graph.
struct CompiledProgram {
  std::string_view dialect, type;
  std::string_view instead;  ///< what has the ops one by one
};

constexpr CompiledProgram kCompiledPrograms[] = {
    {"onnx", "EPContext", "place the model that it was compiled from"},
    {"tf", "TRTEngineOp", "place the model as it was before TF-TRT converted it"},
    {"tf", "XlaCallModule",
     "place the JAX program itself: its StableHLO by the MLIR pass, or an ONNX export"},
};

/// Nothing within such an op is seen: neither its work nor its parameters, and it cannot be divided.
void note_compiled_programs(const Graph& graph, std::vector<std::string>& notes) {
  for (const CompiledProgram& program : kCompiledPrograms) {
    if (graph.dialect() != program.dialect) continue;
    std::int64_t count = 0;
    for (OpId op = 0; op < graph.op_count(); ++op) count += graph.op_type(op) == program.type;
    if (count == 0) continue;
    notes.push_back(
        cat(format_count(count), " ", program.type, count == 1 ? " op holds" : " ops hold",
            " a compiled program, whose work and parameters are not counted and whose ops "
            "cannot be placed: figures are of what is around it; ",
            program.instead));
  }
}

/// Ops of the runtime's hosts in bodies: the op that has the body runs where it is placed, and they on a host.
void note_host_ops_within(const Graph& graph, bool has_host, std::vector<std::string>& notes) {
  std::set<std::string> types;
  std::int64_t count = 0;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    bool any = false;
    for (const std::string& type : types_within(graph, op)) {
      if (!ops::lacks_gpu_kernel(graph.dialect(), type)) continue;
      any = true;
      types.insert(cat("'", type, "'"));
    }
    if (any && graph.stated_costs(op).empty()) ++count;
  }
  if (count == 0) return;
  notes.push_back(
      cat("bodies of ", count, count == 1 ? " op" : " ops",
          " hold types without a kernel for GPUs in the model's runtime, which runs them on a "
          "host in every round; on a GPU they are costed as its own, without the way to "
          "the host: ",
          join({types.begin(), types.end()}, 6),
          has_host ? "; to keep an op with such a body on a host, pin it there" : ""));
}

/// Whether a device of the machine that is no host says that it runs the op.
bool runs_beside_hosts(const Problem& problem, OpId op) {
  for (KindId kind = 0; kind < problem.cluster().kind_count(); ++kind) {
    if (!problem.cluster().kind_device(kind).host && problem.costs().can_run(op, kind)) return true;
  }
  return false;
}

/// Ops that the runtime's GPUs cannot run.
void note_gpu_kernels(const Problem& problem, std::vector<std::string>& notes) {
  const Cluster& cluster = problem.cluster();
  bool has_host = false, has_other = false;
  for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
    (cluster.kind_device(kind).host ? has_host : has_other) = true;
  }
  if (!has_other) return;
  note_host_ops_within(problem.graph(), has_host, notes);
  std::set<std::string> types;
  std::int64_t count = 0;
  for (OpId op = 0; op < problem.graph().op_count(); ++op) {
    if (!problem.graph().stated_costs(op).empty()) continue;
    if (!ops::lacks_gpu_kernel(problem.graph(), op)) continue;
    if (has_host && runs_beside_hosts(problem, op)) continue;
    ++count;
    types.insert(cat("'", problem.graph().op_type(op), "'"));
  }
  if (count == 0) return;
  notes.push_back(cat(count, count == 1 ? " op has" : " ops have",
                      " no kernel for GPUs in the model's runtime, or none of their element type,",
                      has_host
                          ? " and can be on hosts alone: "
                          : "; the cluster has no host for them, so that they are taken to run "
                            "anywhere: ",
                      join({types.begin(), types.end()}, 6)));
}

/// Links of the user's machine of which a property is left out.
void note_plain_links(const Problem& problem, const Cluster& machine,
                      std::vector<std::string>& notes) {
  const bool step = problem.options().objective == Objective::latency &&
                    problem.options().semantics == Semantics::dataflow;
  if (step || !machine.has_parallel_routes()) return;
  notes.emplace_back(
      "links of this machine are parallel or are copied from by their receivers, which counts with "
      "objective=latency and semantics=dataflow alone; here they are links like others");
}

/// Steps that wait for one another, where that may keep a pipeline from the pace of its loads.
void note_next_step(const Problem& problem, std::vector<std::string>& notes) {
  if (problem.options().objective != Objective::throughput) return;
  const NextStep next = longest_next_step(problem);
  if (next.us <= lower_bound(problem).us) return;  // the loads are as large, wherever the ops are
  notes.push_back(
      cat(next.text(), ": whatever the loads, steps follow one another no faster, unless ",
          next.exception(), "; objective=latency shortens a step for which the next one waits"));
}

/// Margins of devices that have no limit.
void note_empty_margins(const Problem& problem, std::vector<std::string>& notes) {
  if (problem.constraints() == nullptr) return;
  const Cluster& cluster = problem.cluster();
  for (const ConstraintRule& rule : problem.constraints()->rules()) {
    if (rule.kind != ConstraintRule::Kind::memory_margin || rule.devices.empty()) continue;
    const std::vector<bool> devices = select_devices(cluster, rule.devices, shown(rule));
    bool limited = false;
    for (DeviceId device = 0; device < cluster.device_count(); ++device) {
      limited = limited || (devices[at(device)] && cluster.device(device).memory_bytes != kNoLimit);
    }
    if (limited) continue;
    notes.push_back(
        cat("the constraint ", shown(rule),
            " keeps nothing free: the cluster states no memory_bytes of those devices"));
  }
}

/// Ops whose task in the model file means nothing here.
void note_open_tasks(const Problem& problem, std::vector<std::string>& notes) {
  if (problem.constraints() == nullptr) return;
  const Graph& graph = problem.graph();
  const std::vector<ConstraintRule>& rules = problem.constraints()->rules();
  for (std::size_t rule = 0; rule < rules.size(); ++rule) {
    if (rules[rule].kind != ConstraintRule::Kind::respect_devices) continue;
    std::map<std::string, bool> open;
    std::int64_t count = 0;
    std::string first;
    for (const OpId op : problem.constraints()->ops_of(rule)) {
      const std::string& asked = graph.requested_device(op);
      const auto [entry, is_new] = open.try_emplace(asked, false);
      if (is_new) entry->second = leaves_task_open(problem.cluster(), asked);
      if (!entry->second) continue;
      if (count++ == 0) first = asked;
    }
    if (count == 0) continue;
    notes.push_back(cat("the constraint ", shown(rules[rule]), " leaves ", format_count(count),
                        count == 1 ? " op" : " ops", " open that ask for a task and no device ('",
                        first, "'): no device of cluster '", problem.cluster().name(),
                        "' states a job; give "
                        "its devices TensorFlow's names, as '/job:ps/task:0/device:CPU:0'"));
  }
}

/// Constants that rules select and do not bind: each is with its Graph::first_reader, and that is no op of the rule.
void note_unbound_constants(const Problem& problem, std::vector<std::string>& notes) {
  const Graph& graph = problem.graph();
  if (problem.constraints() == nullptr || graph.constant_count() == 0) return;
  for (const ConstraintRule& rule : problem.constraints()->rules()) {
    if (rule.kind == ConstraintRule::Kind::respect_devices) continue;
    std::set<OpId> selected;
    for (const OpSelector& selector : rule.ops) {
      const auto ops = select_ops(graph, problem.cluster(), selector, shown(rule));
      selected.insert(ops.begin(), ops.end());
    }
    std::vector<OpId> unbound;
    std::copy_if(selected.begin(), selected.end(), std::back_inserter(unbound), [&](OpId op) {
      return graph.is_constant(op) && !selected.contains(graph.first_reader(op));
    });
    if (unbound.empty()) continue;
    notes.push_back(
        cat("the constraint ", shown(rule), " does not bind ", format_count(std::ssize(unbound)),
            unbound.size() == 1 ? " constant" : " constants", " of the step, such as '",
            graph.op_name(unbound.front()),
            "': constants are where ops read them, or sizes where their tensor is made; name "
            "those ops"));
  }
}

/// The f32 arithmetic of a step that takes TF32 under a setting.
struct TensorFloats {
  bool convolutions = false;
  bool products = false;
};
TensorFloats tensor_floats_of(const Graph& graph) {
  TensorFloats found;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (graph.is_constant(op) || !graph.stated_costs(op).empty()) continue;
    const Work work = op_work(graph, op);
    if (work.flops <= 0) continue;
    const std::optional<Tf32> least = costs::least_tf32(work);
    found.convolutions = found.convolutions || least == Tf32::convolutions;
    found.products = found.products || least == Tf32::all;
  }
  return found;
}

/// The program that has the arithmetic by default.
std::string_view program_of(const Settings& settings, const Graph& graph) {
  if (settings.tool) return *settings.tool;
  if (graph.dialect() == "onnx") return "ONNX Runtime";
  if (graph.dialect() == "tf") return "TensorFlow";
  return graph.dialect() == "mlir" ? "XLA" : "PyTorch";
}

}  // namespace

void note_tf32(const Graph& graph, const Cluster& cluster, const Costs& costs,
               const Settings& settings, std::vector<std::string>& notes) {
  if (settings.tf32 || settings.evaluator == EvaluatorKind::measure) return;
  if (costs.source().find("roofline") == std::string::npos) return;
  std::vector<std::string> devices;
  for (DeviceId device = 0; device < cluster.device_count(); ++device) {
    const Device& each = cluster.device(device);
    if (each.flops_tf32 > 0) devices.push_back(each.name);
  }
  if (devices.empty()) return;
  const TensorFloats found = tensor_floats_of(graph);
  if (!found.products && !found.convolutions) return;
  const bool all = arithmetic_of(settings, graph).tf32 == Tf32::all;
  const bool in_tf32 = all || found.convolutions;
  const char* const what = !in_tf32 || !found.convolutions ? "products"
                           : all && found.products         ? "products and convolutions"
                                                           : "convolutions";
  notes.push_back(cat("f32 ", what, in_tf32 ? " are in TF32 on " : " are not in TF32 on ",
                      join(devices, 5), in_tf32 && !all && found.products ? ", products not" : "",
                      ", as ", program_of(settings, graph),
                      " computes them by default; the setting tf32 says otherwise"));
}

void note_unused(const Settings& settings, std::vector<std::string>& notes) {
  if (settings.in_flight && settings.objective != Objective::throughput) {
    notes.push_back(
        cat(settings.place("in_flight"),
            "steps in flight count with objective=throughput alone; a step by itself is "
            "simulated"));
  }
  const std::string costs = settings.costs.value_or("");
  if (settings.tf32 && !costs.empty() && costs != "roofline") {
    notes.push_back(cat(settings.place("tf32"), "tf32 is for roofline costs, and these are ",
                        costs == "stated" ? "stated" : "from a file"));
  }
  if (settings.backend && settings.evaluator != EvaluatorKind::measure) {
    notes.push_back(
        cat(settings.place("backend"),
            "a backend executes with evaluator=measure alone; placements are simulated"));
  }
}

void add_notes(const Problem& problem, const Cluster& machine, bool own_model,
               std::vector<std::string>& notes) {
  note_idle_kinds(problem, notes);
  note_no_work(problem, notes);
  note_compiled_programs(problem.graph(), notes);
  note_plain_links(problem, machine, notes);
  note_next_step(problem, notes);
  note_empty_margins(problem, notes);
  note_open_tasks(problem, notes);
  note_unbound_constants(problem, notes);
  if (problem.costs().source() != "roofline") return;
  if (!own_model) note_gpu_kernels(problem, notes);
  std::string uncounted = without_rule_text(problem.graph());
  if (!uncounted.empty()) notes.push_back(std::move(uncounted));
}

std::string without_rule_text(const Graph& graph) {
  double bytes = 0, uncounted = 0;
  std::int64_t ops = 0, bodies = 0;
  std::map<std::string, std::int64_t> types, within;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (graph.is_constant(op)) continue;
    const Work work = op_work(graph, op);
    bytes += work.bytes;
    if (!graph.stated_costs(op).empty()) continue;
    std::set<std::string> unknown;
    add_unknown_within(graph, op, unknown);
    bodies += unknown.empty() ? 0 : 1;
    for (const std::string& type : unknown) ++within[type];
    if (has_work_rule(graph, op)) continue;
    uncounted += work.bytes;
    ++ops;
    ++types[graph.op_type(op)];
  }
  std::string text;
  if (ops > 0) {
    text =
        cat(format_count(ops), ops == 1 ? " op has" : " ops have",
            " no work rule, costed by the bytes moved alone (",
            format_percent(bytes > 0 ? uncounted / bytes : 0), " of the step's): ", most_of(types));
  }
  if (!within.empty()) {
    text += cat(
        text.empty() ? "" : "; ", "bodies of ", format_count(bodies), bodies == 1 ? " op" : " ops",
        " hold types without a work rule, costed by the bytes moved alone: ", most_of(within));
  }
  return text;
}

}  // namespace berth
