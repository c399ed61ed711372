// Idle devices that are alike: one is tried, and its figures are the others' to the last digit.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "berth/costs.h"
#include "berth/explanation.h"
#include "berth/report.h"
#include "berth/support/index.h"
#include "support/random_problem.h"

namespace berth::test {
namespace {

/// Devices of one kind, two of them at each switch where there are some, and a far one.
std::shared_ptr<const Cluster> alike_devices(int count, bool switches) {
  std::vector<Device> devices;
  std::vector<LinkSpec> links{{"*", "*", 1e9, 2}};
  for (int i = 0; i < count; ++i) {
    const std::string name = "gpu:" + std::to_string(i);
    devices.push_back({name, "gpu", 1'000'000, 0, 0, 0, 0, 0, /*op_overhead_us=*/3});
    if (!switches) continue;
    const std::string channel = "switch" + std::to_string(i / 2);
    links.push_back({name, "*", 1e9, 2, {channel}});
  }
  const std::string far = devices.back().name;
  links.push_back({far, "*", 1e8, 5});
  links.push_back({"*", far, 1e8, 5});
  return std::make_shared<const Cluster>("alike", std::move(devices), links);
}

std::shared_ptr<const Problem> problem_on(Random& random, int devices, bool switches,
                                          ProblemOptions options) {
  const auto graph = random_graph(
      random, {.ops = 10, .edge_chance = 0.3, .control_chance = 0.2, .max_bytes = 200'000});
  const auto cluster = alike_devices(devices, switches);
  const auto costs = random_costs(random, *graph, *cluster);
  return std::make_shared<const Problem>(graph, cluster, costs, nullptr, options);
}

Placement on_some(Random& random, const Problem& problem, const std::vector<DeviceId>& used) {
  Placement placement;
  for (OpId op = 0; op < problem.graph().op_count(); ++op) {
    placement.push_back(used[random.below(used.size())]);
  }
  return placement;
}

}  // namespace

TEST_CASE("explain_op: what it tells of devices that it did not try is what an evaluation says") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    ProblemOptions options;
    options.objective = seed % 5 == 4 ? Objective::throughput : Objective::latency;
    options.semantics = seed % 3 == 2 ? Semantics::placeto : Semantics::dataflow;
    const auto problem = problem_on(random, 12, seed % 2 == 1, options);
    const Placement placement = on_some(random, *problem, {1, 6, 7});
    const Outcome outcome = simulated_outcome(problem, {}, placement);
    const auto evaluator = make_simulation_evaluator(problem, 1);
    for (OpId op = 0; op < problem->graph().op_count(); ++op) {
      const OpExplanation told = explain_op(outcome, op);
      REQUIRE(told.alternatives.size() == 11);
      for (const Alternative& other : told.alternatives) {
        CAPTURE(other.device);
        Placement moved = placement;
        for (const OpId each : told.together) moved[at(each)] = other.device;
        const Evaluation expected = evaluator->evaluate(moved);
        CHECK(other.evaluation.objective_us == expected.objective_us);
        CHECK(other.evaluation.excess_bytes == expected.excess_bytes);
        CHECK(other.evaluation.worst_device == expected.worst_device);
        CHECK(other.evaluation.peak_bytes == expected.peak_bytes);
        CHECK(other.evaluation.busy_us == expected.busy_us);
      }
    }
  }
}

TEST_CASE("report_html: of devices that are alike and idle one is tried, until it is to stop") {
  Random random(1);
  const auto problem = problem_on(random, 32, false, {});
  const Placement placement = on_some(random, *problem, {0, 1});
  const Report report{{{"mine", simulated_outcome(problem, {"a model", "somebody"}, placement)}},
                      {}};
  int asked = 0;
  const std::string page = report_html(report, [&] {
    ++asked;
    return false;
  });
  // The other one that is used, one for the 29 that are alike, and the far one.
  CHECK(asked == 3 * problem->finest_groups()->count());
  CHECK(page.find("\"all\":true,\"units\":[{") != std::string::npos);

  int left = 4;
  const std::string stopped = report_html(report, [&] { return left-- == 0; });
  CHECK(left == -1);
  CHECK(stopped.find("\"all\":false,\"units\":[{") != std::string::npos);
  const std::string at_once = report_html(report, [] { return true; });
  CHECK(at_once.find("\"all\":false,\"units\":[]") != std::string::npos);
}

}  // namespace berth::test
