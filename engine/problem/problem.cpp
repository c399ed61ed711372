#include "berth/problem.h"

#include <unordered_map>

#include "berth/error.h"
#include "support/text.h"

namespace berth {
namespace {

template <typename Enum, std::size_t count>
Enum from_name(const char* what, std::string_view name, const Enum (&values)[count],
               std::string_view (*text)(Enum) noexcept) {
  std::vector<std::string> known;
  for (const Enum value : values) {
    if (text(value) == name) return value;
    known.emplace_back(text(value));
  }
  throw Error(ErrorCode::invalid_argument,
              cat("no ", what, " '", name, "'", known_names(name, std::move(known))));
}

}  // namespace

Objective objective_from_name(std::string_view name) {
  static constexpr Objective kAll[] = {Objective::latency, Objective::throughput};
  return from_name("objective", name, kAll, objective_name);
}

std::string_view objective_name(Objective objective) noexcept {
  return objective == Objective::latency ? "latency" : "throughput";
}

Semantics semantics_from_name(std::string_view name) {
  static constexpr Semantics kAll[] = {Semantics::dataflow, Semantics::placeto};
  return from_name("semantics", name, kAll, semantics_name);
}

std::string_view semantics_name(Semantics semantics) noexcept {
  return semantics == Semantics::dataflow ? "dataflow" : "placeto";
}

Problem::Problem(std::shared_ptr<const Graph> graph, std::shared_ptr<const Cluster> cluster,
                 std::shared_ptr<const Costs> costs, std::shared_ptr<const Groups> groups,
                 ProblemOptions options)
    : graph_(std::move(graph)),
      cluster_(std::move(cluster)),
      costs_(std::move(costs)),
      groups_(std::move(groups)),
      options_(options) {
  if (!graph_ || !cluster_ || !costs_) {
    throw Error(ErrorCode::invalid_argument,
                "a problem needs a graph, a cluster and costs; one of them is missing");
  }
  if (graph_->op_count() == 0) {
    throw Error(ErrorCode::invalid_argument,
                cat("graph '", graph_->name(), "' has no ops; there is nothing to place"));
  }
  if (!groups_) groups_ = colocation_groups(*graph_);
  const auto ops = static_cast<std::size_t>(graph_->op_count());
  if (costs_->kind_count() != cluster_->kind_count() || costs_->of_kind(0).size() != ops) {
    throw Error(ErrorCode::invalid_argument,
                cat("the costs (", costs_->source(), ") are for another graph or cluster than '",
                    graph_->name(), "' on '", cluster_->name(), "'; make them from these"));
  }
  if (groups_->map().size() != ops) {
    throw Error(ErrorCode::invalid_argument, cat("the groups are for another graph than '",
                                                 graph_->name(), "'; make them from it"));
  }
  const OpId apart = split_from_its_class();
  if (apart != kNoOp) {
    throw Error(ErrorCode::invalid_argument,
                cat("the groups put op '", graph_->op_name(apart),
                    "' apart from others of its co-location class '", graph_->colocation(apart),
                    "'; make them with coarsen or colocation_groups"));
  }
  for (const double gap : {options_.device_gap_us, options_.transfer_gap_us}) {
    if (!(gap >= 0) || gap == kCannotRun) {
      throw Error(ErrorCode::invalid_argument,
                  cat("a simulator gap of ", gap, " us; gaps are finite and not negative"));
    }
  }
  sum_groups();
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
  const auto groups = static_cast<std::size_t>(groups_->count());
  const auto kinds = static_cast<std::size_t>(cluster_->kind_count());
  group_us_.assign(kinds * groups, 0.0);
  group_param_bytes_.assign(groups, 0);
  for (OpId op = 0; op < graph_->op_count(); ++op) {
    const auto group = static_cast<std::size_t>(groups_->of(op));
    bool runs_somewhere = false;
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      const double us = costs_->op_us(op, static_cast<KindId>(kind));
      group_us_[kind * groups + group] += us;
      runs_somewhere = runs_somewhere || us < kCannotRun;
    }
    if (!runs_somewhere) {
      throw Error(ErrorCode::infeasible,
                  cat("op '", graph_->op_name(op), "' of type '", graph_->op_type(op),
                      "' cannot run on any device of cluster '", cluster_->name(),
                      "'; add a device of a kind that can, or its cost there"));
    }
    // Saturating: what matters is only that it is more than any device has.
    if (!add_bytes(group_param_bytes_[group], graph_->param_bytes(op))) {
      group_param_bytes_[group] = kNoLimit;
    }
  }
  for (std::size_t group = 0; group < groups; ++group) {
    bool runs_somewhere = false;
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      runs_somewhere = runs_somewhere || group_us_[kind * groups + group] < kCannotRun;
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

void Problem::validate(const Placement& placement) const {
  const Graph& graph = *graph_;
  if (placement.size() != static_cast<std::size_t>(graph.op_count())) {
    throw Error(ErrorCode::invalid_argument,
                cat("the placement has ", placement.size(), " ops, graph '", graph.name(), "' has ",
                    graph.op_count(), "; use a placement of this graph"));
  }
  std::unordered_map<std::string_view, OpId> first_of_class;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const DeviceId device = placement[static_cast<std::size_t>(op)];
    if (device < 0 || device >= cluster_->device_count()) {
      throw Error(ErrorCode::invalid_argument,
                  cat("op '", graph.op_name(op), "' is placed on device #", device, "; cluster '",
                      cluster_->name(), "' has devices #0 to #", cluster_->device_count() - 1));
    }
    if (cost_us(op, device) == kCannotRun) {
      throw Error(ErrorCode::invalid_argument,
                  cat("op '", graph.op_name(op), "' of type '", graph.op_type(op),
                      "' cannot run on device '", cluster_->device(device).name, "' (kind '",
                      cluster_->device(device).kind, "'); place it on another kind"));
    }
    const std::string& colocation = graph.colocation(op);
    if (colocation.empty()) continue;
    const OpId other = first_of_class.emplace(colocation, op).first->second;
    const DeviceId expected = placement[static_cast<std::size_t>(other)];
    if (device != expected) {
      throw Error(
          ErrorCode::invalid_argument,
          cat("ops '", graph.op_name(other), "' and '", graph.op_name(op),
              "' must share a device (co-location '", colocation, "') but are on '",
              cluster_->device(expected).name, "' and '", cluster_->device(device).name, "'"));
    }
  }
}

}  // namespace berth
