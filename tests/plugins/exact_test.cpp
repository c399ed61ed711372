#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "berth/files.h"
#include "berth/sdk/random.h"
#include "plugins/placeto_fixture.h"
#include "plugins/small_problem.h"
#include "support/data.h"
#include "support/layered_problem.h"
#include "support/optimum.h"
#include "support/random_problem.h"
#include "support/random_rules.h"
#include "support/tangled_problem.h"

using namespace berth;
using namespace berth::test;

namespace {

constexpr double kEndless = std::numeric_limits<double>::infinity();

PlaceResult exact(const std::shared_ptr<const Problem>& problem, const OptionTexts& options = {},
                  double budget_s = kEndless) {
  Engine engine({test::plugin_folder()});
  const auto policy = engine.make_policy("exact", options);
  const auto evaluator = make_simulation_evaluator(problem, 1);
  return place(*policy, *evaluator, {}, budget_s);
}

const OptionTexts kToTheEnd = {{"nodes", std::int64_t{1000000}}};

/// Checks the answer against all placements; false where none is feasible.
bool check_optimal(const std::shared_ptr<const Problem>& problem) {
  const double best = optimum_us(problem);
  if (best == kEndless) {
    try {
      static_cast<void>(exact(problem, kToTheEnd));
      FAIL("a placement was found where none fits");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::infeasible);
      CHECK(std::string(error.what()).find("no placement") != std::string::npos);
    }
    return false;
  }
  const PlaceResult result = exact(problem, kToTheEnd);
  CHECK(result.evaluation.feasible);
  CHECK(result.evaluation.objective_us == doctest::Approx(best).epsilon(1e-9));
  CHECK(result.bound.us == doctest::Approx(best).epsilon(2e-9));
  if (best > 0) CHECK(result.gap() < 2e-9);
  return true;
}

template <typename Body>
void for_each_question(Body&& body) {
  for (const Semantics semantics : {Semantics::dataflow, Semantics::placeto}) {
    CAPTURE(semantics_name(semantics));
    for (const Objective objective : {Objective::latency, Objective::throughput}) {
      CAPTURE(objective_name(objective));
      body(semantics, objective);
    }
  }
}

/// `count` chains of `length` ops between a source and a sink.
std::shared_ptr<const Problem> chains(int count, int length, int devices, Semantics semantics) {
  std::vector<SmallDevice> small;
  for (int d = 0; d < devices; ++d) small.push_back({"d" + std::to_string(d), "x"});
  const auto sink = static_cast<OpId>(count * length + 1);
  const std::vector<SmallOp> ops(static_cast<std::size_t>(sink) + 1, SmallOp{{100}});
  std::vector<SmallEdge> edges;
  for (int c = 0; c < count; ++c) {
    for (int i = 0; i < length; ++i) {
      const auto op = static_cast<OpId>(1 + c * length + i);
      edges.push_back({i == 0 ? 0 : op - 1, op, 10});
      if (i + 1 == length) edges.push_back({op, sink, 10});
    }
  }
  const auto plain = small_problem(small, ops, edges);
  ProblemOptions options;
  options.semantics = semantics;
  return std::make_shared<const Problem>(plain->shared_graph(), plain->shared_cluster(),
                                         plain->shared_costs(), nullptr, options);
}

}  // namespace

TEST_CASE("exact: the best of all placements, and the proof, where many events coincide") {
  int solved = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    for_each_question([&](Semantics semantics, Objective objective) {
      Random random(seed);
      const TangledShape shape{2 + static_cast<int>(seed % 5), 1 + static_cast<int>(seed % 4)};
      solved += check_optimal(tangled_problem(random, semantics, objective, shape)) ? 1 : 0;
    });
  }
  CHECK(solved > 350);
}

TEST_CASE("exact: the best of all placements, and the proof, with kinds, hosts and co-location") {
  int solved = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    RandomGraphShape shape;
    shape.ops = 2 + static_cast<OpId>(random.below(6));
    shape.edge_chance = 0.7 * random.uniform();
    shape.colocate_chance = seed % 4 == 0 ? 0.5 : 0;
    shape.max_param_bytes = 100;
    shape.shared_parameter_chance = seed % 3 == 0 ? 0.3 : 0;
    const auto graph = random_graph(random, shape);
    const auto cluster =
        random_cluster(random, {.devices = 2 + static_cast<int>(seed % 2),
                                .kinds = 1 + static_cast<int>(random.below(2)),
                                .host = seed % 5 == 0,
                                .memory_bytes = seed % 2 == 0 ? kNoLimit : std::int64_t{1200000},
                                .op_overhead_us = 2});
    const auto costs = random_costs(random, *graph, *cluster, 100, seed % 3 == 1 ? 0.3 : 0);
    for_each_question([&](Semantics semantics, Objective objective) {
      ProblemOptions options;
      options.semantics = semantics;
      options.objective = objective;
      solved +=
          check_optimal(std::make_shared<const Problem>(graph, cluster, costs, nullptr, options))
              ? 1
              : 0;
    });
  }
  CHECK(solved > 300);
}

TEST_CASE("exact: the largest load where channels are shared and several devices are hosts") {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const auto graph = random_graph(random, {.ops = static_cast<OpId>(3 + random.below(5)),
                                             .edge_chance = 0.3 + 0.4 * random.uniform(),
                                             .max_bytes = 200000});
    const auto plain = random_cluster(random, {.devices = 3});
    std::vector<Device> devices;
    for (DeviceId d = 0; d < 3; ++d) {
      devices.push_back(plain->device(d));
      devices.back().host = random.below(2) == 0;
      if (devices.back().host) devices.back().kind = "host";
    }
    std::vector<LinkSpec> links = plain->links();
    for (LinkSpec& link : links) {
      if (random.below(3) == 0) link.shares = {random.below(2) == 0 ? "bus" : "uplink"};
    }
    const auto cluster = std::make_shared<const Cluster>("shared", devices, links);
    const auto costs = random_costs(random, *graph, *cluster, 100, 0);
    ProblemOptions options;
    options.objective = Objective::throughput;
    const auto problem = std::make_shared<const Problem>(graph, cluster, costs, nullptr, options);
    check_optimal(problem);
    const double best_us = optimum_us(problem);
    for (const LowerBound& bound : strong_lower_bounds(*problem)) CHECK(bound.us <= best_us);
  }
}

TEST_CASE("exact: devices whose links take unequal times of their receivers are not alike") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const auto graph = random_graph(random, {.ops = 7, .edge_chance = 0.4});
    const auto equal = equal_devices(4, 1);
    std::vector<Device> devices;
    std::vector<LinkSpec> links;
    for (DeviceId dst = 0; dst < 4; ++dst) {
      devices.push_back(equal->device(dst));
      links.push_back({"*", equal->device(dst).name, 1e9, 1, {}});
      links.back().receiver_us = 300 * random.uniform();
    }
    const auto cluster = std::make_shared<const Cluster>("copying", std::move(devices), links);
    check_optimal(std::make_shared<const Problem>(
        graph, cluster, random_costs(random, *graph, *cluster, 100, 0), nullptr, ProblemOptions{}));
  }
}

TEST_CASE("exact: devices that are alike are not all tried") {
  // 8 devices, 10 ops: more than a thousand million placements, 41 partitions into chains.
  for (const Semantics semantics : {Semantics::dataflow, Semantics::placeto}) {
    const PlaceResult result = exact(chains(2, 4, 4, semantics), kToTheEnd);
    CHECK(result.end == SearchEnd::proven);
    CHECK(result.gap() < 2e-9);
  }
}

TEST_CASE("exact: exchanges of devices that are alike count, as there are factorially many") {
  // Ops that must all be apart, with more transfers than a bound sees waiting for each other: but
  // for exchanges there is one placement.
  constexpr OpId kOps = 7;
  constexpr std::int64_t kNodes = 300;
  Random random(3);
  const auto graph = random_graph(random, {.ops = kOps, .edge_chance = 0.7});
  const auto cluster = equal_devices(kOps, 1);
  const auto costs = random_costs(random, *graph, *cluster, 100, 0);
  std::vector<std::string> names;
  for (OpId op = 0; op < kOps; ++op) names.push_back(graph->op_name(op));
  const auto constraints = std::make_shared<const Constraints>(
      *graph, *cluster, *costs, std::vector{rule_by_names(ConstraintRule::Kind::separate, names)});
  const auto problem = std::make_shared<const Problem>(graph, cluster, costs, nullptr,
                                                       ProblemOptions{}, constraints);
  const PlaceResult result = exact(problem, {{"nodes", kNodes}});
  CHECK(result.end == SearchEnd::budget);
  // The local search that comes first tries a group on a device 40 times at most.
  CHECK(result.evaluations <= kNodes + 41 * kOps * kOps);
}

TEST_CASE("exact: every op takes no time somewhere, each on a kind of its own") {
  const auto problem =
      small_problem({{"a", "x"}, {"b", "y"}, {"c", "z"}}, {{{3, 3, 0}, 0}, {{2, 0, 3}, 0}}, {});
  for (const OptionTexts& options : {kToTheEnd, OptionTexts{{"nodes", std::int64_t{1}}}}) {
    const PlaceResult result = exact(problem, options);
    CHECK(result.bound.us == 0);
  }
  CHECK(exact(problem, kToTheEnd).evaluation.objective_us == 0);
}

TEST_CASE("exact: looks at no more placements than asked for, and none twice over for nothing") {
  // The answer and the single devices that it is compared with are evaluated once more.
  constexpr std::int64_t kOthers = 5;
  const auto problem = chains(4, 6, 3, Semantics::dataflow);
  for (const std::int64_t nodes : {10, 100}) {
    CHECK(exact(problem, {{"nodes", nodes}}).evaluations <= 2 * nodes + kOthers);
  }
  // Two independent ops on two devices have four placements.
  const auto tiny = small_problem({{"a", "x"}, {"b", "y"}}, {{{1, 2}, 0}, {{2, 3}, 0}}, {});
  CHECK(exact(tiny, kToTheEnd).evaluations <= 2 * 4 + kOthers);
  // Nothing is below 100 us, which everything on the only device takes.
  std::vector<SmallOp> ops(20, {{5}, 0});
  CHECK(exact(small_problem({{"a", "x"}}, ops, {}), kToTheEnd).evaluations <= 1 + kOthers);
}

TEST_CASE("exact: a bound holds when the search is stopped, and a placement is there") {
  const auto problem = chains(3, 5, 3, Semantics::placeto);
  const double best = exact(problem, kToTheEnd).evaluation.objective_us;
  for (const std::int64_t nodes : {1, 10, 100}) {
    const PlaceResult result = exact(problem, {{"nodes", nodes}});
    CHECK(result.bound.us <= best * (1 + 1e-9));
    CHECK(result.evaluation.objective_us >= best * (1 - 1e-9));
  }
  CHECK(exact(problem, {}, /*budget_s=*/0).evaluation.feasible);
}

TEST_CASE("exact: groups coarser than co-location give no proof") {
  const auto fine = chains(2, 3, 2, Semantics::dataflow);
  const auto coarse = std::make_shared<const Problem>(
      fine->shared_graph(), fine->shared_cluster(), fine->shared_costs(),
      coarsen(fine->graph(), fine->costs(), 2), fine->options());
  const PlaceResult result = exact(coarse, kToTheEnd);
  CHECK(result.bound.source.find("exact") == std::string::npos);
}

TEST_CASE("exact: the fixtures that it proves, or nearly") {
  if (!have_shared_data("exact")) return;
  const PlaceResult chain = exact(placeto_fixture("chain_16x3"), kToTheEnd);
  CHECK(chain.evaluation.objective_us == doctest::Approx(2167.14).epsilon(1e-5));
  CHECK(chain.gap() < 2e-9);

  const auto graph = load_graph(shared_path("pipeline/bert24.graph.json"));
  const auto cluster = load_cluster(shared_path("pipeline/bert24.cluster.json"));
  ProblemOptions options;
  options.objective = Objective::throughput;
  const auto problem = std::make_shared<const Problem>(
      graph, cluster, Costs::stated(*graph, *cluster), nullptr, options);
  const PlaceResult bert = exact(problem, {{"nodes", std::int64_t{1000}}});
  CHECK(bert.evaluation.objective_us <= 17715.5);
  CHECK(bert.gap() < 0.002);
}

TEST_CASE("exact: a given placement is a start") {
  const auto problem = chains(3, 5, 3, Semantics::placeto);
  const Placement best = exact(problem, kToTheEnd).placement;
  Engine engine({test::plugin_folder()});
  const auto policy = engine.make_policy("exact", {{"nodes", std::int64_t{1}}});
  const auto evaluator = make_simulation_evaluator(problem, 1);
  PlaceContext context;
  context.initial = {best};
  const PlaceResult result = place(*policy, *evaluator, context, kEndless);
  CHECK(result.evaluation.objective_us <= evaluator->evaluate(best).objective_us);
}

TEST_CASE("exact: options out of range are refused") {
  Engine engine({test::plugin_folder()});
  CHECK_THROWS_WITH_AS(
      static_cast<void>(engine.make_policy("exact", {{"nodes", std::int64_t{-1}}})),
      "policy 'exact': option 'nodes' takes an integer >= 0; got '-1'", Error);
}

TEST_CASE("exact: a result says why the search ended") {
  const auto problem = chains(2, 3, 2, Semantics::dataflow);
  const PlaceResult whole = exact(problem, kToTheEnd);
  CHECK(whole.end == SearchEnd::proven);
  CHECK(whole.notes.at(0).find("proven optimal after") == 0);
  const PlaceResult cut = exact(chains(4, 6, 3, Semantics::dataflow), {{"nodes", std::int64_t{1}}});
  CHECK(cut.gap() > 0);
  CHECK(cut.end == SearchEnd::budget);
  CHECK(cut.notes.at(0).find("stopped after") == 0);

  std::vector<SmallOp> ops(513, {{1, 2}, 0});
  const PlaceResult large =
      exact(small_problem({{"a", "x"}, {"b", "y"}}, ops, {{0, 1, 1}}), kToTheEnd);
  CHECK(large.end == SearchEnd::gave_up);
  CHECK(large.notes.at(0).find("513 groups are more than 512; make fewer") != std::string::npos);
}

TEST_CASE("exact: the search ends by itself where no bound above 0 can be proven") {
  // Everything takes nothing on b, where two tensors do not fit; no bound sees that.
  std::vector<SmallEdge> edges;
  for (OpId op = 1; op < 5; ++op) edges.push_back({op - 1, op, 10});
  const auto problem =
      small_problem({{"a", "x"}, {"b", "y", 15}}, std::vector<SmallOp>(5, {{1, 0}, 0}), edges);
  CHECK(check_optimal(problem));
}

TEST_CASE("exact: parameters without room end the search, whatever the objective") {
  for (const Objective objective : {Objective::latency, Objective::throughput}) {
    CAPTURE(static_cast<int>(objective));
    const auto with_objective = [&](const std::shared_ptr<const Problem>& plain) {
      ProblemOptions options = plain->options();
      options.objective = objective;
      return std::make_shared<const Problem>(plain->shared_graph(), plain->shared_cluster(),
                                             plain->shared_costs(), plain->shared_groups(),
                                             options);
    };
    // Two of them fit on no device, and there is one too many.
    std::vector<SmallDevice> devices;
    for (int i = 0; i < 9; ++i) devices.push_back({"d" + std::to_string(i), "x", 100});
    std::vector<SmallEdge> edges;
    for (OpId op = 1; op < 10; ++op) edges.push_back({op - 1, op, 1});
    const auto none =
        with_objective(small_problem(devices, std::vector<SmallOp>(10, {{1}, 51}), edges));
    CHECK_THROWS_WITH_AS(static_cast<void>(exact(none, {{"nodes", std::int64_t{5000}}})),
                         doctest::Contains("exact: no placement of the groups fits in memory"),
                         Error);
    // Six, which fill two devices but for what the one tensor between them takes, in one way.
    std::vector<SmallOp> ops;
    for (const std::int64_t bytes : {60, 50, 40, 30, 30, 30}) ops.push_back({{1}, bytes});
    const auto filled =
        with_objective(small_problem({{"a", "x", 122}, {"b", "x", 122}}, ops, {{0, 1, 1}}));
    const PlaceResult found = exact(filled, {{"nodes", std::int64_t{100}}});
    CHECK(found.evaluation.feasible);
    CHECK(found.notes.at(0).find("proven optimal after") == 0);
  }
}
