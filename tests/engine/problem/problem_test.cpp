#include "berth/problem.h"

#include <doctest/doctest.h>

#include <functional>
#include <limits>

#include "berth/error.h"

using namespace berth;

namespace {

/// a, b, c, d; b and c are co-located; b runs on x alone.
struct Parts {
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<const Cluster> cluster;
  std::shared_ptr<const Costs> costs;

  Parts() {
    GraphBuilder builder("four");
    for (const char* name : {"a", "b", "c", "d"}) builder.add_op(name, "Op");
    builder.set_colocation(1, "pair");
    builder.set_colocation(2, "pair");
    for (OpId op = 0; op < 4; ++op) builder.set_param_bytes(op, 10 + op);
    graph = builder.build();
    Device first, second;
    first.name = "first";
    first.kind = "x";
    second.name = "second";
    second.kind = "y";
    cluster = std::make_shared<const Cluster>("pair", std::vector<Device>{first, second},
                                              std::vector<LinkSpec>{{"*", "*", 1e9, 0, {}}});
    costs = make_costs({{1, 2, 3, 4}, {5, kCannotRun, 7, 8}});
  }

  static std::shared_ptr<const Costs> make_costs(std::vector<std::vector<double>> us) {
    return std::make_shared<const Costs>(std::move(us), std::vector<std::int64_t>(), "test");
  }
};

std::string error_of(ErrorCode code, const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("problems have equal options where all of them are") {
  CHECK(ProblemOptions{} == ProblemOptions{});
  CHECK(ProblemOptions{.objective = Objective::throughput} != ProblemOptions{});
  CHECK(ProblemOptions{.semantics = Semantics::placeto} != ProblemOptions{});
  CHECK(ProblemOptions{.device_gap_us = 1} != ProblemOptions{});
  CHECK(ProblemOptions{.transfer_gap_us = 1} != ProblemOptions{});
  CHECK(ProblemOptions{.in_flight = 2} != ProblemOptions{});
}

TEST_CASE("Problem: what it knows of groups") {
  const Parts parts;
  const Problem problem(parts.graph, parts.cluster, parts.costs);
  CHECK(problem.groups().count() == 3);
  const GroupId pair = problem.groups().of(1);
  CHECK(problem.group_cost_us(pair, 0) == 5);
  CHECK(problem.group_cost_us(pair, 1) == kCannotRun);
  CHECK(problem.can_run(pair, 0));
  CHECK_FALSE(problem.can_run(pair, 1));
  CHECK(problem.group_param_bytes(pair) == 23);
  CHECK(problem.cost_us(3, 1) == 8);
}

TEST_CASE("Problem: an op that no device runs by what they say is told with all that is missing") {
  GraphBuilder builder("small");
  TensorInfo info;
  info.dtype = DType::f64;
  info.bytes = 8;
  builder.add_output(builder.add_op("loop", "Loop"), info);
  const auto graph = builder.build();
  std::vector<Device> devices(2);
  devices[0].name = devices[0].kind = "first";
  devices[0].runs.types = {"Conv", "Relu"};
  devices[1].name = devices[1].kind = "second";
  devices[1].runs.dtypes = {DType::f16};
  const auto cluster = std::make_shared<const Cluster>(
      "pair", devices, std::vector<LinkSpec>{{"*", "*", 1e9, 0, {}}});
  const auto costs = Parts::make_costs({{1}, {1}});
  const std::string told = error_of(ErrorCode::infeasible, [&] { Problem(graph, cluster, costs); });
  CHECK(told.find("op 'loop' of type 'Loop' cannot run on any device of cluster 'pair' (first runs "
                  "no op of type 'Loop'; second runs nothing in f64)") != std::string::npos);
  devices[1].runs = {};
  const auto wider = std::make_shared<const Cluster>("pair", devices,
                                                     std::vector<LinkSpec>{{"*", "*", 1e9, 0, {}}});
  const Problem problem(graph, wider, costs);
  CHECK_FALSE(problem.can_run(0, 0));
  CHECK(problem.can_run(0, 1));
  const std::string placed =
      error_of(ErrorCode::invalid_argument, [&] { problem.validate(Placement{0}); });
  CHECK(placed.find("(kind 'first', which runs no op of type 'Loop')") != std::string::npos);
}

TEST_CASE("an op whose costs are stated for other kinds than there are names both") {
  GraphBuilder builder("g");
  builder.set_cost(builder.add_op("a", "Conv"), "gpu", 5);
  const auto graph = builder.build();
  std::vector<Device> devices(2);
  devices[0].name = devices[0].kind = "cpu";
  devices[1].name = "gpu:0";
  devices[1].kind = "k80";
  const auto cluster = std::make_shared<const Cluster>(
      "pair", devices, std::vector<LinkSpec>{{"*", "*", 1e9, 0, {}}});
  const auto costs = Costs::stated_or_roofline(*graph, *cluster);
  const std::string told = error_of(ErrorCode::infeasible, [&] { Problem(graph, cluster, costs); });
  CHECK(told.find("cannot run on any device of cluster 'pair' (it has costs for: gpu; the kinds of "
                  "the cluster's devices: cpu, k80)") != std::string::npos);
}

TEST_CASE("Problem: parts that do not belong together") {
  const Parts parts;
  const auto make = [&](const std::shared_ptr<const Costs>& costs,
                        const std::shared_ptr<const Groups>& groups, ProblemOptions options = {}) {
    return [=] { Problem(parts.graph, parts.cluster, costs, groups, options); };
  };
  const auto groups = [&](std::vector<GroupId> map) {
    return std::make_shared<const Groups>(*parts.graph, std::move(map));
  };
  constexpr ErrorCode kInvalid = ErrorCode::invalid_argument;
  CHECK(error_of(kInvalid, make(nullptr, nullptr)).find("missing") != std::string::npos);
  CHECK(error_of(kInvalid, make(Parts::make_costs({{1, 2, 3, 4}}), nullptr))
            .find("another graph or cluster") != std::string::npos);
  CHECK(error_of(kInvalid, make(Parts::make_costs({{1, 2}, {1, 2}}), nullptr))
            .find("another graph or cluster") != std::string::npos);
  CHECK(error_of(kInvalid, make(parts.costs, groups({0, 1, 2, 3}))) ==
        "the groups put op 'c' apart from others of its co-location class 'pair'; make them with "
        "coarsen or colocation_groups");
  ProblemOptions bad_gap;
  bad_gap.transfer_gap_us = -1;
  CHECK(error_of(kInvalid, make(parts.costs, nullptr, bad_gap)).find("gap") != std::string::npos);

  constexpr ErrorCode kInfeasible = ErrorCode::infeasible;
  CHECK(error_of(kInfeasible,
                 make(Parts::make_costs({{1, kCannotRun, 3, 4}, {5, kCannotRun, 7, 8}}), nullptr))
            .find("op 'b'") != std::string::npos);
  CHECK(error_of(kInfeasible,
                 make(Parts::make_costs({{1, kCannotRun, 3, 4}, {5, 6, kCannotRun, 8}}), nullptr))
            .find("'b' share no device kind") != std::string::npos);
}

TEST_CASE("Problem::validate: each thing that can be wrong with a placement") {
  const Parts parts;
  // Ops of a coarser group may be apart.
  const Problem problem(parts.graph, parts.cluster, parts.costs,
                        std::make_shared<const Groups>(*parts.graph, std::vector<GroupId>(4, 0)));
  CHECK_NOTHROW(problem.validate({1, 0, 0, 1}));
  struct Bad {
    Placement placement;
    const char* part;
  };
  for (const Bad& bad :
       std::vector<Bad>{{{}, "0 ops"},
                        {{0, 0, 0}, "3 ops"},
                        {{0, 0, 0, 0, 0}, "5 ops"},
                        {{0, 0, 0, 2}, "device #2"},
                        {{-1, 0, 0, 0}, "device #-1"},
                        {{0, 1, 1, 0}, "'b' of type 'Op' cannot run on device 'second'"},
                        {{0, 0, 1, 0}, "'b' and 'c' must share a device"}}) {
    const std::string message =
        error_of(ErrorCode::invalid_argument, [&] { problem.validate(bad.placement); });
    CAPTURE(message);
    CHECK(message.find(bad.part) != std::string::npos);
  }
}

TEST_CASE("Problem: what cannot be added up is refused, and what is to blame is named") {
  const Parts parts;
  const auto problem_of = [&](const std::shared_ptr<const Costs>& costs) {
    return [&parts, costs] { Problem(parts.graph, parts.cluster, costs); };
  };
  const std::string costs =
      error_of(ErrorCode::invalid_argument,
               problem_of(Parts::make_costs({{1, 1e308, 1e308, 4}, {5, kCannotRun, 7, 8}})));
  CHECK(costs.find("'b' alone 1e+308 us") != std::string::npos);
  CHECK_NOTHROW(problem_of(Parts::make_costs({{1, 1e20, 1e20, 4}, {5, kCannotRun, 7, 8}}))());

  const auto with_link = [&](std::int64_t bytes, double bandwidth, double latency_us) {
    return [bytes, bandwidth, latency_us] {
      GraphBuilder builder("two");
      for (const char* name : {"a", "b"}) builder.add_op(name, "Op");
      TensorInfo info;
      info.bytes = bytes;
      builder.add_input(1, builder.add_output(0, info));
      Device first, second;
      first.name = "first";
      second.name = "second";
      first.kind = second.kind = "x";
      Problem(builder.build(),
              std::make_shared<const Cluster>(
                  "pair", std::vector<Device>{first, second},
                  std::vector<LinkSpec>{{"*", "*", bandwidth, latency_us, {}}}),
              Parts::make_costs({{1, 1}}));
    };
  };
  CHECK_NOTHROW(with_link(1000, 0.001, 1e6)());
  CHECK(error_of(ErrorCode::invalid_argument, with_link(1000, 1e-30, 0))
            .find("over the link from 'first' to 'second'") != std::string::npos);
  CHECK(error_of(ErrorCode::invalid_argument, with_link(1000, 1e9, 1e300))
            .find("bandwidth and latency") != std::string::npos);
  CHECK(error_of(ErrorCode::invalid_argument, with_link(std::int64_t{1} << 62, 1e9, 0))
            .find("correct their sizes") != std::string::npos);
}
