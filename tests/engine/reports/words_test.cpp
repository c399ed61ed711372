// The limit that a placement is said to have.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "berth/bound_effort.h"
#include "berth/costs.h"
#include "berth/explanation.h"

namespace berth::test {
namespace {

/// Two devices of one kind. Ops of 10 us, each of which reads the one before it, or none.
std::shared_ptr<const Problem> four_ops(bool in_a_row) {
  GraphBuilder builder("four");
  TensorInfo info;
  info.bytes = 100;
  TensorId last = kNoTensor;
  for (int i = 0; i < 4; ++i) {
    const OpId op = builder.add_op("op" + std::to_string(i), "Layer");
    if (in_a_row && last != kNoTensor) builder.add_input(op, last);
    last = builder.add_output(op, info);
    builder.set_cost(op, "gpu", 10);
  }
  const auto cluster = std::make_shared<const Cluster>(
      "two", std::vector<Device>{{"gpu:0", "gpu"}, {"gpu:1", "gpu"}},
      std::vector<LinkSpec>{{"*", "*", 1e9, 1}});
  auto graph = builder.build();
  auto costs = Costs::stated(*graph, *cluster);
  return std::make_shared<const Problem>(std::move(graph), cluster, std::move(costs));
}

/// One op before and one behind four that take 12 us each, on devices of one kind.
Outcome fork(int devices, const Placement& placement) {
  GraphBuilder builder("fork");
  TensorInfo info;
  info.bytes = 1;
  const auto add = [&](const std::string& name, double us) {
    const OpId op = builder.add_op(name, "Layer");
    builder.set_cost(op, "gpu", us);
    return op;
  };
  const OpId head = add("head", 40);
  const TensorId made = builder.add_output(head, info);
  std::vector<TensorId> results;
  for (int i = 0; i < 4; ++i) {
    const OpId op = add("branch" + std::to_string(i), 12);
    builder.add_input(op, made);
    results.push_back(builder.add_output(op, info));
  }
  const OpId tail = add("tail", 20);
  for (const TensorId result : results) builder.add_input(tail, result);
  std::vector<Device> machine;
  for (int i = 0; i < devices; ++i) machine.push_back({"gpu:" + std::to_string(i), "gpu"});
  const auto cluster = std::make_shared<const Cluster>(
      "some", std::move(machine), std::vector<LinkSpec>{{"*", "*", 1e12, 0.1}});
  auto graph = builder.build();
  auto costs = Costs::stated(*graph, *cluster);
  return simulated_outcome(
      std::make_shared<const Problem>(std::move(graph), cluster, std::move(costs)), {}, placement,
      BoundEffort::none);
}

Outcome on_one_device(bool in_a_row) {
  return simulated_outcome(four_ops(in_a_row), {}, Placement(4, 0), BoundEffort::none);
}

}  // namespace

TEST_CASE("advice_text: ops in a row are not to be spread, also where no bound is known") {
  CHECK(advice_text(on_one_device(false)).find("spreading the ops would help") !=
        std::string::npos);
  CHECK(advice_text(on_one_device(true)).starts_with("Limited by a chain of dependent ops"));
}

TEST_CASE("advice_text: a chain is said to limit only a step that is no longer than it") {
  // 84.1 us on two devices, 72.3 us on four: more of them do help.
  const std::string advice = advice_text(fork(2, {0, 0, 0, 1, 1, 1}));
  CHECK(advice.find("chain of dependent ops: faster") == std::string::npos);
  CHECK(advice.starts_with("No one thing limits the step: ops that waited for busy devices are "));
  CHECK(advice.find("the longest chain of dependent ops alone takes 85.6 %.") != std::string::npos);
}

TEST_CASE("advice_text: more devices are advised only where none that would do idles") {
  // Six ops that read nothing, three on each of two devices.
  const auto waiting = [](int devices) {
    GraphBuilder builder("branches");
    for (int i = 0; i < 6; ++i) {
      builder.set_cost(builder.add_op("op" + std::to_string(i), "Layer"), "gpu", 10);
    }
    std::vector<Device> machine;
    for (int i = 0; i < devices; ++i) machine.push_back({"gpu:" + std::to_string(i), "gpu"});
    const auto cluster = std::make_shared<const Cluster>("some", std::move(machine),
                                                         std::vector<LinkSpec>{{"*", "*", 1e9, 1}});
    auto graph = builder.build();
    auto costs = Costs::stated(*graph, *cluster);
    const auto problem =
        std::make_shared<const Problem>(std::move(graph), cluster, std::move(costs));
    Outcome outcome = simulated_outcome(problem, {}, {0, 0, 0, 1, 1, 1}, BoundEffort::none);
    return advice_text(outcome);
  };
  CHECK(waiting(2).find("more devices would help") != std::string::npos);
  CHECK(waiting(3).find("more devices") == std::string::npos);
  CHECK(waiting(3).find("idle meanwhile") != std::string::npos);
}

TEST_CASE("advice_text: a gap that shows as 0.0 % is none") {
  Outcome outcome = on_one_device(false);
  const double us = outcome.evaluation.objective_us;
  outcome.bound.us = us;
  CHECK(advice_text(outcome) == "Only another machine or cheaper ops would be faster.");
  outcome.bound.us = us / 1.0004;
  CHECK(gap_text(outcome).find("0.0 % above it") != std::string::npos);
  CHECK(advice_text(outcome) ==
        "Only another machine or cheaper ops would be faster by 0.1 % or more.");
  outcome.bound.us = us / 1.0006;
  CHECK(advice_text(outcome).find("spreading the ops would help") != std::string::npos);
}

}  // namespace berth::test
