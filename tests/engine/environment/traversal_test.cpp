#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "berth/sdk/environment.h"
#include "berth/sdk/observation.h"
#include "support/expect_error.h"
#include "support/random_graph.h"

using namespace berth;
using namespace berth::test;

namespace {

//   0 -> 1 -> 3
//   0 -> 2 -> 3,  4 alone
std::shared_ptr<const Groups> diamond() {
  GraphBuilder builder("diamond");
  TensorInfo info;
  info.bytes = 4;
  for (const char* const name : {"a", "b", "c", "d", "e"}) {
    builder.add_output(builder.add_op(name, "Op"), info);
  }
  builder.add_input(1, 0);
  builder.add_input(2, 0);
  builder.add_input(3, 1);
  builder.add_input(3, 2);
  return colocation_groups(*builder.build());
}

std::vector<GroupId> order_of(const Groups& groups, Traversal traversal, std::uint64_t seed = 1) {
  Random random(seed);
  return traversal_order(groups, traversal, random);
}

}  // namespace

TEST_CASE("orders of a diamond") {
  using Order = std::vector<GroupId>;
  const auto groups = diamond();
  CHECK(order_of(*groups, Traversal::topological) == Order{0, 1, 2, 3, 4});
  CHECK(order_of(*groups, Traversal::reverse) == Order{4, 3, 2, 1, 0});
  CHECK(order_of(*groups, Traversal::breadth_first) == Order{0, 4, 1, 2, 3});
  CHECK(order_of(*groups, Traversal::depth_first) == Order{0, 1, 3, 2, 4});
}

TEST_CASE("every order visits every group once") {
  Random random(2);
  for (int i = 0; i < 50; ++i) {
    const auto graph = random_graph(
        random, {.ops = 1 + static_cast<OpId>(random.below(40)), .colocate_chance = 0.3});
    const auto groups = colocation_groups(*graph);
    for (const Traversal traversal :
         {Traversal::topological, Traversal::reverse, Traversal::breadth_first,
          Traversal::depth_first, Traversal::random}) {
      std::vector<GroupId> order = order_of(*groups, traversal);
      CHECK(order == order_of(*groups, traversal));
      std::sort(order.begin(), order.end());
      std::vector<GroupId> all(static_cast<std::size_t>(groups->count()));
      std::iota(all.begin(), all.end(), GroupId{0});
      CHECK(order == all);
    }
  }
}

TEST_CASE("forward edges are those that run with the order of the groups") {
  Random random(3);
  std::size_t against = 0;
  for (int i = 0; i < 50; ++i) {
    const auto graph = random_graph(random, {.ops = 30, .colocate_chance = 0.4, .classes = 3});
    const auto groups = colocation_groups(*graph);
    std::size_t all = 0, in = 0, out = 0;
    for (GroupId group = 0; group < groups->count(); ++group) {
      for (const Groups::Edge& edge : groups->out_edges(group)) {
        ++(edge.dst > edge.src ? all : against);
      }
      for (const Groups::Edge& edge : forward_out_edges(*groups, group)) {
        CHECK(edge.src == group);
        CHECK(edge.dst > group);
        ++out;
      }
      for (const Groups::Edge& edge : forward_in_edges(*groups, group)) {
        CHECK(edge.dst == group);
        CHECK(edge.src < group);
        ++in;
      }
    }
    CHECK(out == all);
    CHECK(in == all);
  }
  CHECK(against > 0);
}

TEST_CASE("breadth and depth first follow edges that run with the order, on a cycle too") {
  // 0 -> 1 -> 2 -> 3 with 0 and 3 together: {0, 3} -> 1 -> 2, and back.
  GraphBuilder builder("cycle");
  TensorInfo info;
  info.bytes = 4;
  for (const char* const name : {"a", "b", "c", "d"}) {
    builder.add_output(builder.add_op(name, "Op"), info);
  }
  for (OpId op = 0; op < 3; ++op) builder.add_input(op + 1, op);
  builder.set_colocation(0, "x");
  builder.set_colocation(3, "x");
  const auto groups = colocation_groups(*builder.build());
  REQUIRE_FALSE(groups->acyclic());
  for (const Traversal traversal :
       {Traversal::topological, Traversal::breadth_first, Traversal::depth_first}) {
    CHECK(order_of(*groups, traversal) == std::vector<GroupId>{0, 1, 2});
  }
}

TEST_CASE("random orders depend on the seed") {
  Random random(2);
  const auto groups = colocation_groups(*random_graph(random, {.ops = 30}));
  CHECK(order_of(*groups, Traversal::random, 1) != order_of(*groups, Traversal::random, 2));
}

TEST_CASE("traversals have names") {
  for (const char* const name :
       {"topological", "reverse", "breadth_first", "depth_first", "random"}) {
    CHECK(traversal_name(traversal_from_name(name)) == name);
  }
  expect_error(ErrorCode::invalid_argument, {"no traversal 'topo'", "topological"},
               [] { static_cast<void>(traversal_from_name("topo")); });
}
