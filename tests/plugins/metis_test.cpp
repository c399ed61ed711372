#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "berth/sdk/random.h"
#include "plugins/chains.h"

using namespace berth;
using namespace berth::test;

TEST_CASE("metis: heavy edges stay inside, compute is balanced, by either method") {
  const auto problem = chains(4, 16, {{"a", "x"}, {"b", "x"}, {"c", "x"}, {"d", "x"}}, {1});
  for (const char* method : {"kway", "recursive"}) {
    CAPTURE(method);
    const Placement placement = placed("metis", problem, {{"method", std::string(method)}});
    const auto devices = devices_of_chains(placement, 4, 16);
    CHECK(std::set<DeviceId>(devices.begin(), devices.end()) == std::set<DeviceId>{0, 1, 2, 3});
  }
}

TEST_CASE("metis: a device gets work in proportion to its speed") {
  const auto problem =
      small_problem({{"slow", "x"}, {"fast", "y"}}, std::vector<SmallOp>(400, {{3, 1}, 0}), {});
  for (const char* method : {"kway", "recursive"}) {
    CAPTURE(method);
    const Placement placement = placed("metis", problem, {{"method", std::string(method)}});
    const auto on_fast = std::count(placement.begin(), placement.end(), 1);
    CHECK(on_fast >= 285);
    CHECK(on_fast <= 315);
  }
}

namespace {

/// Columns of ops, each of which reads the one before it in its column and, in every other layer,
/// its neighbour's. Op `layer * columns + column`.
std::shared_ptr<const Problem> columns_problem(int columns, int layers,
                                               std::shared_ptr<const Cluster> cluster) {
  GraphBuilder builder("columns");
  TensorInfo info;
  info.bytes = 1000;
  std::vector<TensorId> before, outputs;
  for (int layer = 0; layer < layers; ++layer) {
    outputs.clear();
    for (int column = 0; column < columns; ++column) {
      const OpId op = builder.add_op(std::to_string(layer * columns + column), "Layer");
      builder.set_cost(op, "gpu", 10);
      if (layer > 0) {
        builder.add_input(op, before[static_cast<std::size_t>(column)]);
        if (layer % 2 == 0 && column > 0) {
          builder.add_input(op, before[static_cast<std::size_t>(column) - 1]);
        }
      }
      outputs.push_back(builder.add_output(op, info));
    }
    before = outputs;
  }
  auto graph = builder.build();
  auto costs = Costs::stated(*graph, *cluster);
  return std::make_shared<const Problem>(std::move(graph), std::move(cluster), std::move(costs));
}

/// Nodes of two GPUs; the devices of a node do not follow each other.
std::shared_ptr<const Cluster> nodes_of_two(int nodes) {
  std::vector<Device> devices;
  std::vector<LinkSpec> links{{"*", "*", 1e9, 20}};
  for (int gpu = 0; gpu < 2; ++gpu) {
    for (int node = 0; node < nodes; ++node) {
      devices.push_back({"n" + std::to_string(node) + "/gpu:" + std::to_string(gpu), "gpu"});
    }
  }
  for (int node = 0; node < nodes; ++node) {
    const std::string name = "n" + std::to_string(node) + "/gpu:";
    links.push_back({name + "0", name + "1", 1e11, 1});
    links.push_back({name + "1", name + "0", 1e11, 1});
  }
  return std::make_shared<const Cluster>("nodes", devices, links);
}

}  // namespace

TEST_CASE("metis: with phases, every device works in every part of the step") {
  constexpr int kColumns = 16, kLayers = 64, kPhases = 4;
  const auto problem = columns_problem(kColumns, kLayers, nodes_of_two(2));
  // The most that one device has of a quarter of the layers, in fair shares.
  const auto worst_share = [&](const Placement& placement) {
    double worst = 0;
    for (int phase = 0; phase < kPhases; ++phase) {
      std::vector<int> ops(4, 0);
      constexpr int kOps = kColumns * kLayers / kPhases;
      for (int i = 0; i < kOps; ++i)
        ++ops[static_cast<std::size_t>(placement[static_cast<std::size_t>(phase * kOps + i)])];
      worst = std::max(worst, 4.0 * *std::max_element(ops.begin(), ops.end()) / kOps);
    }
    return worst;
  };
  const Placement plain = placed("metis", problem);
  const Placement phased = placed("metis", problem, {{"phases", std::int64_t{kPhases}}});
  CHECK(worst_share(phased) < 1.25);
  const Simulator simulator(problem);
  Simulator::Workspace workspace;
  CHECK(simulator.runtime_us(phased, workspace) <= simulator.runtime_us(plain, workspace));
}

TEST_CASE("metis: bisection separates the nodes of a machine first") {
  constexpr int kColumns = 16, kLayers = 64;
  for (const int nodes : {2, 3}) {
    CAPTURE(nodes);
    const auto problem = columns_problem(kColumns, kLayers, nodes_of_two(nodes));
    const Placement placement = placed("metis", problem, {{"phases", std::int64_t{4}}});
    // Tensors between columns of different nodes: no more than borders between nodes make necessary,
    // with some room for a border that is not straight.
    int between_nodes = 0, between_devices = 0;
    const Graph& graph = problem->graph();
    for (OpId op = 0; op < graph.op_count(); ++op) {
      for (const Edge& edge : graph.in_edges(op)) {
        const DeviceId a = placement[static_cast<std::size_t>(edge.src)];
        const DeviceId b = placement[static_cast<std::size_t>(op)];
        between_devices += a != b ? 1 : 0;
        between_nodes += a % nodes != b % nodes ? 1 : 0;
      }
    }
    CHECK(between_nodes <= 2 * (nodes - 1) * kLayers / 2);
    CHECK(between_devices > between_nodes);
  }
}

TEST_CASE("metis: phases of groups of many ops, of costs of zero, and more phases than ops") {
  const auto problem = columns_problem(4, 8, nodes_of_two(2));
  for (const std::int64_t phases : {2, 8, 64}) {
    CAPTURE(phases);
    const auto grouped = std::make_shared<const Problem>(
        problem->shared_graph(), problem->shared_cluster(), problem->shared_costs(),
        coarsen(problem->graph(), *problem->shared_costs(), 6));
    for (const auto& each : {problem, grouped}) {
      const Placement placement = placed("metis", each, {{"phases", phases}});
      each->validate(placement);
    }
  }
  const auto free = small_problem({{"a", "x"}, {"b", "x"}}, std::vector<SmallOp>(9, {{0}, 0}), {});
  free->validate(placed("metis", free, {{"phases", std::int64_t{4}}}));
}

TEST_CASE("metis: hosts, kinds and few groups") {
  const std::vector<SmallDevice> machine{
      {"cpu", "host", kNoLimit, true}, {"gpu:0", "gpu"}, {"gpu:1", "gpu"}};
  const auto used = [](const Placement& placement) {
    return std::set<DeviceId>(placement.begin(), placement.end());
  };
  const auto problem = chains(3, 10, machine, {1, 1});
  CHECK(used(placed("metis", problem)) == std::set<DeviceId>{1, 2});
  CHECK(used(placed("metis", problem, {{"hosts", true}})) == std::set<DeviceId>{0, 1, 2});
  const auto choosy =
      small_problem(machine, {{{1, 1}}, {{1, kCannotRun}}, {{1, 1}}}, {{0, 1, 10}, {1, 2, 10}});
  CHECK(placed("metis", choosy)[1] == 0);
  // Fewer groups than devices: the fastest are used.
  const auto two =
      small_problem({{"slow", "x"}, {"fast", "y"}, {"fast too", "y"}}, {{{9, 1}}, {{9, 1}}}, {});
  CHECK(used(placed("metis", two)) == std::set<DeviceId>{1, 2});
}

TEST_CASE("metis: extreme weights and odd graphs") {
  const std::vector<SmallDevice> machine{{"a", "x"}, {"b", "y"}, {"c", "x"}};
  SUBCASE("costs over many decades, a device next to useless") {
    Random random(3);
    std::vector<SmallOp> ops;
    std::vector<SmallEdge> edges;
    for (OpId op = 0; op < 200; ++op) {
      const double us = random.uniform() < 0.5 ? 0 : 1e-6 + 1e12 * random.uniform();
      ops.push_back({{us, us * 1e-9}, 0});
      if (op > 0) {
        edges.push_back({static_cast<OpId>(random.below(static_cast<std::uint64_t>(op))), op,
                         static_cast<std::int64_t>(random.below(1ULL << 55))});
      }
    }
    CHECK(placed("metis", small_problem(machine, ops, edges)).size() == 200);
  }
  SUBCASE("a star and isolated ops") {
    std::vector<SmallEdge> edges;
    for (OpId op = 1; op < 60; ++op) edges.push_back({0, op, 1});
    const std::vector<SmallOp> ops(100, {{1, 1}, 0});
    CHECK(placed("metis", small_problem(machine, ops, edges)).size() == 100);
  }
  SUBCASE("hundreds of devices") {
    std::vector<SmallDevice> many;
    for (int d = 0; d < 300; ++d) many.push_back({"d" + std::to_string(d), "x"});
    const std::vector<SmallOp> ops(400, {{1}, 0});
    CHECK(placed("metis", small_problem(many, ops, {{0, 1, 10}})).size() == 400);
  }
}

TEST_CASE("metis: bad options") {
  const auto problem = chains(2, 8, {{"a", "x"}, {"b", "x"}}, {1});
  CHECK(complaint_of("metis", problem, ErrorCode::invalid_argument,
                     {{"method", std::string("magic")}}) ==
        "policy 'metis': option 'method' takes one of kway, recursive; got 'magic'");
  CHECK(complaint_of("metis", problem, ErrorCode::invalid_argument, {{"imbalance", 0.0}})
            .find("from 0.001 to 10") != std::string::npos);
}

TEST_CASE("metis: nothing is printed where parts are left without groups") {
  // Sixteen devices, and one group with nearly all of the work.
  std::vector<SmallDevice> machine;
  for (int d = 0; d < 16; ++d) machine.push_back({"d" + std::to_string(d), "x"});
  std::vector<SmallOp> ops(20, {{0.001}, 0});
  ops.front() = {{1e6}, 0};
  const auto problem = small_problem(machine, ops, {{0, 1, 10}, {1, 2, 10}});
  std::fflush(stdout);
  std::FILE* const caught = std::tmpfile();
  REQUIRE(caught != nullptr);
  const int out = dup(STDOUT_FILENO);
  dup2(fileno(caught), STDOUT_FILENO);
  for (const char* method : {"kway", "recursive"}) {
    static_cast<void>(placed("metis", problem, {{"method", std::string(method)}}));
  }
  std::fflush(stdout);
  dup2(out, STDOUT_FILENO);
  close(out);
  std::fseek(caught, 0, SEEK_END);
  CHECK(std::ftell(caught) == 0);
  std::fclose(caught);
}
