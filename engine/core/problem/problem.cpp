#include "berth/problem.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/sums.h"
#include "berth/support/text.h"
#include "constraints/rule_text.h"
#include "costs/views.h"
#include "support/enum_name.h"

namespace berth {
namespace {

/// Sums of times stay far from where doubles, and solvers that call 1e30 infinite, lose them.
constexpr double kLongestUs = 1e24;
/// And what groups exchange, counted once per consumer, from where 64 bits do.
constexpr double kMostBytes = 4e18;

void check_compute(const Graph& graph, const Cluster& cluster, const Costs& costs, double gap_us) {
  double overhead_us = gap_us;
  for (DeviceId device = 0; device < cluster.device_count(); ++device) {
    overhead_us = std::max(overhead_us, cluster.device(device).op_overhead_us);
  }
  double total_us = 0;
  double longest_us = 0;
  OpId longest = 0;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    double us = 0;
    for (KindId kind = 0; kind < costs.kind_count(); ++kind) {
      if (costs.can_run(op, kind)) us = std::max(us, costs.op_us(op, kind));
    }
    total_us += us + overhead_us;
    if (us > longest_us) {
      longest_us = us;
      longest = op;
    }
  }
  if (total_us <= kLongestUs) return;
  throw Error(
      ErrorCode::invalid_argument,
      cat("the ops of graph '", graph.name(), "' take ", total_us, " us in all, '",
          graph.op_name(longest), "' alone ", longest_us, " us; Berth computes with at most ",
          kLongestUs, " us: check the costs, and the overheads of cluster '", cluster.name(), "'"));
}

/// The reasons of the kinds for an op that none of them runs: " (a17pro-npu runs no op of type 'Loop')".
std::string refusals(const Graph& graph, const Cluster& cluster, OpId op) {
  std::string text;
  for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
    const std::string refusal = op_refusal(graph, op, cluster.kind_device(kind));
    if (refusal.empty()) continue;
    text += cat(text.empty() ? " (" : "; ", cluster.kind_name(kind), " ", refusal);
  }
  return text.empty() ? text : text + ")";
}

/// The kinds of which an op's costs are stated, and those that there are: " (it has costs for: gpu; ..)".
std::string stated_kinds(const Graph& graph, const Cluster& cluster, OpId op) {
  std::string stated, kinds;
  for (const Graph::StatedCost& cost : graph.stated_costs(op)) {
    stated += cat(stated.empty() ? "" : ", ", cost.kind);
  }
  if (stated.empty()) return {};
  for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
    kinds += cat(kinds.empty() ? "" : ", ", cluster.kind_name(kind));
  }
  return cat(" (it has costs for: ", stated, "; the kinds of the cluster's devices: ", kinds, ")");
}

void check_transfers(const Graph& graph, const Cluster& cluster, double gap_us) {
  double bytes = 0;
  double messages = 0;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    for (const Edge& edge : graph.out_edges(op)) {
      messages += 1;
      if (edge.tensor != kNoTensor) bytes += static_cast<double>(graph.bytes(edge.tensor));
    }
  }
  if (bytes > kMostBytes) {
    throw Error(ErrorCode::invalid_argument,
                cat("the tensors of graph '", graph.name(), "' are ", bytes,
                    " bytes, counted once per consumer; Berth computes with at most ", kMostBytes,
                    ": correct their sizes"));
  }
  for (DeviceId src = 0; src < cluster.device_count(); ++src) {
    for (DeviceId dst = 0; dst < cluster.device_count(); ++dst) {
      if (src == dst) continue;
      const Route& route = cluster.route(src, dst);
      const double us =
          bytes / route.bandwidth_bytes_per_s * 1e6 + messages * (route.transfer_us(0) + gap_us);
      if (us <= kLongestUs) continue;
      throw Error(ErrorCode::invalid_argument,
                  cat("all tensors of graph '", graph.name(), "' would take ", us,
                      " us over the link from '", cluster.device(src).name, "' to '",
                      cluster.device(dst).name, "'; Berth computes with at most ", kLongestUs,
                      " us: check the link's bandwidth and latency, and the tensors' sizes"));
    }
  }
}

constexpr std::string_view kObjectives[] = {"latency", "throughput"};
static_assert(ends_with(kObjectives, Objective::throughput));

constexpr std::string_view kSemantics[] = {"dataflow", "placeto"};
static_assert(ends_with(kSemantics, Semantics::placeto));

}  // namespace

Objective objective_from_name(std::string_view name) {
  return value_by_name<Objective>("no objective", name, kObjectives);
}

std::string_view objective_name(Objective objective) noexcept {
  return name_of(kObjectives, objective);
}

Semantics semantics_from_name(std::string_view name) {
  return value_by_name<Semantics>("no semantics", name, kSemantics);
}

std::string_view semantics_name(Semantics semantics) noexcept {
  return name_of(kSemantics, semantics);
}

struct Problem::Data {
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<const Cluster> cluster;
  std::shared_ptr<const Costs> costs;
  std::shared_ptr<const Groups> groups;
  std::shared_ptr<const Constraints> constraints;
  ProblemOptions options;
  std::vector<std::span<const double>> us_on;  // by device, then op, whatever is allowed
  std::vector<std::int32_t> device_class;      // by device
  std::int32_t device_class_count = 0;
  std::vector<Separation> separations;
  std::vector<double> group_us;  // by device class, then group
  std::vector<std::int64_t> group_param_bytes;
  Views views;  // empty: none is

  /// Checks the parts and fills what follows from them.
  void prepare();
  void check_parts() const;
  void classify_devices();
  void separate_groups();
  void sum_groups();
  [[nodiscard]] std::shared_ptr<const Groups> finest_groups() const;
  /// An op whose group does not hold all of its co-location class; kNoOp if there is none.
  [[nodiscard]] OpId split_from_its_class() const;

  [[nodiscard]] bool allowed(OpId op, DeviceId device) const {
    return constraints == nullptr || constraints->allowed(op, device);
  }
  [[nodiscard]] double cost_us(OpId op, DeviceId device) const {
    return allowed(op, device) ? us_on[at(device)][at(op)] : kCannotRun;
  }
  [[nodiscard]] double group_cost_us(GroupId group, DeviceId device) const {
    return group_us[at(device_class[at(device)]) * group_param_bytes.size() + at(group)];
  }
  [[nodiscard]] std::int64_t lasting_bytes(OpId op) const noexcept;
  [[nodiscard]] bool is_view(OpId op) const noexcept {
    return !views.is_view.empty() && views.is_view[at(op)];
  }

  void validate_colocation(const Placement& placement) const;
  /// Two ops that share a device and must be apart, and the rule that says so.
  struct Crowd {
    OpId first;
    OpId second;
    std::size_t rule;
  };
  [[nodiscard]] std::optional<Crowd> find_crowd(std::span<const DeviceId> placement) const;
};

Problem::Problem(std::shared_ptr<const Graph> graph, std::shared_ptr<const Cluster> cluster,
                 std::shared_ptr<const Costs> costs, std::shared_ptr<const Groups> groups,
                 ProblemOptions options, std::shared_ptr<const Constraints> constraints) {
  auto data = std::make_shared<Data>();
  data->graph = std::move(graph);
  data->cluster = std::move(cluster);
  data->costs = std::move(costs);
  data->groups = std::move(groups);
  data->constraints = std::move(constraints);
  data->options = options;
  data->prepare();
  data_ = std::move(data);
}

void Problem::Data::prepare() {
  check_parts();
  costs = Costs::of_step(std::move(costs), *graph, *cluster);
  check_compute(*graph, *cluster, *costs, options.device_gap_us);
  check_transfers(*graph, *cluster, options.transfer_gap_us);
  for (DeviceId device = 0; device < cluster->device_count(); ++device) {
    us_on.push_back(costs->of_kind(cluster->kind_of(device)));
  }
  if (counts_lifetimes(options)) views = views_of(*graph, *cluster, *costs, options.overwrites);
  if (constraints && groups) groups = regroup(*graph, *costs, *groups, *constraints);
  if (!groups) groups = finest_groups();
  const OpId apart = split_from_its_class();
  if (apart != kNoOp) {
    throw Error(ErrorCode::invalid_argument,
                cat("the groups put op '", graph->op_name(apart),
                    "' apart from others of its co-location class '", graph->colocation(apart),
                    "'; make them with coarsen or colocation_groups"));
  }
  classify_devices();
  sum_groups();
  separate_groups();
}

void Problem::Data::check_parts() const {
  if (!graph || !cluster || !costs) {
    throw Error(ErrorCode::invalid_argument,
                "a problem needs a graph, a cluster and costs; one of them is missing");
  }
  if (graph->op_count() == 0) {
    throw Error(ErrorCode::invalid_argument,
                cat("graph '", graph->name(), "' has no ops; there is nothing to place"));
  }
  const auto ops = at(graph->op_count());
  if (costs->kind_count() != cluster->kind_count() || costs->of_kind(0).size() != ops) {
    throw Error(ErrorCode::invalid_argument,
                cat("the costs (", costs->source(), ") are for another graph or cluster than '",
                    graph->name(), "' on '", cluster->name(), "'; make them from these"));
  }
  if (groups && groups->map().size() != ops) {
    throw Error(ErrorCode::invalid_argument, cat("the groups are for another graph than '",
                                                 graph->name(), "'; make them from it"));
  }
  if (constraints && (constraints->classes()->map().size() != ops ||
                      constraints->device_count() != cluster->device_count())) {
    throw Error(ErrorCode::invalid_argument,
                cat("the constraints are for another graph or cluster than '", graph->name(),
                    "' on '", cluster->name(), "'; make them from these"));
  }
  if (options.in_flight < 0) {
    throw Error(ErrorCode::invalid_argument,
                cat(options.in_flight, " steps in flight; give 0 or more"));
  }
  for (const double gap : {options.device_gap_us, options.transfer_gap_us}) {
    if (!(gap >= 0) || gap == kCannotRun) {
      throw Error(ErrorCode::invalid_argument,
                  cat("a simulator gap of ", gap, " us; gaps are finite and not negative"));
    }
  }
}

std::shared_ptr<const Groups> Problem::Data::finest_groups() const {
  return constraints ? constraints->classes() : colocation_groups(*graph);
}

/// Two devices are in one class where they are of one kind and no group is allowed on one alone.
void Problem::Data::classify_devices() {
  const DeviceId devices = cluster->device_count();
  if (!constraints) {
    for (DeviceId d = 0; d < devices; ++d) device_class.push_back(cluster->kind_of(d));
    device_class_count = cluster->kind_count();
    return;
  }
  std::map<std::pair<KindId, std::vector<bool>>, std::int32_t> classes;
  for (DeviceId d = 0; d < devices; ++d) {
    auto column = std::pair(cluster->kind_of(d), constraints->column(d));
    device_class.push_back(
        classes.try_emplace(std::move(column), static_cast<std::int32_t>(classes.size()))
            .first->second);
  }
  device_class_count = static_cast<std::int32_t>(classes.size());
}

void Problem::Data::separate_groups() {
  if (!constraints) return;
  for (const Constraints::Separation& separation : constraints->separations()) {
    separations.push_back({separation.rule, {}});
    for (const std::vector<OpId>& ops : separation.parts) {
      std::vector<GroupId>& part = separations.back().parts.emplace_back();
      for (const OpId op : ops) part.push_back(groups->of(op));
      std::sort(part.begin(), part.end());
      part.erase(std::unique(part.begin(), part.end()), part.end());
    }
  }
}

OpId Problem::Data::split_from_its_class() const {
  std::unordered_map<std::string_view, GroupId> group_of_class;
  for (OpId op = 0; op < graph->op_count(); ++op) {
    const std::string& name = graph->colocation(op);
    if (name.empty()) continue;
    if (group_of_class.emplace(name, groups->of(op)).first->second != groups->of(op)) return op;
  }
  return kNoOp;
}

void Problem::Data::sum_groups() {
  const auto count = at(groups->count());
  std::vector<DeviceId> device_of(at(device_class_count), kNoDevice);
  for (DeviceId d = 0; d < cluster->device_count(); ++d) {
    device_of[at(device_class[at(d)])] = d;
  }
  group_us.assign(device_of.size() * count, 0.0);
  group_param_bytes.assign(count, 0);
  for (OpId op = 0; op < graph->op_count(); ++op) {
    const auto group = at(groups->of(op));
    bool runs_somewhere = false;
    for (std::size_t c = 0; c < device_of.size(); ++c) {
      const double us = cost_us(op, device_of[c]);
      group_us[c * count + group] += us;
      runs_somewhere = runs_somewhere || us < kCannotRun;
    }
    if (!runs_somewhere) {
      throw Error(ErrorCode::infeasible,
                  cat("op '", graph->op_name(op), "' of type '", graph->op_type(op),
                      "' cannot run on any device of cluster '", cluster->name(), "'",
                      refusals(*graph, *cluster, op), stated_kinds(*graph, *cluster, op),
                      "; add a device of a kind that can, or its cost there"));
    }
    // Saturating: what matters is only that it is more than any device has.
    const std::int64_t stays = saturating_sum(graph->param_bytes(op), lasting_bytes(op));
    if (!add_bytes(group_param_bytes[group], stays)) group_param_bytes[group] = kNoLimit;
  }
  for (std::size_t group = 0; group < count; ++group) {
    bool runs_somewhere = false;
    for (std::size_t c = 0; c < device_of.size(); ++c) {
      runs_somewhere = runs_somewhere || group_us[c * count + group] < kCannotRun;
    }
    if (!runs_somewhere) {
      const OpId op = groups->members(static_cast<GroupId>(group)).front();
      throw Error(
          ErrorCode::infeasible,
          cat("the ops grouped with '", graph->op_name(op), "' share no device kind of cluster '",
              cluster->name(), "'; relax their co-location or add a device that can run them all"));
    }
  }
}

std::int64_t Problem::Data::lasting_bytes(OpId op) const noexcept {
  // A placement says whose memory they take if devices keep parameters for another.
  if (!counts_lifetimes(options) || cluster->has_keepers()) return 0;
  // A view's outputs last in the memory of what it reads, which may be there anyway.
  const std::int64_t bytes = is_view(op) ? 0 : graph->lasting_bytes(op);
  return options.objective == Objective::throughput ? saturating_product(bytes, options.in_flight)
                                                    : bytes;
}

const Graph& Problem::graph() const noexcept {
  return *data_->graph;
}
const Cluster& Problem::cluster() const noexcept {
  return *data_->cluster;
}
const Costs& Problem::costs() const noexcept {
  return *data_->costs;
}
const Groups& Problem::groups() const noexcept {
  return *data_->groups;
}
const std::shared_ptr<const Graph>& Problem::shared_graph() const noexcept {
  return data_->graph;
}
const std::shared_ptr<const Cluster>& Problem::shared_cluster() const noexcept {
  return data_->cluster;
}
const std::shared_ptr<const Costs>& Problem::shared_costs() const noexcept {
  return data_->costs;
}
const std::shared_ptr<const Groups>& Problem::shared_groups() const noexcept {
  return data_->groups;
}
const ProblemOptions& Problem::options() const noexcept {
  return data_->options;
}
const std::shared_ptr<const Constraints>& Problem::constraints() const noexcept {
  return data_->constraints;
}
bool Problem::allowed(OpId op, DeviceId device) const noexcept {
  return data_->allowed(op, device);
}
std::int64_t Problem::memory_bytes(DeviceId device) const noexcept {
  return data_->constraints == nullptr ? data_->cluster->device(device).memory_bytes
                                       : data_->constraints->memory_bytes(device);
}
std::shared_ptr<const Groups> Problem::finest_groups() const {
  return data_->finest_groups();
}
double Problem::cost_us(OpId op, DeviceId device) const noexcept {
  return data_->cost_us(op, device);
}
double Problem::group_cost_us(GroupId group, DeviceId device) const noexcept {
  return data_->group_cost_us(group, device);
}
bool Problem::is_view(OpId op) const noexcept {
  return data_->is_view(op);
}
TensorId Problem::overwritten(OpId op) const noexcept {
  return data_->views.overwritten.empty() ? kNoTensor : data_->views.overwritten[at(op)];
}
std::int64_t Problem::lasting_bytes(OpId op) const noexcept {
  return data_->lasting_bytes(op);
}
std::int32_t Problem::device_class(DeviceId device) const noexcept {
  return data_->device_class[at(device)];
}
std::int32_t Problem::device_class_count() const noexcept {
  return data_->device_class_count;
}
bool Problem::can_run(GroupId group, DeviceId device) const noexcept {
  return data_->group_cost_us(group, device) < kCannotRun;
}
std::int64_t Problem::group_param_bytes(GroupId group) const noexcept {
  return data_->group_param_bytes[at(group)];
}
const std::vector<Problem::Separation>& Problem::separations() const noexcept {
  return data_->separations;
}

void Problem::validate(const Placement& placement) const {
  validate_but_separations(placement);
  if (const std::optional<Data::Crowd> crowd = data_->find_crowd(placement)) {
    throw Error(
        ErrorCode::invalid_argument,
        cat("ops '", data_->graph->op_name(crowd->first), "' and '",
            data_->graph->op_name(crowd->second), "' are to be apart and are both on device '",
            data_->cluster->device(placement[at(crowd->first)]).name,
            "': ", shown(data_->constraints->rules()[crowd->rule])));
  }
}

void Problem::validate_but_separations(const Placement& placement) const {
  const Graph& graph = *data_->graph;
  if (placement.size() != at(graph.op_count())) {
    throw Error(ErrorCode::invalid_argument,
                cat("the placement has ", placement.size(), " ops, graph '", graph.name(), "' has ",
                    graph.op_count(), "; use a placement of this graph"));
  }
  std::unordered_map<std::string_view, OpId> first_of_class;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const DeviceId device = placement[at(op)];
    if (device < 0 || device >= data_->cluster->device_count()) {
      throw Error(
          ErrorCode::invalid_argument,
          cat("op '", graph.op_name(op), "' is placed on device #", device, "; cluster '",
              data_->cluster->name(), "' has devices #0 to #", data_->cluster->device_count() - 1));
    }
    if (graph.is_constant(op)) continue;
    if (!data_->costs->can_run(op, data_->cluster->kind_of(device))) {
      const Device& where = data_->cluster->device(device);
      const std::string why = op_refusal(graph, op, where);
      throw Error(ErrorCode::invalid_argument,
                  cat("op '", graph.op_name(op), "' of type '", graph.op_type(op),
                      "' cannot run on device '", where.name, "' (kind '", where.kind, "'",
                      why.empty() ? "" : ", which ", why, "); place it on another kind"));
    }
    if (!allowed(op, device)) {
      throw Error(ErrorCode::invalid_argument,
                  cat("op '", graph.op_name(op), "' is not allowed on device '",
                      data_->cluster->device(device).name, "': ",
                      listed(shown(data_->constraints->rules(),
                                   data_->constraints->rules_against(op, device)))));
    }
    const std::string& colocation = graph.colocation(op);
    if (colocation.empty()) continue;
    const OpId other = first_of_class.emplace(colocation, op).first->second;
    const DeviceId expected = placement[at(other)];
    if (device != expected) {
      throw Error(ErrorCode::invalid_argument,
                  cat("ops '", graph.op_name(other), "' and '", graph.op_name(op),
                      "' must share a device (co-location '", colocation, "') but are on '",
                      data_->cluster->device(expected).name, "' and '",
                      data_->cluster->device(device).name, "'"));
    }
  }
  if (data_->constraints) data_->validate_colocation(placement);
}

void Problem::Data::validate_colocation(const Placement& placement) const {
  const auto device_of = [&](OpId op) { return placement[at(op)]; };
  for (std::size_t rule = 0; rule < constraints->rules().size(); ++rule) {
    if (constraints->rules()[rule].kind != ConstraintRule::Kind::colocate) continue;
    if (constraints->ops_of(rule).empty()) continue;
    const OpId first = constraints->ops_of(rule).front();
    for (const OpId op : constraints->ops_of(rule)) {
      if (device_of(op) == device_of(first)) continue;
      throw Error(ErrorCode::invalid_argument,
                  cat("ops '", graph->op_name(first), "' and '", graph->op_name(op),
                      "' must share a device and are on '", cluster->device(device_of(first)).name,
                      "' and '", cluster->device(device_of(op)).name,
                      "': ", shown(constraints->rules()[rule])));
    }
  }
}

std::optional<Problem::Data::Crowd> Problem::Data::find_crowd(
    std::span<const DeviceId> placement) const {
  if (separations.empty()) return std::nullopt;
  for (const Constraints::Separation& separation : constraints->separations()) {
    struct Owner {
      std::size_t part;
      OpId op;
    };
    std::vector<Owner> owners(at(cluster->device_count()), {0, kNoOp});
    for (std::size_t part = 0; part < separation.parts.size(); ++part) {
      for (const OpId op : separation.parts[part]) {
        const DeviceId device = placement[at(op)];
        Owner& owner = owners[at(device)];
        if (owner.op == kNoOp) owner = {part, op};
        if (owner.part != part) return Crowd{owner.op, op, separation.rule};
      }
    }
  }
  return std::nullopt;
}

DeviceId Problem::crowded_device(std::span<const DeviceId> placement) const {
  const std::optional<Data::Crowd> crowd = data_->find_crowd(placement);
  return crowd ? placement[at(crowd->first)] : kNoDevice;
}

}  // namespace berth
