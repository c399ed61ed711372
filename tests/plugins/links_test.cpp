#include "auto/links.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "plugins/small_problem.h"

using namespace berth;
using namespace berth::policies::auto_policy;
using namespace berth::test;

namespace {

constexpr DeviceId kRing = 8;

/// Ops in a ring that send to both neighbours, on a machine whose device `stride * i` is next to that of i + 1.
std::shared_ptr<const Problem> ring(DeviceId stride, double far) {
  std::vector<SmallDevice> devices;
  std::vector<SmallOp> ops;
  std::vector<SmallEdge> edges;
  std::vector<LinkSpec> links{{"*", "*", far, 0, {}}};
  for (DeviceId d = 0; d < kRing; ++d) devices.push_back({std::to_string(d), "x"});
  for (OpId op = 0; op < 2 * kRing; ++op) ops.push_back({{1}});
  for (OpId op = 0; op < kRing; ++op) {
    edges.push_back({op, kRing + (op + 1) % kRing, 100});
    edges.push_back({(op + 1) % kRing, kRing + op, 100});
    const std::string here = std::to_string(stride * op % kRing);
    const std::string next = std::to_string(stride * (op + 1) % kRing);
    links.push_back({here, next, 1e6, 0, {}});
    links.push_back({next, here, 1e6, 0, {}});
  }
  return small_problem(devices, ops, edges, links);
}

}  // namespace

TEST_CASE("auto: devices that exchange much are mapped to quick links") {
  const auto problem = ring(3, 1e4);
  REQUIRE(has_unlike_links(*problem));
  Placement placement;
  for (OpId op = 0; op < 2 * kRing; ++op) placement.push_back(op % kRing);
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    CAPTURE(seed);
    const Placement found = mapped(*problem, placement, seed);
    CHECK(found == mapped(*problem, placement, seed));
    for (OpId op = 0; op < kRing; ++op) {
      CHECK(found[static_cast<std::size_t>(op)] == found[static_cast<std::size_t>(op + kRing)]);
      const DeviceId next = found[static_cast<std::size_t>((op + 1) % kRing)];
      CHECK(problem->cluster()
                .route(found[static_cast<std::size_t>(op)], next)
                .bandwidth_bytes_per_s == 1e6);
    }
  }
}

TEST_CASE("auto: the same problem with links alike") {
  CHECK_FALSE(has_unlike_links(*ring(3, 1e6)));
  const auto alike = with_links_alike(*ring(3, 1e4));
  CHECK_FALSE(has_unlike_links(*alike));
  CHECK(alike->cluster().route(0, 1).bandwidth_bytes_per_s == 1e4);
}

TEST_CASE("auto: devices with other memory do not take each other's part") {
  const auto problem =
      small_problem({{"a", "x", 100}, {"b", "x", 200}, {"c", "y"}}, {{{1, 1}}, {{1, 1}}},
                    {{0, 1, 9}}, {{"*", "*", 1e4, 0, {}}, {"a", "c", 1e6, 0, {}}});
  CHECK_FALSE(has_unlike_links(*problem));
  CHECK(mapped(*problem, Placement{1, 2}, 0) == Placement{1, 2});
}
