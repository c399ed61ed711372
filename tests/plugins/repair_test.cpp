#include "berth/sdk/repair.h"

#include <doctest/doctest.h>

#include "berth/sdk/random.h"
#include "common/spread.h"
#include "plugins/small_problem.h"

using namespace berth;
using namespace berth::policies;
using namespace berth::test;

TEST_CASE("keep_to_kinds: moves only what cannot run, to where it adds least") {
  // op1 cannot run on x; its neighbours and the wide tensor are on a and b. c is as fast as b.
  const auto problem =
      small_problem({{"a", "x"}, {"b", "y"}, {"c", "y"}}, {{{1, 1}}, {{kCannotRun, 1}}, {{1, 1}}},
                    {{0, 1, 5}, {1, 2, 50}});
  GroupPlacement placement{0, 0, 2};
  keep_to_kinds(*problem, placement);
  CHECK(placement == GroupPlacement{0, 2, 2});
  keep_to_kinds(*problem, placement);
  CHECK(placement == GroupPlacement{0, 2, 2});
}

TEST_CASE("repair: a device for every group, of the cluster, is asked for") {
  const auto problem = small_problem({{"a", "x"}, {"b", "x"}}, {{{1}}, {{1}}, {{1}}}, {});
  GroupPlacement placement{0, 1};
  CHECK_THROWS_WITH_AS(keep_to_kinds(*problem, placement),
                       "a placement of 3 groups needs a device for each of them, and has 2", Error);
  for (const DeviceId device : {kNoDevice, DeviceId{2}}) {
    placement = {0, device, 1};
    CHECK_THROWS_WITH_AS(keep_to_parameters(*problem, placement),
                         doctest::Contains("group #1 is on device "), Error);
  }
}

TEST_CASE("keep_to_parameters: large groups stay, small ones move, and only as needed") {
  const std::vector<SmallOp> ops{{{1}, 60}, {{1}, 30}, {{1}, 30}};
  SUBCASE("nothing to do") {
    const auto problem = small_problem({{"a", "x", 120}, {"b", "x", 120}}, ops, {});
    GroupPlacement placement{0, 0, 0};
    keep_to_parameters(*problem, placement);
    CHECK(placement == GroupPlacement{0, 0, 0});
  }
  SUBCASE("one group too many") {
    const auto problem = small_problem({{"a", "x", 100}, {"b", "x", 100}}, ops, {});
    GroupPlacement placement{0, 0, 0};
    keep_to_parameters(*problem, placement);
    CHECK(placement == GroupPlacement{0, 0, 1});
  }
  SUBCASE("no room") {
    const auto problem = small_problem({{"a", "x", 70}, {"b", "x", 20}}, ops, {});
    GroupPlacement placement{0, 0, 0};
    CHECK_THROWS_WITH_AS(
        keep_to_parameters(*problem, placement),
        "the parameters do not fit: op 'op1' needs 30 B, and no device of cluster 'small' that can "
        "run it has that left (all parameters: 120 B); use more devices or larger ones",
        Error);
  }
}

TEST_CASE(
    "keep_to_parameters: groups that fill devices are packed where first fit leaves some out") {
  const auto bytes_on = [](const std::vector<SmallOp>& ops, const GroupPlacement& placement,
                           DeviceId device) {
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (placement.devices()[i] == device) bytes += ops[i].param_bytes;
    }
    return bytes;
  };
  SUBCASE("a few, which fill all") {
    // First fit has 6 with 4, where 5 and 3 then find no room for the last 3.
    const std::vector<SmallOp> ops{{{1}, 6}, {{1}, 5}, {{1}, 4}, {{1}, 3}, {{1}, 3}, {{1}, 3}};
    const auto problem = small_problem({{"a", "x", 12}, {"b", "x", 12}}, ops, {});
    GroupPlacement placement{0, 0, 0, 0, 0, 0};
    keep_to_parameters(*problem, placement);
    CHECK(bytes_on(ops, placement, 0) == 12);
    CHECK(bytes_on(ops, placement, 1) == 12);
  }
  SUBCASE("devices of several sizes and kinds") {
    constexpr double no = kCannotRun;
    const std::vector<SmallOp> ops{
        {{1, no}, 5}, {{1, 1}, 7}, {{1, 1}, 4}, {{1, 1}, 4}, {{no, 1}, 6}};
    const auto problem = small_problem({{"a", "x", 9}, {"b", "y", 10}, {"c", "y", 7}}, ops, {});
    GroupPlacement placement{0, 0, 0, 0, 0};
    keep_to_parameters(*problem, placement);
    CHECK(placement.devices()[0] == 0);
    CHECK(placement.devices()[1] == 2);
    for (DeviceId device = 0; device < 3; ++device) {
      CHECK(bytes_on(ops, placement, device) <= problem->memory_bytes(device));
    }
  }
  SUBCASE("many, drawn so that a way exists") {
    Random random(7);
    constexpr std::int64_t kMemory = 1000000;
    constexpr DeviceId kDevices = 12;
    std::vector<SmallDevice> devices;
    std::vector<SmallOp> ops;
    for (DeviceId device = 0; device < kDevices; ++device) {
      devices.push_back({"d" + std::to_string(device), "x", kMemory});
      std::int64_t left = kMemory - 3000;
      for (int i = 0; i < 3; ++i) {
        const auto bytes =
            static_cast<std::int64_t>((0.2 + 0.5 * random.uniform()) * static_cast<double>(left));
        ops.push_back({{1}, bytes});
        left -= bytes;
      }
      ops.push_back({{1}, left});
    }
    const auto problem = small_problem(devices, ops, {});
    GroupPlacement placement(ops.size(), 0);
    keep_to_parameters(*problem, placement);
    for (DeviceId device = 0; device < kDevices; ++device) {
      CHECK(bytes_on(ops, placement, device) <= kMemory);
    }
  }
  SUBCASE("no way, though the sum would fit") {
    const std::vector<SmallOp> ops(10, {{1}, 51});
    std::vector<SmallDevice> devices;
    for (int i = 0; i < 9; ++i) devices.push_back({"d" + std::to_string(i), "x", 100});
    const auto problem = small_problem(devices, ops, {});
    GroupPlacement placement(ops.size(), 0);
    CHECK_THROWS_WITH_AS(keep_to_parameters(*problem, placement),
                         doctest::Contains("the parameters do not fit: op 'op9' needs 51 B"),
                         Error);
  }
  SUBCASE("a search that is given up proves nothing") {
    // Odd memories for even groups of many sizes: the last byte of each is left.
    Random random(3);
    std::vector<SmallOp> ops;
    std::int64_t sum = 0;
    for (int i = 0; i < 120; ++i) {
      const auto bytes = static_cast<std::int64_t>(2000000 + 2 * random.below(1000000));
      ops.push_back({{1}, bytes});
      sum += bytes;
    }
    std::vector<SmallDevice> devices;
    for (int i = 0; i < 8; ++i)
      devices.push_back({"d" + std::to_string(i), "x", (sum / 16) * 2 + 1});
    const auto problem = small_problem(devices, ops, {});
    GroupPlacement placement(ops.size(), 0);
    CHECK_THROWS_WITH_AS(
        keep_to_parameters(*problem, placement),
        doctest::Contains(
            "found no room for all of the parameters, and no proof that there is none: "
            "op "),
        Error);
  }
}

TEST_CASE("keep_to_parameters: a shared parameter counts once per device") {
  GraphBuilder builder("shared");
  TensorInfo weight;
  weight.bytes = 80;
  for (OpId op = 0; op < 2; ++op) builder.add_op("op" + std::to_string(op), "Op");
  const TensorId shared = builder.add_parameter(weight);
  builder.add_input(0, shared);
  builder.add_input(1, shared);
  Device a, b;
  a.name = "a";
  b.name = "b";
  a.kind = b.kind = "x";
  a.memory_bytes = b.memory_bytes = 100;
  const auto cluster = std::make_shared<const Cluster>(
      "two", std::vector<Device>{a, b}, std::vector<LinkSpec>{{"*", "*", 1e6, 0, {}}});
  const Problem problem(builder.build(), cluster,
                        std::make_shared<const Costs>(std::vector<std::vector<double>>{{1, 1}},
                                                      std::vector<std::int64_t>(), "test"));
  GroupPlacement placement{0, 0};
  keep_to_parameters(problem, placement);
  CHECK(placement == GroupPlacement{0, 0});
}

TEST_CASE("finish: outputs that overflow a device are moved by what an evaluation says") {
  // Two chains in step, so that their tensors are live together: 3 x 40 bytes on one device of 100.
  const std::vector<SmallOp> ops(8, {{1}});
  const std::vector<SmallEdge> edges{{0, 2, 40}, {1, 3, 40}, {2, 4, 40}, {3, 5, 40},
                                     {4, 6, 40}, {5, 7, 40}, {1, 2, 0},  {0, 3, 0},
                                     {3, 4, 0},  {2, 5, 0},  {5, 6, 0},  {4, 7, 0}};
  const auto problem = small_problem({{"a", "x", 100}, {"b", "x", 100}}, ops, edges);
  const auto evaluator = make_simulation_evaluator(problem, 1);
  const GroupPlacement all_on_one(8, 0);
  REQUIRE_FALSE(evaluator->evaluate(Placement(8, 0)).feasible);
  CHECK(evaluator->evaluate(repair_placement(*problem, *evaluator, all_on_one, true, {})).feasible);
  CHECK(repair_placement(*problem, *evaluator, all_on_one, false, {}) == Placement(8, 0));
}

TEST_CASE("finish: told to stop, it returns what is at hand, and goes on where nothing fits") {
  // As above; on `large` all would fit.
  const std::vector<SmallOp> ops(8, {{1}});
  const std::vector<SmallEdge> edges{{0, 2, 40}, {1, 3, 40}, {2, 4, 40}, {3, 5, 40},
                                     {4, 6, 40}, {5, 7, 40}, {1, 2, 0},  {0, 3, 0},
                                     {3, 4, 0},  {2, 5, 0},  {5, 6, 0},  {4, 7, 0}};
  PlaceContext context;
  context.should_stop = [] { return true; };
  const GroupPlacement all_on_one(8, 0);
  for (const std::int64_t third : {std::int64_t{100}, std::int64_t{1000}}) {
    CAPTURE(third);
    const auto problem =
        small_problem({{"a", "x", 100}, {"b", "x", 100}, {"c", "x", third}}, ops, edges);
    const auto evaluator = make_simulation_evaluator(problem, 1);
    context.initial.clear();
    const Placement found = repair_placement(*problem, *evaluator, all_on_one, true, context);
    CHECK(evaluator->evaluate(found).feasible);
    CHECK((found == Placement(8, 2)) == (third == 1000));
    // Given ones are first, unless they do not fit.
    const Placement fits{0, 1, 0, 1, 0, 1, 0, 1};
    context.initial = {Placement(8, 1), fits};
    CHECK(repair_placement(*problem, *evaluator, all_on_one, true, context) == fits);
    // What fits as it is needs nothing at hand.
    const GroupPlacement other{1, 0, 1, 0, 1, 0, 1, 0};
    CHECK(repair_placement(*problem, *evaluator, other, true, context) ==
          Placement{1, 0, 1, 0, 1, 0, 1, 0});
  }
}

TEST_CASE("finish: where outputs crowd every device, room is made on all of them at once") {
  // Layered graphs that a third of all placements or fewer fit.
  Random random(11);
  int possible = 0;
  int found = 0;
  for (int trial = 0; trial < 400; ++trial) {
    std::vector<SmallEdge> edges;
    for (OpId op = 2; op < 8; ++op) {
      for (OpId before = op - 2; before < op; ++before) {
        if (random.below(3) > 0) {
          edges.push_back({before, op, 10 + static_cast<std::int64_t>(random.below(60))});
        }
      }
    }
    const auto limit = static_cast<std::int64_t>(90 + random.below(60));
    const auto problem =
        small_problem({{"a", "x", limit}, {"b", "x", limit}, {"c", "x", limit / 2}},
                      std::vector<SmallOp>(8, {{1}}), edges);
    const auto evaluator = make_simulation_evaluator(problem, 1);
    int fitting = 0;
    for (int code = 0; code < 6561; code += 7) {
      Placement placement;
      for (int rest = code, op = 0; op < 8; ++op, rest /= 3) placement.push_back(rest % 3);
      fitting += evaluator->evaluate(placement).feasible ? 1 : 0;
    }
    if (fitting == 0 || fitting > 300) continue;
    ++possible;
    try {
      static_cast<void>(repair_placement(*problem, *evaluator, GroupPlacement(8, 0), true, {}));
      ++found;
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::infeasible);
    }
  }
  // Moving groups by what overflows, and nothing more, finds fewer.
  CAPTURE(found);
  REQUIRE(possible == 77);
  CHECK(found >= 57);
}

TEST_CASE("finish: memory that nothing can save is an error that says what is short") {
  const auto problem =
      small_problem({{"a", "x", 30}, {"b", "x", 30}}, {{{1}}, {{1}}}, {{0, 1, 100}});
  const auto evaluator = make_simulation_evaluator(problem, 1);
  try {
    static_cast<void>(repair_placement(*problem, *evaluator, {0, 0}, true, {}));
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::infeasible);
    const std::string what = error.what();
    CHECK(what.find("exceeds its memory by 70 B") != std::string::npos);
    // Its groups are as fine as can be, and the placement without repair is no better.
    CHECK(what.ends_with("; use more devices or larger ones"));
  }
}

TEST_CASE("spread_devices: hosts on request, or where there is nothing else") {
  const auto mixed = small_problem({{"cpu", "h", kNoLimit, true}, {"gpu", "g"}}, {{{1, 1}}}, {});
  CHECK(spread_devices(*mixed, false) == std::vector<DeviceId>{1});
  CHECK(spread_devices(*mixed, true) == std::vector<DeviceId>{0, 1});
  const auto hosts = small_problem({{"cpu", "h", kNoLimit, true}}, {{{1}}}, {});
  CHECK(spread_devices(*hosts, false) == std::vector<DeviceId>{0});
}
