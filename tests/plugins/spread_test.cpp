// random and round_robin.
#include <doctest/doctest.h>

#include <algorithm>

#include "plugins/small_problem.h"

using namespace berth;
using namespace berth::test;

namespace {

const std::vector<SmallDevice> kMachine = {
    {"cpu", "host", kNoLimit, true}, {"gpu:0", "gpu"}, {"gpu:1", "gpu"}};

std::shared_ptr<const Problem> many_ops(int count, const std::vector<double>& us) {
  return small_problem(kMachine, std::vector<SmallOp>(static_cast<std::size_t>(count), {us, 0}),
                       {});
}

}  // namespace

TEST_CASE("round_robin: group i on device i mod n") {
  const auto problem = many_ops(5, {1, 1});
  CHECK(placed("round_robin", problem) == Placement{1, 2, 1, 2, 1});
  CHECK(placed("round_robin", problem, {{"hosts", true}}) == Placement{0, 1, 2, 0, 1});
}

TEST_CASE("round_robin: a device that cannot run the group is passed over") {
  const auto problem = small_problem(
      kMachine, {{{1, 1}}, {{1, kCannotRun}}, {{kCannotRun, 1}}, {{kCannotRun, 1}}}, {});
  CHECK(placed("round_robin", problem) == Placement{1, 0, 1, 2});
  CHECK(placed("round_robin", problem, {{"hosts", true}}) == Placement{0, 0, 2, 1});
}

TEST_CASE("random: uniform over the devices that can run the group") {
  const int ops = 3000;
  const auto share = [&](const Placement& placement, DeviceId device) {
    return static_cast<double>(std::count(placement.begin(), placement.end(), device)) / ops;
  };
  SUBCASE("hosts too") {
    const Placement placement = placed("random", many_ops(ops, {1, 1}));
    for (DeviceId device = 0; device < 3; ++device) {
      CHECK(share(placement, device) == doctest::Approx(1.0 / 3).epsilon(0.1).scale(0));
    }
  }
  SUBCASE("or without them") {
    const Placement placement = placed("random", many_ops(ops, {1, 1}), {{"hosts", false}});
    CHECK(share(placement, 0) == 0);
    CHECK(share(placement, 1) == doctest::Approx(0.5).epsilon(0.1).scale(0));
  }
  SUBCASE("what nothing else can run goes to the host") {
    const Placement placement =
        placed("random", many_ops(ops, {1, kCannotRun}), {{"hosts", false}});
    CHECK(share(placement, 0) == 1);
  }
  SUBCASE("the seed decides") {
    const auto problem = many_ops(ops, {1, 1});
    CHECK(placed("random", problem, {}, 4) == placed("random", problem, {}, 4));
    CHECK(placed("random", problem, {}, 4) != placed("random", problem, {}, 5));
  }
}

TEST_CASE("random: the best of many samples") {
  // Two independent ops of 5 us: 5 in parallel, 10 on one device, more on the host.
  const auto problem = small_problem(kMachine, {{{50, 5}}, {{50, 5}}}, {});
  const Placement placement = placed("random", problem, {{"samples", std::int64_t{200}}});
  CHECK(placement[0] != placement[1]);
  CHECK(placement[0] != 0);
  CHECK(placement[1] != 0);
  CHECK(complaint_of("random", problem, ErrorCode::invalid_argument,
                     {{"samples", std::int64_t{0}}}) ==
        "policy 'random': option 'samples' takes an integer >= 1; got '0'");
}
