#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "berth/sdk/random.h"
#include "plugins/chains.h"

using namespace berth;
using namespace berth::test;

TEST_CASE("scotch: heavy edges stay inside, compute is balanced") {
  const auto problem = chains(4, 16, {{"a", "x"}, {"b", "x"}, {"c", "x"}, {"d", "x"}}, {1});
  const auto devices = devices_of_chains(placed("scotch", problem), 4, 16);
  CHECK(std::set<DeviceId>(devices.begin(), devices.end()) == std::set<DeviceId>{0, 1, 2, 3});
}

TEST_CASE("scotch: a device gets work in proportion to its speed") {
  const auto problem =
      small_problem({{"slow", "x"}, {"fast", "y"}}, std::vector<SmallOp>(400, {{3, 1}, 0}), {});
  const Placement placement = placed("scotch", problem);
  const auto on_fast = std::count(placement.begin(), placement.end(), 1);
  CHECK(on_fast >= 290);
  CHECK(on_fast <= 310);
}

TEST_CASE("scotch: near devices get what talks to each other") {
  // Two fast pairs, (a, c) and (b, d). Chains 0-1 and 2-3 talk much, 1-2 little.
  std::vector<LinkSpec> links{{"*", "*", 1e6, 0, {}}};
  for (const auto& [from, to] : {std::pair("a", "c"), {"c", "a"}, {"b", "d"}, {"d", "b"}}) {
    links.push_back({from, to, 10e6, 0, {}});
  }
  std::vector<SmallOp> ops(32, {{1}, 0});
  std::vector<SmallEdge> edges;
  for (OpId op = 0; op < 32; ++op) {
    if (op % 8 > 0) edges.push_back({op - 1, op, 10000});
    if (op >= 8 && op < 16) edges.push_back({op - 8, op, 400});
    if (op >= 24) edges.push_back({op - 8, op, 400});
  }
  edges.push_back({8, 16, 1});
  const auto problem =
      small_problem({{"a", "x"}, {"b", "x"}, {"c", "x"}, {"d", "x"}}, ops, edges, links);
  const auto devices = devices_of_chains(placed("scotch", problem), 4, 8);
  REQUIRE(std::set<DeviceId>(devices.begin(), devices.end()) == std::set<DeviceId>{0, 1, 2, 3});
  CHECK(devices[0] % 2 == devices[1] % 2);
  CHECK(devices[2] % 2 == devices[3] % 2);
}

TEST_CASE("scotch and mincut: with and without the host") {
  const std::vector<SmallDevice> machine{
      {"cpu", "host", kNoLimit, true}, {"gpu:0", "gpu"}, {"gpu:1", "gpu"}};
  const auto problem = chains(3, 10, machine, {1, 1});
  const auto used = [](const Placement& placement) {
    return std::set<DeviceId>(placement.begin(), placement.end());
  };
  CHECK(used(placed("scotch", problem)) == std::set<DeviceId>{0, 1, 2});
  CHECK(used(placed("mincut", problem)) == std::set<DeviceId>{1, 2});

  SUBCASE("what only the host can run goes there under both") {
    const auto choosy =
        small_problem(machine, {{{1, 1}}, {{1, kCannotRun}}, {{1, 1}}}, {{0, 1, 10}, {1, 2, 10}});
    CHECK(placed("scotch", choosy)[1] == 0);
    CHECK(placed("mincut", choosy)[1] == 0);
  }
}

TEST_CASE("scotch: extreme weights and odd graphs") {
  const std::vector<SmallDevice> machine{{"a", "x"}, {"b", "y"}, {"c", "x"}};
  SUBCASE("costs and bytes over many decades") {
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
    CHECK(placed("scotch", small_problem(machine, ops, edges)).size() == 200);
  }
  SUBCASE("speeds and links over many decades") {
    std::vector<LinkSpec> links{
        {"*", "*", 1e3, 0, {}}, {"a", "b", 1e15, 0, {}}, {"c", "*", 1e9, 1e9, {}}};
    std::vector<SmallOp> ops(50, {{1e9, 1}, 0});
    CHECK(placed("scotch", small_problem(machine, ops, {{0, 1, 10}}, links)).size() == 50);
  }
  SUBCASE("a star and isolated ops") {
    std::vector<SmallOp> ops(100, {{1, 1}, 0});
    std::vector<SmallEdge> edges;
    for (OpId op = 1; op < 60; ++op) edges.push_back({0, op, 1});
    CHECK(placed("scotch", small_problem(machine, ops, edges)).size() == 100);
  }
  SUBCASE("hundreds of devices") {
    std::vector<SmallDevice> many;
    for (int d = 0; d < 300; ++d) many.push_back({"d" + std::to_string(d), "x"});
    std::vector<LinkSpec> links{{"*", "*", 1e6, 0, {}}, {"d0", "*", 1e7, 0, {}}};
    const std::vector<SmallOp> ops(40, {{1}, 0});
    CHECK(placed("scotch", small_problem(many, ops, {{0, 1, 10}}, links)).size() == 40);
  }
}

TEST_CASE("scotch: strategies and bad options") {
  const auto problem = chains(2, 8, {{"a", "x"}, {"b", "x"}}, {1});
  for (const char* strategy : {"default", "quality", "speed", "balance"}) {
    CAPTURE(strategy);
    CHECK(placed("scotch", problem, {{"strategy", std::string(strategy)}}).size() == 16);
  }
  CHECK(complaint_of("scotch", problem, ErrorCode::invalid_argument,
                     {{"strategy", std::string("magic")}}) ==
        "policy 'scotch': option 'strategy' takes one of default, quality, speed, balance; got "
        "'magic'");
  for (const double imbalance : {0.0, -1.0, 11.0}) {
    CHECK(complaint_of("mincut", problem, ErrorCode::invalid_argument, {{"imbalance", imbalance}})
              .find("takes a number > 0 and <= 10") != std::string::npos);
  }
}

TEST_CASE("scotch and mincut: what Scotch leaves without a processor gets one") {
  // With links this far apart and a fixed op, Scotch reports success and maps only some vertices.
  const auto free = small_problem({{"a", "ga"}, {"b", "gb"}}, {{{1, 1}}, {{1, 1}}}, {{0, 1, 10}},
                                  {{"a", "b", 0.001, 0, {}}, {"b", "a", 1e30, 0, {}}});
  ConstraintRule pin;
  pin.ops.push_back({"op1", {}, {}, {}});
  pin.devices = {"b"};
  const auto problem = std::make_shared<const Problem>(
      free->shared_graph(), free->shared_cluster(), free->shared_costs(), nullptr, ProblemOptions{},
      std::make_shared<const Constraints>(free->graph(), free->cluster(), free->costs(),
                                          std::vector<ConstraintRule>{pin}));
  for (const char* policy : {"scotch", "mincut"}) CHECK(placed(policy, problem)[1] == 1);
}
