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

/// What kinds say of an op that none of them runs: " (a17pro-npu runs no op of type 'Loop')".
std::string refusals(const Graph& graph, const Cluster& cluster, OpId op) {
  std::string text;
  for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
    const std::string refusal = op_refusal(graph, op, cluster.kind_device(kind));
    if (refusal.empty()) continue;
    text += cat(text.empty() ? " (" : "; ", cluster.kind_name(kind), " ", refusal);
  }
  return text.empty() ? text : text + ")";
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
          bytes / route.bandwidth_bytes_per_s * 1e6 + messages * (route.latency_us + gap_us);
      if (us <= kLongestUs) continue;
      throw Error(ErrorCode::invalid_argument,
                  cat("all tensors of graph '", graph.name(), "' would take ", us,
                      " us over the link from '", cluster.device(src).name, "' to '",
                      cluster.device(dst).name, "'; Berth computes with at most ", kLongestUs,
                      " us: check the link's bandwidth and latency, and the tensors' sizes"));
    }
  }
}

}  // namespace

Objective objective_from_name(std::string_view name) {
  static constexpr Objective kAll[] = {Objective::latency, Objective::throughput};
  return value_by_name("objective", name, kAll, objective_name);
}

std::string_view objective_name(Objective objective) noexcept {
  return objective == Objective::latency ? "latency" : "throughput";
}

Semantics semantics_from_name(std::string_view name) {
  static constexpr Semantics kAll[] = {Semantics::dataflow, Semantics::placeto};
  return value_by_name("semantics", name, kAll, semantics_name);
}

std::string_view semantics_name(Semantics semantics) noexcept {
  return semantics == Semantics::dataflow ? "dataflow" : "placeto";
}

Problem::Problem(std::shared_ptr<const Graph> graph, std::shared_ptr<const Cluster> cluster,
                 std::shared_ptr<const Costs> costs, std::shared_ptr<const Groups> groups,
                 ProblemOptions options, std::shared_ptr<const Constraints> constraints)
    : graph_(std::move(graph)),
      cluster_(std::move(cluster)),
      costs_(std::move(costs)),
      groups_(std::move(groups)),
      constraints_(std::move(constraints)),
      options_(options) {
  check_parts();
  costs_ = Costs::of_step(std::move(costs_), *graph_, *cluster_);
  check_compute(*graph_, *cluster_, *costs_, options_.device_gap_us);
  check_transfers(*graph_, *cluster_, options_.transfer_gap_us);
  if (constraints_ && groups_) groups_ = regroup(*graph_, *costs_, *groups_, *constraints_);
  if (!groups_) groups_ = finest_groups();
  const OpId apart = split_from_its_class();
  if (apart != kNoOp) {
    throw Error(ErrorCode::invalid_argument,
                cat("the groups put op '", graph_->op_name(apart),
                    "' apart from others of its co-location class '", graph_->colocation(apart),
                    "'; make them with coarsen or colocation_groups"));
  }
  classify_devices();
  sum_groups();
  separate_groups();
}

void Problem::check_parts() {
  if (!graph_ || !cluster_ || !costs_) {
    throw Error(ErrorCode::invalid_argument,
                "a problem needs a graph, a cluster and costs; one of them is missing");
  }
  if (graph_->op_count() == 0) {
    throw Error(ErrorCode::invalid_argument,
                cat("graph '", graph_->name(), "' has no ops; there is nothing to place"));
  }
  const auto ops = at(graph_->op_count());
  if (costs_->kind_count() != cluster_->kind_count() || costs_->of_kind(0).size() != ops) {
    throw Error(ErrorCode::invalid_argument,
                cat("the costs (", costs_->source(), ") are for another graph or cluster than '",
                    graph_->name(), "' on '", cluster_->name(), "'; make them from these"));
  }
  if (groups_ && groups_->map().size() != ops) {
    throw Error(ErrorCode::invalid_argument, cat("the groups are for another graph than '",
                                                 graph_->name(), "'; make them from it"));
  }
  if (constraints_ && (constraints_->classes()->map().size() != ops ||
                       constraints_->device_count() != cluster_->device_count())) {
    throw Error(ErrorCode::invalid_argument,
                cat("the constraints are for another graph or cluster than '", graph_->name(),
                    "' on '", cluster_->name(), "'; make them from these"));
  }
  if (options_.in_flight < 0) {
    throw Error(ErrorCode::invalid_argument,
                cat(options_.in_flight, " steps in flight; give 0 or more"));
  }
  for (const double gap : {options_.device_gap_us, options_.transfer_gap_us}) {
    if (!(gap >= 0) || gap == kCannotRun) {
      throw Error(ErrorCode::invalid_argument,
                  cat("a simulator gap of ", gap, " us; gaps are finite and not negative"));
    }
  }
}

std::shared_ptr<const Groups> Problem::finest_groups() const {
  return constraints_ ? constraints_->classes() : colocation_groups(*graph_);
}

/// Two devices are in one class where they are of one kind and no group is allowed on one alone.
void Problem::classify_devices() {
  const DeviceId devices = cluster_->device_count();
  if (!constraints_) {
    for (DeviceId d = 0; d < devices; ++d) device_class_.push_back(cluster_->kind_of(d));
    device_class_count_ = cluster_->kind_count();
    return;
  }
  std::map<std::pair<KindId, std::vector<bool>>, std::int32_t> classes;
  for (DeviceId d = 0; d < devices; ++d) {
    auto column = std::pair(cluster_->kind_of(d), constraints_->column(d));
    device_class_.push_back(
        classes.try_emplace(std::move(column), static_cast<std::int32_t>(classes.size()))
            .first->second);
  }
  device_class_count_ = static_cast<std::int32_t>(classes.size());
}

void Problem::separate_groups() {
  if (!constraints_) return;
  for (const Constraints::Separation& separation : constraints_->separations()) {
    separations_.push_back({separation.rule, {}});
    for (const std::vector<OpId>& ops : separation.parts) {
      std::vector<GroupId>& part = separations_.back().parts.emplace_back();
      for (const OpId op : ops) part.push_back(groups_->of(op));
      std::sort(part.begin(), part.end());
      part.erase(std::unique(part.begin(), part.end()), part.end());
    }
  }
}

OpId Problem::split_from_its_class() const {
  std::unordered_map<std::string_view, GroupId> group_of_class;
  for (OpId op = 0; op < graph_->op_count(); ++op) {
    const std::string& name = graph_->colocation(op);
    if (name.empty()) continue;
    if (group_of_class.emplace(name, groups_->of(op)).first->second != groups_->of(op)) return op;
  }
  return kNoOp;
}

void Problem::sum_groups() {
  const auto groups = at(groups_->count());
  std::vector<DeviceId> device_of(at(device_class_count_), kNoDevice);
  for (DeviceId d = 0; d < cluster_->device_count(); ++d) {
    device_of[at(device_class(d))] = d;
  }
  group_us_.assign(device_of.size() * groups, 0.0);
  group_param_bytes_.assign(groups, 0);
  for (OpId op = 0; op < graph_->op_count(); ++op) {
    const auto group = at(groups_->of(op));
    bool runs_somewhere = false;
    for (std::size_t c = 0; c < device_of.size(); ++c) {
      const double us = cost_us(op, device_of[c]);
      group_us_[c * groups + group] += us;
      runs_somewhere = runs_somewhere || us < kCannotRun;
    }
    if (!runs_somewhere) {
      throw Error(ErrorCode::infeasible,
                  cat("op '", graph_->op_name(op), "' of type '", graph_->op_type(op),
                      "' cannot run on any device of cluster '", cluster_->name(), "'",
                      refusals(*graph_, *cluster_, op),
                      "; add a device of a kind that can, or its cost there"));
    }
    // Saturating: what matters is only that it is more than any device has.
    const std::int64_t stays = saturating_sum(graph_->param_bytes(op), lasting_bytes(op));
    if (!add_bytes(group_param_bytes_[group], stays)) group_param_bytes_[group] = kNoLimit;
  }
  for (std::size_t group = 0; group < groups; ++group) {
    bool runs_somewhere = false;
    for (std::size_t c = 0; c < device_of.size(); ++c) {
      runs_somewhere = runs_somewhere || group_us_[c * groups + group] < kCannotRun;
    }
    if (!runs_somewhere) {
      const OpId op = groups_->members(static_cast<GroupId>(group)).front();
      throw Error(ErrorCode::infeasible,
                  cat("the ops grouped with '", graph_->op_name(op),
                      "' share no device kind of cluster '", cluster_->name(),
                      "'; relax their co-location or add a device that can run them all"));
    }
  }
}

std::int64_t Problem::lasting_bytes(OpId op) const noexcept {
  if (!counts_lifetimes(options_)) return 0;
  const std::int64_t bytes = graph_->lasting_bytes(op);
  return options_.objective == Objective::throughput ? saturating_product(bytes, options_.in_flight)
                                                     : bytes;
}

void Problem::validate(const Placement& placement) const {
  validate_but_separations(placement);
  if (const std::optional<Crowd> crowd = find_crowd(placement)) {
    throw Error(ErrorCode::invalid_argument,
                cat("ops '", graph_->op_name(crowd->first), "' and '",
                    graph_->op_name(crowd->second), "' are to be apart and are both on device '",
                    cluster_->device(placement[at(crowd->first)]).name,
                    "': ", shown(constraints_->rules()[crowd->rule])));
  }
}

void Problem::validate_but_separations(const Placement& placement) const {
  const Graph& graph = *graph_;
  if (placement.size() != at(graph.op_count())) {
    throw Error(ErrorCode::invalid_argument,
                cat("the placement has ", placement.size(), " ops, graph '", graph.name(), "' has ",
                    graph.op_count(), "; use a placement of this graph"));
  }
  std::unordered_map<std::string_view, OpId> first_of_class;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const DeviceId device = placement[at(op)];
    if (device < 0 || device >= cluster_->device_count()) {
      throw Error(ErrorCode::invalid_argument,
                  cat("op '", graph.op_name(op), "' is placed on device #", device, "; cluster '",
                      cluster_->name(), "' has devices #0 to #", cluster_->device_count() - 1));
    }
    if (graph.is_constant(op)) continue;
    if (!costs_->can_run(op, cluster_->kind_of(device))) {
      const std::string why = op_refusal(graph, op, cluster_->device(device));
      throw Error(ErrorCode::invalid_argument,
                  cat("op '", graph.op_name(op), "' of type '", graph.op_type(op),
                      "' cannot run on device '", cluster_->device(device).name, "' (kind '",
                      cluster_->device(device).kind, "'", why.empty() ? "" : ", which ", why,
                      "); place it on another kind"));
    }
    if (!allowed(op, device)) {
      throw Error(
          ErrorCode::invalid_argument,
          cat("op '", graph.op_name(op), "' is not allowed on device '",
              cluster_->device(device).name, "': ",
              listed(shown(constraints_->rules(), constraints_->rules_against(op, device)))));
    }
    const std::string& colocation = graph.colocation(op);
    if (colocation.empty()) continue;
    const OpId other = first_of_class.emplace(colocation, op).first->second;
    const DeviceId expected = placement[at(other)];
    if (device != expected) {
      throw Error(
          ErrorCode::invalid_argument,
          cat("ops '", graph.op_name(other), "' and '", graph.op_name(op),
              "' must share a device (co-location '", colocation, "') but are on '",
              cluster_->device(expected).name, "' and '", cluster_->device(device).name, "'"));
    }
  }
  if (constraints_) validate_colocation(placement);
}

void Problem::validate_colocation(const Placement& placement) const {
  const auto device_of = [&](OpId op) { return placement[at(op)]; };
  for (std::size_t rule = 0; rule < constraints_->rules().size(); ++rule) {
    if (constraints_->rules()[rule].kind != ConstraintRule::Kind::colocate) continue;
    if (constraints_->ops_of(rule).empty()) continue;
    const OpId first = constraints_->ops_of(rule).front();
    for (const OpId op : constraints_->ops_of(rule)) {
      if (device_of(op) == device_of(first)) continue;
      throw Error(ErrorCode::invalid_argument,
                  cat("ops '", graph_->op_name(first), "' and '", graph_->op_name(op),
                      "' must share a device and are on '", cluster_->device(device_of(first)).name,
                      "' and '", cluster_->device(device_of(op)).name,
                      "': ", shown(constraints_->rules()[rule])));
    }
  }
}

std::optional<Problem::Crowd> Problem::find_crowd(std::span<const DeviceId> placement) const {
  if (separations_.empty()) return std::nullopt;
  for (const Constraints::Separation& separation : constraints_->separations()) {
    struct Owner {
      std::size_t part;
      OpId op;
    };
    std::vector<Owner> owners(at(cluster_->device_count()), {0, kNoOp});
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
  const std::optional<Crowd> crowd = find_crowd(placement);
  return crowd ? placement[at(crowd->first)] : kNoDevice;
}

}  // namespace berth
