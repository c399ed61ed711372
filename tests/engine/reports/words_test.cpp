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

Outcome on_one_device(bool in_a_row) {
  return simulated_outcome(four_ops(in_a_row), {}, Placement(4, 0), BoundEffort::none);
}

}  // namespace

TEST_CASE("advice_text: ops in a row are not to be spread, also where no bound is known") {
  CHECK(advice_text(on_one_device(false)).find("spreading the ops would help") !=
        std::string::npos);
  CHECK(advice_text(on_one_device(true)).starts_with("Limited by a chain of dependent ops"));
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
