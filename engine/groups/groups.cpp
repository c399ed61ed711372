#include "berth/groups.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <string>
#include <tuple>
#include <utility>

#include "berth/error.h"
#include "berth/support/text.h"

namespace berth {
namespace {

std::size_t at(std::int32_t id) {
  return static_cast<std::size_t>(id);
}

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

/// Offsets of each group's run in `edges`, which are sorted by `end_of`.
template <typename EndOf>
std::vector<std::int32_t> row_offsets(GroupId count, const std::vector<Groups::Edge>& edges,
                                      EndOf end_of) {
  std::vector<std::int32_t> begin(at(count) + 1, 0);
  for (const Groups::Edge& edge : edges) ++begin[at(end_of(edge)) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  return begin;
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

/// The new number of each group: topological where that is possible (`acyclic` says), the mean
/// position deciding among groups that could come next.
std::vector<GroupId> numbering(const std::vector<Groups::Edge>& edges,
                               const std::vector<double>& position, bool& acyclic) {
  const auto count = static_cast<GroupId>(position.size());
  const std::vector<std::int32_t> begin =
      row_offsets(count, edges, [](const Groups::Edge& e) { return e.src; });
  std::vector<std::int32_t> waiting_for(at(count), 0);
  for (const Groups::Edge& edge : edges) ++waiting_for[at(edge.dst)];

  using Entry = std::pair<double, GroupId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (GroupId group = 0; group < count; ++group) {
    if (waiting_for[at(group)] == 0) ready.emplace(position[at(group)], group);
  }
  std::vector<GroupId> number(at(count), kNoGroup);
  GroupId next = 0;
  while (!ready.empty()) {
    const GroupId group = ready.top().second;
    ready.pop();
    number[at(group)] = next++;
    for (std::int32_t e = begin[at(group)]; e < begin[at(group) + 1]; ++e) {
      const GroupId dst = edges[at(e)].dst;
      if (--waiting_for[at(dst)] == 0) ready.emplace(position[at(dst)], dst);
    }
  }
  acyclic = next == count;
  if (!acyclic) {
    std::vector<GroupId> order(at(count));
    std::iota(order.begin(), order.end(), GroupId{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](GroupId a, GroupId b) { return position[at(a)] < position[at(b)]; });
    for (GroupId i = 0; i < count; ++i) number[at(order[at(i)])] = i;
  }
  return number;
}

}  // namespace

Groups::Groups(const Graph& graph, std::vector<GroupId> group_of) : group_of_(std::move(group_of)) {
  const GroupId count = make_dense(graph, group_of_);
  out_edges_ = quotient_edges(graph, group_of_);
  const std::vector<GroupId> number =
      numbering(out_edges_, mean_positions(graph, group_of_, count), acyclic_);

  for (GroupId& group : group_of_) group = number[at(group)];
  for (Edge& edge : out_edges_)
    edge = {number[at(edge.src)], number[at(edge.dst)], edge.bytes, edge.tensors};
  std::sort(out_edges_.begin(), out_edges_.end(), [](const Edge& a, const Edge& b) {
    return std::tie(a.src, a.dst) < std::tie(b.src, b.dst);
  });
  in_edges_ = out_edges_;
  std::sort(in_edges_.begin(), in_edges_.end(), [](const Edge& a, const Edge& b) {
    return std::tie(a.dst, a.src) < std::tie(b.dst, b.src);
  });
  out_begin_ = row_offsets(count, out_edges_, [](const Edge& e) { return e.src; });
  in_begin_ = row_offsets(count, in_edges_, [](const Edge& e) { return e.dst; });

  begin_.assign(at(count) + 1, 0);
  for (const GroupId group : group_of_) ++begin_[at(group) + 1];
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  members_.resize(group_of_.size());
  std::vector<std::int32_t> next(begin_.begin(), begin_.end() - 1);
  for (const OpId op : graph.topological_order()) {
    members_[at(next[at(group_of_[at(op)])]++)] = op;
  }
}

std::span<const OpId> Groups::members(GroupId group) const noexcept {
  return std::span(members_).subspan(at(begin_[at(group)]),
                                     at(begin_[at(group) + 1] - begin_[at(group)]));
}

std::span<const Groups::Edge> Groups::out_edges(GroupId group) const noexcept {
  return std::span(out_edges_)
      .subspan(at(out_begin_[at(group)]), at(out_begin_[at(group) + 1] - out_begin_[at(group)]));
}

std::span<const Groups::Edge> Groups::in_edges(GroupId group) const noexcept {
  return std::span(in_edges_).subspan(at(in_begin_[at(group)]),
                                      at(in_begin_[at(group) + 1] - in_begin_[at(group)]));
}

std::vector<DeviceId> Groups::expand(std::span<const DeviceId> device_of_group) const {
  std::vector<DeviceId> placement(group_of_.size());
  std::transform(group_of_.begin(), group_of_.end(), placement.begin(),
                 [&](GroupId group) { return device_of_group[at(group)]; });
  return placement;
}

}  // namespace berth
