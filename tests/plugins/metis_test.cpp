#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "berth/random.h"
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
