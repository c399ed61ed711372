#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "berth/sdk/random.h"
#include "plugins/small_problem.h"

using namespace berth;
using namespace berth::test;

namespace {

double largest_load(const Problem& problem, const Placement& placement) {
  std::vector<double> load(static_cast<std::size_t>(problem.cluster().device_count()), 0);
  for (OpId op = 0; op < problem.graph().op_count(); ++op) {
    const DeviceId device = placement[static_cast<std::size_t>(op)];
    load[static_cast<std::size_t>(device)] += problem.cost_us(op, device);
  }
  return *std::max_element(load.begin(), load.end());
}

bool parameters_fit(const Problem& problem, const Placement& placement) {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(problem.cluster().device_count()), 0);
  for (OpId op = 0; op < problem.graph().op_count(); ++op) {
    bytes[static_cast<std::size_t>(placement[static_cast<std::size_t>(op)])] +=
        problem.graph().param_bytes(op);
  }
  for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
    if (bytes[static_cast<std::size_t>(device)] > problem.cluster().device(device).memory_bytes) {
      return false;
    }
  }
  return true;
}

/// Whether each device's ops are one run of the chain.
bool contiguous(const Placement& placement) {
  std::vector<DeviceId> runs(placement.begin(), placement.end());
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  std::sort(runs.begin(), runs.end());
  return std::adjacent_find(runs.begin(), runs.end()) == runs.end();
}

/// The least largest load over all contiguous placements that the rules allow.
double best_load(const Problem& problem) {
  const auto ops = static_cast<std::size_t>(problem.graph().op_count());
  const DeviceId devices = problem.cluster().device_count();
  double best = std::numeric_limits<double>::infinity();
  Placement placement(ops, 0);
  while (true) {
    bool can_run = true;
    for (OpId op = 0; op < problem.graph().op_count(); ++op) {
      can_run =
          can_run && problem.cost_us(op, placement[static_cast<std::size_t>(op)]) < kCannotRun;
    }
    if (can_run && contiguous(placement) && parameters_fit(problem, placement)) {
      best = std::min(best, largest_load(problem, placement));
    }
    std::size_t digit = 0;
    while (digit < ops && ++placement[digit] == devices) placement[digit++] = 0;
    if (digit == ops) return best;
  }
}

}  // namespace

TEST_CASE("topo: the cut of a chain is the best over all cuts and device orders") {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const int count = 1 + static_cast<int>(random.below(7));
    const int kinds = 1 + static_cast<int>(random.below(2));
    std::vector<SmallDevice> devices;
    for (int d = 0; d < 1 + static_cast<int>(random.below(3)); ++d) {
      const std::int64_t memory = seed % 2 == 0 ? kNoLimit : 150 + 100 * (d % 2);
      devices.push_back({"d" + std::to_string(d), "k" + std::to_string(d % kinds), memory});
    }
    std::vector<SmallOp> ops;
    std::vector<SmallEdge> edges;
    for (int i = 0; i < count; ++i) {
      SmallOp op{{10 * random.uniform(), 10 * random.uniform()},
                 static_cast<std::int64_t>(random.below(100))};
      if (seed % 3 == 0 && devices.size() > 1 && kinds == 2 && random.uniform() < 0.2) {
        op.us[random.below(2)] = kCannotRun;
      }
      ops.push_back(op);
      if (i > 0) edges.push_back({i - 1, i, 0});
    }
    const auto problem = small_problem(devices, ops, edges);
    const double best = best_load(*problem);
    if (best == std::numeric_limits<double>::infinity()) continue;
    const Placement placement = placed("topo", problem, {{"repair", false}});
    CHECK(contiguous(placement));
    CHECK(parameters_fit(*problem, placement));
    CHECK(largest_load(*problem, placement) == doctest::Approx(best).epsilon(1e-9));
    ++compared;
  }
  CHECK(compared > 100);
}

TEST_CASE("topo: equal devices are used in the cluster's order, and no more than needed") {
  const std::vector<SmallDevice> devices{{"a", "x"}, {"b", "x"}, {"c", "x"}};
  const std::vector<SmallEdge> edges{{0, 1, 1}, {1, 2, 1}, {2, 3, 1}};
  const SmallOp one{{1}};
  CHECK(placed("topo", small_problem(devices, {one, one, one, one}, edges)) ==
        Placement{0, 0, 1, 1});
  const SmallOp nothing{{0}};
  CHECK(placed("topo", small_problem(devices, {nothing, nothing, one, nothing}, edges)) ==
        Placement{0, 0, 0, 0});
}

TEST_CASE("topo: hosts take what nothing else can run, and a part when asked") {
  const std::vector<SmallDevice> devices{{"cpu", "host", kNoLimit, true}, {"a", "x"}, {"b", "x"}};
  const std::vector<SmallEdge> edges{{0, 1, 1}, {1, 2, 1}, {2, 3, 1}};
  const SmallOp op{{1, 1}};
  CHECK(placed("topo", small_problem(devices, {op, {{1, kCannotRun}}, op, op}, edges))[1] == 0);
  CHECK(placed("topo", small_problem(devices, {op, op, op, op}, edges)) == Placement{1, 1, 2, 2});
  const Placement with_host =
      placed("topo", small_problem(devices, {op, op, op, op}, edges), {{"hosts", true}});
  CHECK(largest_load(*small_problem(devices, {op, op, op, op}, edges), with_host) == 2);
}

TEST_CASE("topo: kinds that alternate along the order are still placed") {
  const auto problem =
      small_problem({{"a", "x"}, {"b", "y"}},
                    {{{1, kCannotRun}}, {{kCannotRun, 1}}, {{1, kCannotRun}}, {{kCannotRun, 1}}},
                    {{0, 1, 1}, {1, 2, 1}, {2, 3, 1}});
  CHECK(placed("topo", problem) == Placement{0, 1, 0, 1});
}

TEST_CASE("topo: many different devices fall back to the cluster's order") {
  std::vector<SmallDevice> devices;
  std::vector<SmallOp> ops;
  std::vector<SmallEdge> edges;
  for (int i = 0; i < 14; ++i) {  // 2^14 orders of use: too many to search
    devices.push_back({"d" + std::to_string(i), "x", 1000 + i});
    ops.push_back({{1}, 1});
    if (i > 0) edges.push_back({i - 1, i, 0});
  }
  const Placement placement = placed("topo", small_problem(devices, ops, edges));
  for (std::size_t i = 0; i < placement.size(); ++i) {
    CHECK(placement[i] == static_cast<DeviceId>(i));
  }
}
