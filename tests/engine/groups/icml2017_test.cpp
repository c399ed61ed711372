// The groupings of the published systems, on graphs worked by hand and as properties.
#include <doctest/doctest.h>

#include <algorithm>

#include "berth/error.h"
#include "berth/groups.h"
#include "support/layered_network.h"
#include "support/random_problem.h"

using namespace berth;
using namespace berth::test;

namespace {

std::shared_ptr<const Costs> uniform_costs(const Graph& graph) {
  return std::make_shared<const Costs>(std::vector<std::vector<double>>{std::vector<double>(
                                           static_cast<std::size_t>(graph.op_count()), 1)},
                                       std::vector<std::int64_t>(), "test");
}

struct Arrow {
  OpId src;
  OpId dst;
  std::int64_t bytes = 1;
};

/// Ops "0", "1", ...; ops with one class >= 0 must share a device.
std::shared_ptr<const Graph> plain_graph(OpId ops, const std::vector<Arrow>& arrows,
                                         const std::vector<int>& classes = {}) {
  GraphBuilder builder("plain");
  for (OpId op = 0; op < ops; ++op) builder.add_op(std::to_string(op), "Op");
  for (std::size_t op = 0; op < classes.size(); ++op) {
    if (classes[op] >= 0) {
      builder.set_colocation(static_cast<OpId>(op), std::to_string(classes[op]));
    }
  }
  for (const Arrow& arrow : arrows) {
    TensorInfo info;
    info.bytes = arrow.bytes;
    builder.add_input(arrow.dst, builder.add_output(arrow.src, info));
  }
  return builder.build();
}

std::vector<GroupId> map_of(const Groups& groups) {
  return {groups.map().begin(), groups.map().end()};
}

std::vector<GroupId> icml2017(const Graph& graph) {
  return map_of(*icml2017_groups(graph, *uniform_costs(graph)));
}

bool together(const Groups& groups, const Graph& graph, std::string_view a, std::string_view b) {
  return groups.of(graph.find_op(a).value()) == groups.of(graph.find_op(b).value());
}

bool is_coarser(const Groups& groups, const Groups& finest) {
  for (GroupId group = 0; group < finest.count(); ++group) {
    for (const OpId op : finest.members(group)) {
      if (groups.of(op) != groups.of(finest.members(group).front())) return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("icml2017: an op with one consumer joins it") {
  // 0 has two consumers; 1 -> 3, 2 -> 3, 3 -> 4.
  CHECK(icml2017(*plain_graph(5, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}})) ==
        std::vector<GroupId>{0, 1, 1, 1, 1});
  CHECK(icml2017(*plain_graph(3, {{0, 1}, {1, 2}})) == std::vector<GroupId>{0, 0, 0});
  CHECK(icml2017(*plain_graph(2, {})) == std::vector<GroupId>{0, 1});
}

TEST_CASE("icml2017: without a cycle among the classes, groups are not treated as ops") {
  // 1 joins 2, after which 0 would have one consumer, and everything would be one group.
  CHECK(icml2017(*plain_graph(4, {{0, 1}, {0, 2}, {1, 2}, {2, 3}, {0, 3}})) ==
        std::vector<GroupId>{0, 1, 1, 1});
}

TEST_CASE("icml2017: with gradients beside their ops, groups are ops of the next round") {
  // Forward 0 -> 1 -> 2 and back 3 -> 4 -> 5, where 5 is with 0, 4 with 1, 3 with 2. The ends have
  // the middle as their only consumer, and then there is one group.
  const std::vector<Arrow> chain = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}};
  const std::vector<int> classes = {0, 1, 2, 2, 1, 0};
  CHECK(icml2017(*plain_graph(6, chain, classes)) == std::vector<GroupId>(6, 0));

  // A norm over all gradients (6), which scales each (7, 8, 9), gives every class two consumers.
  std::vector<Arrow> clipped = chain;
  for (const OpId gradient : {3, 4, 5}) clipped.push_back({gradient, 6});
  for (const OpId scaled : {7, 8, 9}) clipped.push_back({6, scaled});
  std::vector<int> with_scaled = classes;
  with_scaled.insert(with_scaled.end(), {-1, 2, 1, 0});
  const auto graph = plain_graph(10, clipped, with_scaled);
  const auto groups = icml2017_groups(*graph, *uniform_costs(*graph));
  CHECK(groups->count() == 4);
  CHECK_FALSE(groups->acyclic());
}

TEST_CASE("icml2017: control edges count as consumption") {
  GraphBuilder builder("control");
  for (const char* name : {"a", "b", "c"}) builder.add_op(name, "Op");
  builder.add_input(1, builder.add_output(0, {}));
  builder.add_control_edge(0, 2);
  const auto graph = builder.build();
  CHECK(icml2017_groups(*graph, *uniform_costs(*graph))->count() == 3);
}

TEST_CASE("icml2017: every LSTM step is a group") {
  const auto graph = lstm_network(2, 3);
  const auto groups = icml2017_groups(*graph, *uniform_costs(*graph));
  for (const std::string step : {"0", "1", "2"}) {
    CHECK(together(*groups, *graph, "layer_0/" + step + "/concat", "layer_0/" + step + "/cell"));
    CHECK(together(*groups, *graph, "layer_0/" + step + "/concat", "embedding/" + step));
    CHECK_FALSE(
        together(*groups, *graph, "layer_0/" + step + "/concat", "layer_1/" + step + "/concat"));
  }
  CHECK_FALSE(together(*groups, *graph, "layer_0/0/concat", "layer_0/1/concat"));
  CHECK(groups->acyclic());
}

TEST_CASE("icml2017: convolutions in a row are a group, up to four, and branches stay apart") {
  const auto graph = branched_network(/*scopes=*/true);
  const auto groups = icml2017_groups(*graph, *uniform_costs(*graph));
  CHECK(
      together(*groups, *graph, "block_0/branch_2/conv_0/Conv2D", "block_0/branch_2/conv_2/Relu"));
  CHECK(together(*groups, *graph, "block_0/branch_3/pool", "block_0/branch_3/conv_0/weights"));
  CHECK_FALSE(together(*groups, *graph, "stem/Conv2D", "block_0/branch_0/conv_0/Conv2D"));
  CHECK(groups->acyclic());

  NetworkBuilder net("row");
  TensorId value = net.op("images", "Placeholder", {}, OpClass::none);
  for (int i = 0; i < 6; ++i) {
    value = net.conv("conv_" + std::to_string(i), value);
    net.op("summary_" + std::to_string(i), "Sum", {value}, OpClass::reduction);
  }
  const auto row = net.build();
  const auto of_row = icml2017_groups(*row, *uniform_costs(*row));
  CHECK(together(*of_row, *row, "conv_0/Conv2D", "conv_3/Conv2D"));
  CHECK_FALSE(together(*of_row, *row, "conv_3/Conv2D", "conv_4/Conv2D"));
  CHECK(together(*of_row, *row, "conv_4/Conv2D", "conv_5/Conv2D"));
}

TEST_CASE("placeto: the heaviest edge without a cycle merges first") {
  // From the groups {0}, {1}, {2}, {3}, {4}: the edge 0 -> 3 (9) would close a cycle over 1; 1 -> 3
  // (8) merges, which makes 0 -> 3 one of 9 + 3, then that.
  const std::vector<Arrow> arrows = {{0, 1, 3}, {0, 3, 9}, {1, 3, 8}, {1, 4, 2},
                                     {3, 4, 5}, {3, 2, 1}, {0, 2, 1}};
  const auto graph = plain_graph(5, arrows);
  const auto costs = uniform_costs(*graph);
  REQUIRE(icml2017_groups(*graph, *costs)->count() == 5);
  CHECK(map_of(*placeto_groups(*graph, *costs, 4)) == std::vector<GroupId>{0, 1, 2, 1, 3});
  CHECK(map_of(*placeto_groups(*graph, *costs, 3)) == std::vector<GroupId>{0, 0, 1, 0, 2});
  CHECK(map_of(*placeto_groups(*graph, *costs, 2)) == std::vector<GroupId>{0, 0, 1, 0, 0});
  CHECK(placeto_groups(*graph, *costs, 1)->count() == 1);
}

TEST_CASE("groupings: properties on random graphs") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const bool choosy = seed % 2 == 0;
    const auto graph = random_graph(random, {.ops = static_cast<OpId>(2 + random.below(80)),
                                             .edge_chance = 0.02 + 0.3 * random.uniform(),
                                             .reach = static_cast<OpId>(1 + random.below(20)),
                                             .control_chance = seed % 4 == 0 ? 0.3 : 0.0,
                                             .colocate_chance = seed % 3 == 0 ? 0.3 : 0.0,
                                             .classes = 4});
    const auto cluster = random_cluster(random, {.devices = 3, .kinds = 3});
    const auto costs = random_costs(random, *graph, *cluster, 100, choosy ? 0.3 : 0.0);
    const auto finest = colocation_groups(*graph);
    const auto icml = icml2017_groups(*graph, *costs);
    const auto count = static_cast<GroupId>(1 + random.below(10));
    const auto placeto = placeto_groups(*graph, *costs, count);
    CHECK(is_coarser(*icml, *finest));
    CHECK(is_coarser(*placeto, *icml));
    if (finest->acyclic()) {
      CHECK(icml->acyclic());
      CHECK(placeto->acyclic());
    }
    if (!choosy) CHECK(placeto->count() <= count);
    CHECK(placeto->count() >= std::min(count, icml->count()));
    CHECK(map_of(*icml) == map_of(*icml2017_groups(*graph, *costs)));
    CHECK(map_of(*placeto) == map_of(*placeto_groups(*graph, *costs, count)));
    // The constructor refuses a group that no kind can run.
    CHECK_NOTHROW(Problem(graph, cluster, costs, icml));
    CHECK_NOTHROW(Problem(graph, cluster, costs, placeto));
  }
}

TEST_CASE("groupings: no cycle on random networks of layers") {
  constexpr OpClass kClasses[] = {OpClass::convolution, OpClass::pooling,       OpClass::matmul,
                                  OpClass::elementwise, OpClass::data_movement, OpClass::none};
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    NetworkBuilder net("random");
    std::vector<TensorId> made;
    for (int i = 0; i < 60; ++i) {
      const OpClass op_class = kClasses[random.below(6)];
      std::vector<TensorId> inputs;
      for (std::size_t k = 0; !made.empty() && k < random.below(4); ++k) {
        const auto back = random.below(std::min<std::uint64_t>(made.size(), 8));
        inputs.push_back(made[made.size() - 1 - back]);
      }
      const bool join = op_class == OpClass::data_movement;
      const std::string type = join                          ? "ConcatV2"
                               : op_class == OpClass::none   ? "VariableV2"
                               : op_class == OpClass::matmul ? "MatMul"
                                                             : "Op";
      if (op_class == OpClass::none) inputs.clear();
      made.push_back(net.op("op" + std::to_string(i), type, inputs, op_class));
    }
    const auto graph = net.build();
    CHECK(icml2017_groups(*graph, *uniform_costs(*graph))->acyclic());
  }
}

TEST_CASE("groupings: large graphs, with one hub or every class on a cycle") {
  for (const bool cyclic : {false, true}) {
    CAPTURE(cyclic);
    Random random(1);
    constexpr OpId kOps = 30000;
    std::vector<Arrow> arrows;
    std::vector<int> classes;
    for (OpId op = 0; op < kOps; ++op) {
      // The second half mirrors the first, as gradients do.
      classes.push_back(cyclic ? std::min(op, kOps - 1 - op) : -1);
      if (op == 0) continue;
      const auto reach = static_cast<std::uint64_t>(std::min<OpId>(op, 50));
      arrows.push_back({op - 1 - static_cast<OpId>(random.below(reach)), op,
                        static_cast<std::int64_t>(random.below(1000))});
      if (op % 3 == 0) arrows.push_back({0, op, 1});
    }
    const auto graph = plain_graph(kOps, arrows, classes);
    const auto costs = uniform_costs(*graph);
    const auto icml = icml2017_groups(*graph, *costs);
    CHECK(is_coarser(*icml, *colocation_groups(*graph)));
    CHECK(placeto_groups(*graph, *costs, 128)->count() <= 128);
  }
}

TEST_CASE("groupings: names, counts and their errors") {
  const auto graph = plain_graph(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  const auto costs = uniform_costs(*graph);
  for (const Grouping grouping :
       {Grouping::colocation, Grouping::icml2017, Grouping::placeto, Grouping::balanced}) {
    CHECK(grouping_from_name(grouping_name(grouping)) == grouping);
  }
  CHECK(make_groups(*graph, *costs, {}, {})->count() == 4);
  CHECK(make_groups(*graph, *costs, {}, 3)->count() == 3);
  CHECK(make_groups(*graph, *costs, Grouping::icml2017, {})->count() == 2);
  CHECK(make_groups(*graph, *costs, Grouping::placeto, 1)->count() == 1);
  CHECK_THROWS_WITH_AS(static_cast<void>(make_groups(*graph, *costs, Grouping::placeto, {})),
                       doctest::Contains("say how many"), Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(make_groups(*graph, *costs, Grouping::icml2017, 5)),
                       doctest::Contains("leave out groups = 5"), Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(grouping_from_name("icml")), doctest::Contains("icml2017"),
                       Error);
  CHECK_THROWS_AS(static_cast<void>(placeto_groups(*graph, *costs, 0)), Error);
  const auto other = plain_graph(3, {});
  CHECK_THROWS_AS(static_cast<void>(icml2017_groups(*graph, *uniform_costs(*other))), Error);
}
