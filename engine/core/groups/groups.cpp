#include "berth/groups.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/rows.h"
#include "berth/support/text.h"
#include "groups/placement_check.h"

namespace berth {
namespace {

/// Labels made dense, in the order of their first op.
GroupId make_dense(const Graph& graph, std::vector<GroupId>& group_of) {
  if (group_of.size() != at(graph.op_count())) {
    throw Error(ErrorCode::invalid_argument,
                cat("a grouping of graph '", graph.name(), "' needs one group for each of its ",
                    graph.op_count(), " ops, and has ", group_of.size()));
  }
  std::vector<GroupId> labels = group_of;
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  if (!labels.empty() && labels.front() < 0) {
    const auto op = std::find_if(group_of.begin(), group_of.end(), [](GroupId g) { return g < 0; });
    throw Error(ErrorCode::invalid_argument,
                cat("op '", graph.op_name(static_cast<OpId>(op - group_of.begin())), "' has group ",
                    *op, "; groups are numbered from 0"));
  }
  for (GroupId& group : group_of) {
    group = static_cast<GroupId>(std::lower_bound(labels.begin(), labels.end(), group) -
                                 labels.begin());
  }
  return static_cast<GroupId>(labels.size());
}

/// One tensor (or a control edge) between two groups.
struct Crossing {
  GroupId src;
  GroupId dst;
  TensorId tensor;

  friend bool operator==(const Crossing&, const Crossing&) = default;
  friend bool operator<(const Crossing& a, const Crossing& b) {
    return std::tie(a.src, a.dst, a.tensor) < std::tie(b.src, b.dst, b.tensor);
  }
};

std::vector<Crossing> distinct_crossings(const Graph& graph, std::span<const GroupId> group_of) {
  std::vector<Crossing> crossings;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    for (const berth::Edge& edge : graph.out_edges(op)) {
      const GroupId src = group_of[at(op)];
      const GroupId dst = group_of[at(edge.dst)];
      if (src != dst) crossings.push_back({src, dst, edge.tensor});
    }
  }
  std::sort(crossings.begin(), crossings.end());
  crossings.erase(std::unique(crossings.begin(), crossings.end()), crossings.end());
  return crossings;
}

/// The quotient graph's edges, by (src, dst).
std::vector<Groups::Edge> quotient_edges(const Graph& graph, std::span<const GroupId> group_of) {
  std::vector<Groups::Edge> edges;
  for (const Crossing& crossing : distinct_crossings(graph, group_of)) {
    if (edges.empty() || edges.back().src != crossing.src || edges.back().dst != crossing.dst) {
      edges.push_back({crossing.src, crossing.dst, 0, 0});
    }
    if (crossing.tensor == kNoTensor) continue;
    ++edges.back().tensors;
    // The sum of all tensors of a graph fits (GraphBuilder::build).
    edges.back().bytes += graph.bytes(crossing.tensor);
  }
  return edges;
}

/// `edges` by one of their ends, in their order within each row.
Rows<Groups::Edge> by_end(std::size_t count, std::span<const Groups::Edge> edges,
                          GroupId Groups::Edge::*end) {
  return Rows<Groups::Edge>::collect(count, [&](const auto& report) {
    for (const Groups::Edge& edge : edges) report(edge.*end, edge);
  });
}

/// Mean position of each group's members in the graph's topological order.
std::vector<double> mean_positions(const Graph& graph, std::span<const GroupId> group_of,
                                   GroupId count) {
  std::vector<double> sum(at(count), 0);
  std::vector<double> size(at(count), 0);
  double position = 0;
  for (const OpId op : graph.topological_order()) {
    sum[at(group_of[at(op)])] += position++;
    size[at(group_of[at(op)])] += 1;
  }
  for (std::size_t group = 0; group < sum.size(); ++group) sum[group] /= size[group];
  return sum;
}

/// Position in the graph's topological order of each label's first op. `label_of` [ops], from 0.
std::vector<double> first_positions(const Graph& graph, std::span<const GroupId> label_of,
                                    GroupId count) {
  std::vector<double> first(at(count), -1);
  double position = 0;
  for (const OpId op : graph.topological_order()) {
    double& own = first[at(label_of[at(op)])];
    if (own < 0) own = position;
    ++position;
  }
  return first;
}

/// The edges that remain where co-location closes cycles: those of ops whose co-location class begins
/// no later than that of the op they lead to. From the gradient beside its op an edge leads back to
/// the classes of earlier ops.
std::vector<Groups::Edge> edges_of_forward_classes(const Graph& graph,
                                                   std::span<const GroupId> group_of) {
  std::vector<GroupId> class_of(at(graph.op_count()));
  std::unordered_map<std::string_view, GroupId> by_name;
  GroupId next = 0;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const std::string& name = graph.colocation(op);
    class_of[at(op)] = name.empty() ? next : by_name.try_emplace(name, next).first->second;
    if (class_of[at(op)] == next) ++next;
  }
  const std::vector<double> first = first_positions(graph, class_of, next);
  std::vector<Groups::Edge> edges;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    for (const berth::Edge& edge : graph.out_edges(op)) {
      const GroupId src = group_of[at(op)], dst = group_of[at(edge.dst)];
      if (src == dst || first[at(class_of[at(op)])] > first[at(class_of[at(edge.dst)])]) continue;
      edges.push_back({src, dst, 0, 0});
    }
  }
  return edges;
}

/// The groups in a topological order, the lowest position first among those that could come next;
/// fewer where a cycle is left.
std::vector<GroupId> topological(const std::vector<Groups::Edge>& edges,
                                 const std::vector<double>& position) {
  const auto count = static_cast<GroupId>(position.size());
  const Rows<Groups::Edge> out_edges = by_end(position.size(), edges, &Groups::Edge::src);
  std::vector<std::int32_t> waiting_for(at(count), 0);
  for (const Groups::Edge& edge : edges) ++waiting_for[at(edge.dst)];

  using Entry = std::pair<double, GroupId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (GroupId group = 0; group < count; ++group) {
    if (waiting_for[at(group)] == 0) ready.emplace(position[at(group)], group);
  }
  std::vector<GroupId> order;
  while (!ready.empty()) {
    const GroupId group = ready.top().second;
    ready.pop();
    order.push_back(group);
    for (const Groups::Edge& edge : out_edges[group]) {
      if (--waiting_for[at(edge.dst)] == 0) ready.emplace(position[at(edge.dst)], edge.dst);
    }
  }
  return order;
}

/// The groups in their order: topological where that is possible (`acyclic` says), else of the edges
/// that run with co-location classes, else by the first member.
std::vector<GroupId> ordered(const Graph& graph, std::span<const GroupId> group_of, GroupId count,
                             const std::vector<Groups::Edge>& edges, bool& acyclic) {
  std::vector<GroupId> order = topological(edges, mean_positions(graph, group_of, count));
  acyclic = order.size() == at(count);
  if (acyclic) return order;
  const std::vector<double> first = first_positions(graph, group_of, count);
  order = topological(edges_of_forward_classes(graph, group_of), first);
  if (order.size() == at(count)) return order;
  order.resize(at(count));
  std::iota(order.begin(), order.end(), GroupId{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](GroupId a, GroupId b) { return first[at(a)] < first[at(b)]; });
  return order;
}

}  // namespace

struct Groups::Data {
  std::vector<GroupId> group_of;
  Rows<OpId> members;
  Rows<Edge> out_edges, in_edges;
  bool acyclic = true;
};

Groups::Groups(const Graph& graph, std::vector<GroupId> group_of) {
  auto data = std::make_shared<Data>();
  const GroupId count = make_dense(graph, group_of);
  std::vector<Edge> edges = quotient_edges(graph, group_of);
  const std::vector<GroupId> order = ordered(graph, group_of, count, edges, data->acyclic);
  std::vector<GroupId> number(order.size());
  for (GroupId i = 0; i < count; ++i) number[at(order[at(i)])] = i;

  for (GroupId& group : group_of) group = number[at(group)];
  for (Edge& edge : edges) {
    edge = {number[at(edge.src)], number[at(edge.dst)], edge.bytes, edge.tensors};
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return std::tie(a.src, a.dst) < std::tie(b.src, b.dst);
  });
  data->out_edges = by_end(at(count), edges, &Edge::src);
  data->in_edges = by_end(at(count), edges, &Edge::dst);
  data->members = Rows<OpId>::collect(at(count), [&](const auto& report) {
    for (const OpId op : graph.topological_order()) report(group_of[at(op)], op);
  });
  data->group_of = std::move(group_of);
  data_ = std::move(data);
}

GroupId Groups::count() const noexcept {
  return static_cast<GroupId>(data_->members.size());
}
GroupId Groups::of(OpId op) const noexcept {
  return data_->group_of[at(op)];
}
std::span<const GroupId> Groups::map() const noexcept {
  return data_->group_of;
}
std::span<const OpId> Groups::members(GroupId group) const noexcept {
  return data_->members[group];
}
bool Groups::acyclic() const noexcept {
  return data_->acyclic;
}
std::span<const Groups::Edge> Groups::out_edges(GroupId group) const noexcept {
  return data_->out_edges[group];
}
std::span<const Groups::Edge> Groups::in_edges(GroupId group) const noexcept {
  return data_->in_edges[group];
}

Placement Groups::expand(const GroupPlacement& placement) const {
  groups::require_device_per_group(placement, *this);
  Placement result(data_->group_of.size());
  std::transform(data_->group_of.begin(), data_->group_of.end(), result.begin(),
                 [&](GroupId group) { return placement[group]; });
  return result;
}

void groups::require_device_per_group(const GroupPlacement& placement, const Groups& groups) {
  if (placement.size() == at(groups.count())) return;
  throw Error(ErrorCode::invalid_argument,
              cat("a placement of ", groups.count(),
                  " groups needs a device for each of them, and has ", placement.size()));
}

}  // namespace berth
