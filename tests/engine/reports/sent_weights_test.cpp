// A step in which a host keeps weights for a GPU: the outcome and what is written of it.
#include <doctest/doctest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "berth/bound_effort.h"
#include "berth/costs.h"
#include "berth/explanation.h"
#include "berth/files.h"
#include "berth/report.h"

namespace berth::test {
namespace {

using doctest::Approx;

constexpr DeviceId kHost = 0, kGpu = 1, kOther = 2;

/// first -> second -> third, each with weights of 60 bytes. To send them to the GPU, which computes for 4 us,
/// takes 6 us. The host's and the GPU's tensors are in one place; the other GPU is 1 us away.
Outcome outcome(const Placement& placement) {
  GraphBuilder builder("row");
  TensorInfo info;
  info.bytes = 60;
  TensorId last = kNoTensor;
  for (const std::string name : {"first", "second", "third"}) {
    const OpId op = builder.add_op(name, "Layer");
    if (last != kNoTensor) builder.add_input(op, last);
    builder.add_input(op, builder.add_parameter(info, name + ".weight"));
    last = builder.add_output(op, info);
  }
  std::vector<Device> devices = {{"cpu:0", "cpu"}, {"gpu:0", "gpu"}, {"gpu:1", "gpu"}};
  devices[kHost].host = true;
  devices[kGpu].memory_bytes = devices[kOther].memory_bytes = 200;
  std::vector<LinkSpec> links = {{"*", "*", 60e6, 0}};
  links.push_back({"cpu:0", "gpu:0", 1e18, 0});
  links.push_back({"gpu:0", "cpu:0", 1e18, 0});
  const auto cluster = Cluster("pair", devices, links).with_hosts_keeping_for(kGpu);
  const auto costs =
      std::make_shared<const Costs>(std::vector<std::vector<double>>{{10, 10, 10}, {4, 4, 4}},
                                    std::vector<std::int64_t>{}, "test");
  return simulated_outcome(std::make_shared<const Problem>(builder.build(), cluster, costs), {},
                           placement, BoundEffort::none);
}

}  // namespace

TEST_CASE("weights that a host keeps are a transfer, and the work is that of the GPU") {
  const Outcome step = outcome({kHost, kGpu, kOther});
  const StepTrace& trace = step.trace;
  CHECK(trace.runtime_us == Approx(19));
  const double starts_us[] = {6, 10, 15};
  for (std::size_t op = 0; op < 3; ++op) {
    CHECK(trace.op_start_us[op] == Approx(starts_us[op]));
    CHECK(trace.op_end_us[op] == Approx(starts_us[op] + 4));
  }
  REQUIRE(trace.transfers.size() == 2);
  const Transfer& weights = trace.transfers[0];
  CHECK(step.problem->graph().tensor_name(weights.tensor) == "first.weight");
  CHECK(std::pair(weights.src, weights.dst) == std::pair(kHost, kGpu));
  CHECK(weights.bytes == 60);
  CHECK(weights.start_us == 0);
  CHECK(weights.end_us == Approx(6));
  REQUIRE(trace.links.size() == 2);
  CHECK(std::pair(trace.links[0].src, trace.links[0].dst) == std::pair(kHost, kGpu));
  CHECK(trace.links[0].bytes == 60);
  CHECK(trace.links[0].busy_us == Approx(6));
  const double busy_us[] = {0, 8, 4};
  for (std::size_t d = 0; d < 3; ++d) {
    CHECK(step.evaluation.busy_us[d] == Approx(busy_us[d]));
    CHECK(trace.devices[d].busy_us == Approx(busy_us[d]));
    CHECK(trace.devices[d].idle_us == Approx(19 - busy_us[d]));
  }
  const PathShares shares = path_shares(trace);
  CHECK(shares.compute_us == Approx(12));
  CHECK(shares.transfer_us == Approx(7));
}

TEST_CASE("tensors of what a host keeps come from the GPU that works with them") {
  const Outcome step = outcome({kHost, kOther, kHost});
  CHECK(step.trace.runtime_us == Approx(26));
  REQUIRE(step.trace.transfers.size() == 4);
  for (const Transfer& transfer : step.trace.transfers) {
    CHECK((transfer.src == kHost) ==
          (transfer.dst == kGpu && transfer.end_us - transfer.start_us > 3));
  }
  REQUIRE(step.trace.critical_path.size() == 7);
  const std::vector<Stretch> path = stretches(step);
  for (const Stretch& stretch : path) CHECK((stretch.transfer >= 0 || stretch.device != kHost));
}

TEST_CASE("advice_text: weights that a host sends are what limits the step") {
  const std::string advice = advice_text(outcome({kHost, kHost, kGpu}));
  CHECK(advice.find("the weights that a host sends") != std::string::npos);
}

TEST_CASE("trace_json: the GPU runs what a host keeps, behind an arrow from its weights") {
  const Outcome step = outcome({kHost, kGpu, kOther});
  const auto trace = nlohmann::json::parse(trace_json(*step.problem, step.placement, step.trace));
  bool told = false;
  double sent_us = -1, taken_us = -1;
  for (const auto& event : trace["traceEvents"]) {
    if (event["name"] == "first") CHECK(event["tid"] == kGpu);
    told = told || event["name"] == "weights of first";
    if (event["ph"] == "s" && event["id"] == 0) sent_us = event["ts"];
    if (event["ph"] == "f" && event["id"] == 0) taken_us = event["ts"];
  }
  CHECK(told);
  CHECK(sent_us == 0);
  CHECK(taken_us == Approx(8));
}

}  // namespace berth::test
