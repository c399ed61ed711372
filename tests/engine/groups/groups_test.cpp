#include "berth/groups.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <type_traits>

#include "berth/error.h"
#include "support/random_graph.h"

using namespace berth;
using namespace berth::test;

// Devices by group are no devices by op, and the other way round.
static_assert(!std::is_convertible_v<GroupPlacement, Placement>);
static_assert(!std::is_convertible_v<Placement, GroupPlacement>);
static_assert(!std::is_convertible_v<GroupPlacement, std::span<const DeviceId>>);

namespace {

TensorInfo sized(std::int64_t bytes) {
  TensorInfo info;
  info.bytes = bytes;
  return info;
}

/// a -> {b, c} -> d; a's one tensor (8 bytes) goes to both, b and c send 2 and 3 bytes to d.
std::shared_ptr<const Graph> diamond() {
  GraphBuilder builder("diamond");
  for (const char* name : {"a", "b", "c", "d"}) builder.add_op(name, "Op");
  const TensorId a = builder.add_output(0, sized(8));
  const TensorId b = builder.add_output(1, sized(2));
  const TensorId c = builder.add_output(2, sized(3));
  builder.add_input(1, a);
  builder.add_input(2, a);
  builder.add_input(3, b);
  builder.add_input(3, c);
  builder.add_control_edge(0, 3);
  return builder.build();
}

/// What the quotient edges must be, computed the slow way.
std::map<std::pair<GroupId, GroupId>, std::pair<std::int64_t, std::int32_t>> expected_edges(
    const Graph& graph, const Groups& groups) {
  std::map<std::pair<GroupId, GroupId>, std::set<TensorId>> tensors;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    for (const Edge& edge : graph.in_edges(op)) {
      if (groups.of(edge.src) != groups.of(op)) {
        tensors[{groups.of(edge.src), groups.of(op)}].insert(edge.tensor);
      }
    }
  }
  std::map<std::pair<GroupId, GroupId>, std::pair<std::int64_t, std::int32_t>> edges;
  for (const auto& [ends, set] : tensors) {
    auto& [bytes, count] = edges[ends];
    for (const TensorId tensor : set) {
      if (tensor == kNoTensor) continue;
      bytes += graph.bytes(tensor);
      ++count;
    }
  }
  return edges;
}

void check_invariants(const Graph& graph, const Groups& groups) {
  std::vector<int> seen(static_cast<std::size_t>(graph.op_count()), 0);
  std::vector<std::size_t> position(seen.size());
  for (std::size_t i = 0; i < position.size(); ++i) {
    position[static_cast<std::size_t>(graph.topological_order()[i])] = i;
  }
  std::map<std::pair<GroupId, GroupId>, std::pair<std::int64_t, std::int32_t>> out;
  std::map<std::pair<GroupId, GroupId>, std::pair<std::int64_t, std::int32_t>> in;
  bool all_forward = true;
  for (GroupId group = 0; group < groups.count(); ++group) {
    REQUIRE_FALSE(groups.members(group).empty());
    std::size_t last = 0;
    for (const OpId op : groups.members(group)) {
      CHECK(groups.of(op) == group);
      CHECK(position[static_cast<std::size_t>(op)] >= last);
      last = position[static_cast<std::size_t>(op)];
      ++seen[static_cast<std::size_t>(op)];
    }
    GroupId previous = -1;
    for (const Groups::Edge& edge : groups.out_edges(group)) {
      CHECK(edge.src == group);
      CHECK(edge.dst > previous);
      previous = edge.dst;
      all_forward = all_forward && edge.dst > edge.src;
      out[{edge.src, edge.dst}] = {edge.bytes, edge.tensors};
    }
    previous = -1;
    for (const Groups::Edge& edge : groups.in_edges(group)) {
      CHECK(edge.dst == group);
      CHECK(edge.src > previous);
      previous = edge.src;
      in[{edge.src, edge.dst}] = {edge.bytes, edge.tensors};
    }
  }
  CHECK(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
  CHECK(out == expected_edges(graph, groups));
  CHECK(in == out);
  if (groups.acyclic()) CHECK(all_forward);
}

}  // namespace

TEST_CASE("Groups: quotient graph of a diamond") {
  const auto graph = diamond();

  SUBCASE("labels are renumbered in topological order") {
    const Groups groups(*graph, {7, 3, 3, 100});
    CHECK(groups.count() == 3);
    CHECK(groups.acyclic());
    CHECK(std::vector<GroupId>(groups.map().begin(), groups.map().end()) ==
          std::vector<GroupId>{0, 1, 1, 2});
    // a's tensor is sent to {b, c} once; a -> d is a control edge.
    REQUIRE(groups.out_edges(0).size() == 2);
    CHECK(groups.out_edges(0)[0].bytes == 8);
    CHECK(groups.out_edges(0)[0].tensors == 1);
    CHECK(groups.out_edges(0)[1].dst == 2);
    CHECK(groups.out_edges(0)[1].bytes == 0);
    CHECK(groups.out_edges(0)[1].tensors == 0);
    CHECK(groups.out_edges(1)[0].bytes == 5);
    CHECK(groups.out_edges(1)[0].tensors == 2);
    CHECK(groups.out_edges(2).empty());
    CHECK(groups.in_edges(2).size() == 2);
    CHECK(groups.expand({5, 6, 7}) == Placement{5, 6, 6, 7});
    check_invariants(*graph, groups);
  }
  SUBCASE("a cyclic quotient is said to be one and numbered by the first members") {
    const Groups groups(*graph, {1, 2, 0, 1});  // a and d together
    CHECK_FALSE(groups.acyclic());
    CHECK(groups.of(0) == 0);
    CHECK(groups.of(1) == 1);
    CHECK(groups.of(2) == 2);
    check_invariants(*graph, groups);
  }
  SUBCASE("one group has no edges") {
    const Groups groups(*graph, {4, 4, 4, 4});
    CHECK(groups.count() == 1);
    CHECK(groups.out_edges(0).empty());
    CHECK(groups.in_edges(0).empty());
  }
}

TEST_CASE("Groups: bad maps are refused") {
  const auto graph = diamond();
  CHECK_THROWS_WITH_AS(Groups(*graph, {0, 1, 2}),
                       "a grouping of graph 'diamond' needs one group for each of its 4 ops, and "
                       "has 3",
                       Error);
  CHECK_THROWS_WITH_AS(Groups(*graph, {0, 1, -1, 2}),
                       "op 'c' has group -1; groups are numbered from 0", Error);
}

TEST_CASE("Groups: devices for fewer or more groups than there are cannot be expanded") {
  const Groups groups(*diamond(), {0, 1, 1, 2});
  for (const std::size_t count : {0, 2, 4}) {
    CHECK_THROWS_WITH_AS(static_cast<void>(groups.expand(GroupPlacement(count, 0))),
                         ("a placement of 3 groups needs a device for each of them, and has " +
                          std::to_string(count))
                             .c_str(),
                         Error);
  }
}

TEST_CASE("Groups: invariants hold for random maps of random graphs") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const auto graph = random_graph(random, {.ops = static_cast<OpId>(1 + random.below(40))});
    std::vector<GroupId> map(static_cast<std::size_t>(graph->op_count()));
    const std::uint64_t labels = 1 + random.below(map.size());
    for (GroupId& group : map) group = static_cast<GroupId>(random.below(labels));
    check_invariants(*graph, Groups(*graph, map));
  }
}

TEST_CASE("colocation_groups: one group per op, classes together") {
  GraphBuilder builder("g");
  for (const char* name : {"a", "b", "c", "d"}) builder.add_op(name, "Op");
  builder.add_control_edge(0, 1);
  builder.add_control_edge(1, 2);
  builder.set_colocation(0, "x");
  builder.set_colocation(2, "x");
  const auto graph = builder.build();
  const auto groups = colocation_groups(*graph);
  CHECK(groups->count() == 3);
  CHECK(groups->of(0) == groups->of(2));
  CHECK(groups->of(0) != groups->of(1));
  CHECK(groups->of(3) != groups->of(0));
  CHECK_FALSE(groups->acyclic());

  SUBCASE("random") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Random random(seed);
      const auto other = random_graph(random, {.ops = 25, .colocate_chance = 0.3, .classes = 3});
      const auto together = colocation_groups(*other);
      check_invariants(*other, *together);
      for (OpId a = 0; a < other->op_count(); ++a) {
        for (OpId b = 0; b < a; ++b) {
          const bool same =
              !other->colocation(a).empty() && other->colocation(a) == other->colocation(b);
          CHECK((together->of(a) == together->of(b)) == same);
        }
      }
    }
  }
}
