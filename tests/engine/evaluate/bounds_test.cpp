#include "berth/bounds.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "berth/evaluator.h"
#include "berth/files.h"
#include "support/data.h"
#include "support/optimum.h"
#include "support/random_problem.h"
#include "support/random_rules.h"

using namespace berth;
using namespace berth::test;

namespace {

std::shared_ptr<const Problem> make_problem(
    std::shared_ptr<const Graph> graph, std::shared_ptr<const Cluster> cluster,
    std::shared_ptr<const Costs> costs, Objective objective = Objective::latency,
    Semantics semantics = Semantics::dataflow,
    std::shared_ptr<const Constraints> constraints = nullptr) {
  ProblemOptions options;
  options.objective = objective;
  options.semantics = semantics;
  return std::make_shared<const Problem>(std::move(graph), std::move(cluster), std::move(costs),
                                         nullptr, options, std::move(constraints));
}

double bound_named(const Problem& problem, const std::string& source) {
  for (const LowerBound& bound : lower_bounds(problem)) {
    if (bound.source == source) return bound.us;
  }
  return -1;
}

std::shared_ptr<const Cluster> cluster_of(std::vector<Device> devices, double latency_us = 10,
                                          double bytes_per_us = 1) {
  return std::make_shared<const Cluster>(
      "test", std::move(devices),
      std::vector<LinkSpec>{{"*", "*", bytes_per_us * 1e6, latency_us, {}}});
}

Device device(std::string name, std::string kind, std::int64_t memory_bytes = kNoLimit) {
  Device d;
  d.name = std::move(name);
  d.kind = std::move(kind);
  d.memory_bytes = memory_bytes;
  return d;
}

std::shared_ptr<const Costs> costs_of(std::vector<std::vector<double>> us) {
  return std::make_shared<const Costs>(std::move(us), std::vector<std::int64_t>(), "test");
}

/// A chain of `ops` ops with tensors of 5 bytes and `param_bytes` each.
std::shared_ptr<const Graph> chain(int ops, std::int64_t param_bytes = 0) {
  GraphBuilder builder("chain");
  TensorId last = kNoTensor;
  TensorInfo info;
  info.bytes = 5;
  for (OpId op = 0; op < ops; ++op) {
    builder.add_op("op" + std::to_string(op), "Op");
    if (last != kNoTensor) builder.add_input(op, last);
    last = builder.add_output(op, info);
    builder.set_param_bytes(op, param_bytes);
  }
  return builder.build();
}

std::shared_ptr<const Graph> independent(int ops, std::int64_t param_bytes = 0) {
  GraphBuilder builder("independent");
  for (OpId op = 0; op < ops; ++op) {
    builder.add_op("op" + std::to_string(op), "Op");
    builder.set_param_bytes(op, param_bytes);
  }
  return builder.build();
}

/// Two stages, each of `wide` ops that read one op and are read by the next, with tensors of 5 bytes.
/// `classes`: a letter for each stage whose wide ops share a device.
std::shared_ptr<const Graph> stages(const std::string& classes, OpId wide = 2) {
  GraphBuilder builder("stages");
  TensorInfo info;
  info.bytes = 5;
  for (OpId op = 0; op < 2 * (wide + 1) + 1; ++op) {
    builder.add_op("op" + std::to_string(op), "Op");
    builder.add_output(op, info);
  }
  for (OpId stage = 0; stage < 2; ++stage) {
    const OpId first = stage * (wide + 1);
    for (OpId op = first + 1; op <= first + wide; ++op) {
      builder.add_input(op, first);
      builder.add_input(first + wide + 1, op);
      if (classes.empty()) continue;
      builder.set_colocation(op, classes.substr(static_cast<std::size_t>(stage), 1));
    }
  }
  return builder.build();
}

}  // namespace

TEST_CASE("lower_bounds: never above the optimum over all feasible placements") {
  int with_memory = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const bool memory = seed % 2 == 0;
    const int kinds = 1 + static_cast<int>(random.below(3));
    const auto graph = random_graph(random, {.ops = static_cast<OpId>(1 + random.below(6)),
                                             .edge_chance = random.uniform(),
                                             .control_chance = 0.2,
                                             .colocate_chance = seed % 3 == 0 ? 0.4 : 0.0,
                                             .max_bytes = 100000,
                                             .max_param_bytes = memory ? 1000000 : 0,
                                             .shared_parameter_chance = memory ? 0.3 : 0.0});
    const auto cluster = random_cluster(
        random, {.devices = 1 + static_cast<int>(random.below(3)),
                 .kinds = kinds,
                 .host = seed % 5 == 0,
                 .memory_bytes =
                     memory ? static_cast<std::int64_t>(500000 + random.below(1500000)) : kNoLimit,
                 .op_overhead_us = seed % 7 == 0 ? 3.0 : 0.0});
    const auto costs = random_costs(random, *graph, *cluster, 100, seed % 4 == 0 ? 0.3 : 0.0);
    for (const Objective objective : {Objective::latency, Objective::throughput}) {
      for (const Semantics semantics : {Semantics::dataflow, Semantics::placeto}) {
        CAPTURE(objective_name(objective));
        CAPTURE(semantics_name(semantics));
        const auto problem = make_problem(graph, cluster, costs, objective, semantics);
        const double best = optimum_us(problem);
        const auto bounds = strong_lower_bounds(*problem);
        REQUIRE_FALSE(bounds.empty());
        CHECK(strong_lower_bound(*problem).us == bounds.front().us);
        CHECK(lower_bound(*problem).us <= bounds.front().us);
        for (const LowerBound& bound : bounds) {
          CAPTURE(bound.source);
          CHECK(bound.us <= best);
          CHECK(bound.us >= 0);
          if (bound.source.rfind("memory", 0) == 0) ++with_memory;
        }
      }
    }
  }
  CHECK(with_memory > 100);
}

TEST_CASE("lower_bounds: never above the optimum under constraints and with shared links") {
  // Costs and transfers are alike, so that joins decide; links share one channel or two.
  int joins_decide = 0;
  int refuted = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const auto graph = random_graph(random, {.ops = static_cast<OpId>(3 + random.below(5)),
                                             .edge_chance = 0.3 + 0.6 * random.uniform(),
                                             .control_chance = 0.1,
                                             .colocate_chance = seed % 4 == 0 ? 0.3 : 0.0,
                                             .max_bytes = 200000});
    const int count = 2 + static_cast<int>(random.below(graph->op_count() > 5 ? 1 : 2));
    const std::shared_ptr<const Cluster> unshared =
        random_cluster(random, {.devices = count,
                                .kinds = 1 + static_cast<int>(random.below(2)),
                                .parallel_chance = seed % 2 == 1 ? 0.3 : 0.0,
                                .per_link_chance = seed % 7 < 3 ? 0.5 : 0.0});
    std::vector<LinkSpec> links = unshared->links();
    for (LinkSpec& link : links) {
      if (seed % 2 == 0) link.shares = {random.below(2) == 0 ? "bus" : "uplink"};
    }
    std::vector<Device> devices;
    for (DeviceId d = 0; d < count; ++d) devices.push_back(unshared->device(d));
    const auto cluster = std::make_shared<const Cluster>("shared", devices, links);
    const auto costs = random_costs(random, *graph, *cluster, 100, seed % 5 == 0 ? 0.3 : 0.0);
    std::shared_ptr<const Constraints> constraints;
    if (seed % 3 == 0) {
      constraints = std::make_shared<const Constraints>(
          *graph, *cluster, *costs, random_rules(random, *graph, *cluster, *costs, 3));
    }
    for (const Semantics semantics : {Semantics::dataflow, Semantics::placeto}) {
      CAPTURE(semantics_name(semantics));
      const auto problem =
          make_problem(graph, cluster, costs, Objective::latency, semantics, constraints);
      const double best = optimum_us(problem);
      for (const LowerBound& bound : strong_lower_bounds(*problem)) {
        CAPTURE(bound.source);
        CHECK(bound.us <= best);
        if (bound.source.rfind("refutation", 0) == 0) ++refuted;
      }
      if (lower_bound(*problem).source == "critical path with joins") ++joins_decide;
    }
  }
  CHECK(joins_decide > 300);
  CHECK(refuted > 200);
}

TEST_CASE("lower_bounds: never above the optimum where much flows into few ops") {
  int links = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const auto graph = random_collectors(random);
    const int count = 2 + static_cast<int>(random.below(graph->op_count() > 6 ? 1 : 2));
    const auto cluster = random_cluster(random, {.devices = count,
                                                 .kinds = 1 + static_cast<int>(random.below(2)),
                                                 .parallel_chance = seed % 4 == 0 ? 0.3 : 0.0,
                                                 .per_link_chance = seed % 7 < 3 ? 0.5 : 0.0});
    const auto costs = random_costs(random, *graph, *cluster, 100, seed % 5 == 0 ? 0.3 : 0.0);
    for (const Semantics semantics : {Semantics::dataflow, Semantics::placeto}) {
      CAPTURE(semantics_name(semantics));
      const auto problem = make_problem(graph, cluster, costs, Objective::latency, semantics);
      const double best = optimum_us(problem);
      for (const LowerBound& bound : strong_lower_bounds(*problem)) {
        CAPTURE(bound.source);
        CHECK(bound.us <= best);
        if (bound.source.find("links into a cluster") != std::string::npos) ++links;
      }
    }
  }
  CHECK(links > 30);
}

TEST_CASE("lower_bounds: never above the optimum where one op is read by many, or reads many") {
  int decides = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    GraphBuilder builder("fans");
    const auto add_op = [&] {
      const OpId op = builder.add_op("op" + std::to_string(builder.op_count()), "Op");
      TensorInfo info;
      info.bytes = static_cast<std::int64_t>(50000 + random.below(100000));
      builder.add_output(op, info);
      return op;
    };
    const bool scatters = random.below(3) != 0, gathers = !scatters || random.below(2) == 0;
    if (scatters) add_op();
    const auto wide = static_cast<OpId>(3 + random.below(3));
    for (OpId i = 0; i < wide; ++i) {
      const OpId op = add_op();
      if (scatters) builder.add_input(op, 0);
    }
    if (gathers) {
      const OpId last = add_op();
      for (OpId i = 0; i < wide; ++i) builder.add_input(last, (scatters ? 1 : 0) + i);
    }
    const auto graph = builder.build();
    std::shared_ptr<const Cluster> cluster =
        cluster_of({device("a", "x"), device("b", "x"), device("c", "x")}, 0, 1000);
    if (seed % 3 == 1) {
      std::vector<Device> each{device("a", "x"), device("b", "x"), device("c", "x")};
      for (Device& one : each) one.engine_per_link = true;
      cluster = cluster_of(each, 0, 1000);
    }
    if (seed % 3 == 0) {
      cluster = random_cluster(random, {.devices = 3,
                                        .kinds = 1 + static_cast<int>(random.below(2)),
                                        .parallel_chance = seed % 2 == 0 ? 0.3 : 0.0,
                                        .per_link_chance = 0.5});
    }
    const auto costs = random_costs(random, *graph, *cluster, 300, seed % 5 == 0 ? 0.3 : 0.0);
    for (const Semantics semantics : {Semantics::dataflow, Semantics::placeto}) {
      const auto problem = make_problem(graph, cluster, costs, Objective::latency, semantics);
      const double best = optimum_us(problem);
      for (const LowerBound& bound : lower_bounds(*problem)) {
        CAPTURE(bound.source);
        CHECK(bound.us <= best);
      }
      if (lower_bound(*problem).source == "transfers of one op to or from many devices") ++decides;
    }
  }
  CHECK(decides > 30);
}

TEST_CASE("lower_bounds: critical path") {
  SUBCASE("is met exactly by a chain on the fastest kind") {
    const auto problem =
        make_problem(chain(3), cluster_of({device("a", "slow"), device("b", "fast")}),
                     costs_of({{9, 9, 9}, {0.1, 0.2, 0.3}}));
    CHECK(bound_named(*problem, "critical path") == optimum_us(problem));
  }
  SUBCASE("counts the transfers that kinds force") {
    // The middle op runs on the other kind only: 1 + (10 + 5) + 2 + (10 + 5) + 3.
    const auto problem = make_problem(chain(3), cluster_of({device("a", "x"), device("b", "y")}),
                                      costs_of({{1, kCannotRun, 3}, {kCannotRun, 2, kCannotRun}}));
    CHECK(bound_named(*problem, "critical path") == doctest::Approx(36));
    CHECK(optimum_us(problem) == doctest::Approx(36));
  }
  SUBCASE("counts the pauses of the placeto simulator") {
    const auto problem = make_problem(chain(2), cluster_of({device("a", "x")}), costs_of({{1, 2}}),
                                      Objective::latency, Semantics::placeto);
    CHECK(bound_named(*problem, "critical path") == doctest::Approx(1 + 5.7 + 2 + 5.7));
    CHECK(optimum_us(problem) == doctest::Approx(1 + 5.7 + 2 + 5.7));
  }
}

TEST_CASE("lower_bounds: joins") {
  // 0 -> {1, 2} -> 3, each tensor of 5 bytes.
  const auto diamond = [](const std::string& colocated) {
    GraphBuilder builder("diamond");
    TensorInfo info;
    info.bytes = 5;
    for (OpId op = 0; op < 4; ++op) {
      builder.add_op("op" + std::to_string(op), "Op");
      builder.add_output(op, info);
      if (colocated.find(static_cast<char>('0' + op)) != std::string::npos) {
        builder.set_colocation(op, "c");
      }
    }
    for (OpId op = 1; op < 3; ++op) {
      builder.add_input(op, 0);
      builder.add_input(3, op);
    }
    return builder.build();
  };
  const auto twins = cluster_of({device("a", "x"), device("b", "x")});
  const std::string joins = "critical path with joins";
  SUBCASE("what would arrive too late runs on the same device, one after the other") {
    const auto problem = make_problem(diamond(""), twins, costs_of({{1, 10, 10, 1}}));
    CHECK(bound_named(*problem, "critical path") == doctest::Approx(12));
    CHECK(bound_named(*problem, joins) == doctest::Approx(22));
    CHECK(optimum_us(problem) == doctest::Approx(22));
    CHECK(lower_bound(*problem).us == doctest::Approx(22));
  }
  SUBCASE("or one of them arrives after a transfer") {
    // Next to op 1, op 2 would take 80.
    const auto problem = make_problem(diamond(""), twins, costs_of({{0, 40, 40, 0}}));
    CHECK(bound_named(*problem, joins) == doctest::Approx(15 + 40));
    CHECK(optimum_us(problem) == doctest::Approx(15 + 40));
  }
  SUBCASE("kinds differ") {
    // On y, ops 1 and 2 take 8 one after the other; coming from x they take 30 for transfers.
    const auto problem = make_problem(diamond(""), cluster_of({device("a", "x"), device("b", "y")}),
                                      costs_of({{0, 9, 9, 1}, {0, 4, 4, 1}}));
    CHECK(bound_named(*problem, joins) == doctest::Approx(9));
    CHECK(optimum_us(problem) == doctest::Approx(9));
  }
  SUBCASE("pauses count") {
    // A transfer takes 20, longer than an op and its pause.
    const auto problem =
        make_problem(diamond(""), cluster_of({device("a", "x"), device("b", "x")}, 0, 0.25),
                     costs_of({{1, 1, 1, 1}}), Objective::latency, Semantics::placeto);
    CHECK(bound_named(*problem, "critical path") == doctest::Approx(3 * 6.7));
    CHECK(bound_named(*problem, joins) == doctest::Approx(4 * 6.7));
    CHECK(optimum_us(problem) == doctest::Approx(4 * 6.7));
  }
  SUBCASE("co-located ops are one after the other, however fast the links") {
    const auto problem =
        make_problem(diamond("013"), cluster_of({device("a", "x"), device("b", "x")}, 0, 1e9),
                     costs_of({{5, 5, 1, 5}}));
    CHECK(bound_named(*problem, joins) == doctest::Approx(15));
    CHECK(optimum_us(problem) == doctest::Approx(15));
  }
}

TEST_CASE("strong_lower_bounds: shorter steps are refuted") {
  const auto refuted_us = [](const Problem& problem, const std::string& reason) {
    for (const LowerBound& bound : strong_lower_bounds(problem)) {
      if (bound.source == "refutation of shorter steps (" + reason + ")") return bound.us;
    }
    return 0.0;
  };
  const auto twins = cluster_of({device("a", "x"), device("b", "x")}, 100, 1);
  TensorInfo info;
  info.bytes = 5;
  SUBCASE("a window is overfull where a slow kind is too slow for what it could do") {
    // On y, any op takes longer than all of them on x.
    const auto problem =
        make_problem(independent(4), cluster_of({device("a", "x"), device("b", "y")}),
                     costs_of({{10, 10, 10, 10}, {50, 50, 50, 50}}));
    CHECK(optimum_us(problem) == doctest::Approx(40));
    CHECK(lower_bound(*problem).us < 36);
    CHECK(refuted_us(*problem, "overfull window of time") == doctest::Approx(40).epsilon(0.005));
  }
  SUBCASE("long transfers make a cluster, which one device has to run") {
    // Two chains 0 -> 1 -> 4 and 2 -> 3 -> 4 with side ops 5 and 6 that read 0 and 2 and end the
    // step: whatever is not with op 4 arrives 100 later.
    GraphBuilder builder("joined");
    for (OpId op = 0; op < 7; ++op) {
      builder.add_op("op" + std::to_string(op), "Op");
      builder.add_output(op, info);
    }
    for (const auto& [src, dst] :
         std::vector<std::pair<OpId, OpId>>{{0, 1}, {1, 4}, {2, 3}, {3, 4}, {0, 5}, {2, 6}}) {
      builder.add_input(dst, src);
    }
    const auto problem =
        make_problem(builder.build(), twins, costs_of({{10, 10, 10, 10, 10, 10, 10}}));
    CHECK(optimum_us(problem) == doctest::Approx(70));
    CHECK(lower_bound(*problem).us < 60);
    CHECK(refuted_us(*problem, "cluster too long for one device") ==
          doctest::Approx(70).epsilon(0.005));
  }
  SUBCASE("ops that are longer than half a window are one on each device") {
    // After 0, which takes 10, five ops of 12, then 6, which takes 10, on two devices: 10 + 36 + 10.
    GraphBuilder builder("halves");
    for (OpId op = 0; op < 7; ++op) {
      builder.add_op("op" + std::to_string(op), "Op");
      builder.add_output(op, info);
    }
    for (OpId op = 1; op < 6; ++op) {
      builder.add_input(op, 0);
      builder.add_input(6, op);
    }
    const auto problem =
        make_problem(builder.build(), cluster_of({device("a", "x"), device("b", "x")}, 0, 1e6),
                     costs_of({{10, 12, 12, 12, 12, 12, 10}}));
    CHECK(optimum_us(problem) == doctest::Approx(56));
    CHECK(lower_bound(*problem).us < 52);
    CHECK(refuted_us(*problem, "overfull window of time") == doctest::Approx(56).epsilon(0.005));
  }
  SUBCASE("a link cannot bring all that one op reads") {
    // Op 6 reads six tensors that take 25 each to transfer; their producers take 10. Five of these
    // are best on its device. If parts of them could be sent, it would start after 45.7.
    const auto collect = [&](bool parallel) {
      GraphBuilder builder("collect");
      TensorInfo large;
      large.bytes = 25;
      for (OpId op = 0; op < 7; ++op) {
        builder.add_op("op" + std::to_string(op), "Op");
        builder.add_output(op, large);
        if (op < 6) continue;
        for (OpId producer = 0; producer < 6; ++producer) builder.add_input(op, producer);
      }
      std::vector<Device> devices;
      for (const char* name : {"a", "b", "c"}) devices.push_back(device(name, "x"));
      const auto cluster = std::make_shared<const Cluster>(
          "test", std::move(devices), std::vector<LinkSpec>{{"*", "*", 1e6, 0, {}, parallel}});
      return make_problem(builder.build(), cluster, costs_of({{10, 10, 10, 10, 10, 10, 1}}));
    };
    const auto queued = collect(false);
    CHECK(optimum_us(queued) == doctest::Approx(51));
    CHECK(refuted_us(*queued, "links into a cluster too slow") ==
          doctest::Approx(46.7).epsilon(0.02));
    // Side by side, two come in the time of one.
    const auto parallel = collect(true);
    CHECK(optimum_us(parallel) == doctest::Approx(41));
    CHECK(strong_lower_bound(*parallel).us <= optimum_us(parallel));
  }
  SUBCASE("what one device has to run before an op delays all that follows") {
    // 0 -> {1, 2} -> 3 -> {4, 5} -> 6; ops 1 and 2 share a device, and so do 4 and 5.
    const auto problem = make_problem(
        stages("ab"), cluster_of({device("a", "x"), device("b", "x"), device("c", "x")}, 0, 1e6),
        costs_of({{1, 10, 10, 1, 10, 10, 1}}));
    CHECK(optimum_us(problem) == doctest::Approx(43));
    CHECK(lower_bound(*problem).us < 34);
    CHECK(strong_lower_bound(*problem).us == doctest::Approx(43).epsilon(0.005));
  }
  SUBCASE("so does what all devices have to run before it") {
    // The same with long ops between the stages, in which the second device has nothing to do. Two
    // devices need 20 for each of the stages of four ops.
    const auto problem =
        make_problem(stages("", 4), cluster_of({device("a", "x"), device("b", "x")}, 0, 1e6),
                     costs_of({{40, 10, 10, 10, 10, 40, 10, 10, 10, 10, 1}}));
    CHECK(optimum_us(problem) == doctest::Approx(121));
    CHECK(lower_bound(*problem).us < 112);
    CHECK(strong_lower_bound(*problem).us == doctest::Approx(121).epsilon(0.005));
  }
  SUBCASE("the search ends where there is nothing to run") {
    const auto problem = make_problem(independent(2), twins, costs_of({{0, 0}}));
    CHECK(strong_lower_bound(*problem).us == 0);
  }
}

TEST_CASE("strong_lower_bounds: whenever it is told to stop, what it gives is proven") {
  const std::shared_ptr<const Problem> problems[] = {
      make_problem(stages("ab"),
                   cluster_of({device("a", "x"), device("b", "x"), device("c", "x")}, 0, 1e6),
                   costs_of({{1, 10, 10, 1, 10, 10, 1}})),
      make_problem(stages("", 4), cluster_of({device("a", "x"), device("b", "x")}, 0, 1e6),
                   costs_of({{40, 10, 10, 10, 10, 40, 10, 10, 10, 10, 1}})),
      make_problem(independent(4), cluster_of({device("a", "x"), device("b", "y")}),
                   costs_of({{10, 10, 10, 10}, {50, 50, 50, 50}}))};
  for (const auto& problem : problems) {
    const double quick_us = lower_bound(*problem).us, strong_us = strong_lower_bound(*problem).us;
    REQUIRE(quick_us < strong_us);
    double before_us = 0;
    bool whole = false;
    for (int after = 0; !whole; ++after) {
      int asked = 0;
      const LowerBound bound = strong_lower_bound(*problem, [&] { return asked++ == after; });
      CHECK(asked <= after + 1);  // and no more once it was told
      if (after == 0) CHECK(bound.us == quick_us);
      CHECK(bound.us >= before_us);
      CHECK(bound.us <= strong_us);
      before_us = bound.us;
      whole = !bound.cut_short;
    }
    CHECK(before_us == strong_us);
  }
}

TEST_CASE(
    "strong_lower_bounds: of a large graph no quick bound is begun either once it is told to "
    "stop") {
  constexpr int kOps = 70'000;
  const auto problem =
      make_problem(independent(kOps), cluster_of({device("a", "x"), device("b", "x")}, 0, 1e6),
                   costs_of({std::vector<double>(kOps, 1)}));
  const auto bounds = strong_lower_bounds(*problem, [] { return true; });
  REQUIRE(bounds.size() == 1);
  CHECK(bounds[0].source == "critical path");
  CHECK(bounds[0].cut_short);
}

TEST_CASE("lower_bounds: DOPPLER's graphs") {
  if (!have_shared_data("DOPPLER's computation graphs")) return;
  const auto bound_of = [](const std::string& name) {
    const auto graph = load_graph(shared_path("doppler/" + name + ".graph.json"));
    const auto cluster = load_cluster(shared_path("doppler/" + name + ".cluster.json").string());
    return strong_lower_bound(*make_problem(graph, cluster, Costs::stated(*graph, *cluster))).us;
  };
  // A binary search on the step's length with co-location forced by long transfers gives 141.0e6.
  CHECK(bound_of("transformer_block_215nodes") > 141.0e6);
  CHECK(bound_of("chain_mm_112nodes") > 1199.9e6);
  // Its feed-forward part takes two matrix products on four devices and two more on two of them.
  CHECK(bound_of("full_transformer_layer_261nodes") > 114.0e6);
}

TEST_CASE("lower_bounds: total work") {
  SUBCASE("equal devices share it evenly") {
    const auto problem = make_problem(
        independent(4), cluster_of({device("a", "x"), device("b", "x")}), costs_of({{1, 1, 1, 1}}));
    CHECK(bound_named(*problem, "total work") == doctest::Approx(2));
  }
  SUBCASE("kinds share it by what each does best") {
    // Fractionally: x takes the first two (10 each on y), y the others; both are busy for 2.
    const auto problem =
        make_problem(independent(4), cluster_of({device("a", "x"), device("b", "y")}),
                     costs_of({{1, 1, 10, 10}, {10, 10, 1, 1}}));
    CHECK(bound_named(*problem, "total work") == doctest::Approx(2).epsilon(1e-6));
  }
  SUBCASE("one kind twice as fast as the other takes two thirds") {
    const auto problem =
        make_problem(independent(3), cluster_of({device("a", "x"), device("b", "y")}),
                     costs_of({{1, 1, 1}, {2, 2, 2}}));
    CHECK(bound_named(*problem, "total work") == doctest::Approx(2).epsilon(1e-6));
  }
}

TEST_CASE("lower_bounds: what memory forces") {
  SUBCASE("work that must leave the fast device") {
    // Two of four ops fit on the fast device; the others take 10 each on the slow one.
    const auto problem = make_problem(independent(4, 100),
                                      cluster_of({device("fast", "x", 200), device("slow", "y")}),
                                      costs_of({{1, 1, 1, 1}, {10, 10, 10, 10}}));
    CHECK(bound_named(*problem, "memory-forced spread") == doctest::Approx(20).epsilon(1e-6));
    CHECK(optimum_us(problem) == doctest::Approx(20));
    CHECK(lower_bound(*problem).source == "memory-forced spread");
  }
  SUBCASE("a chain that no device holds is cut once") {
    const auto problem =
        make_problem(chain(4, 100), cluster_of({device("a", "x", 250), device("b", "x", 250)}),
                     costs_of({{1, 1, 1, 1}}));
    CHECK(bound_named(*problem, "memory-forced transfer") == doctest::Approx(4 + 10 + 5));
    CHECK(optimum_us(problem) == doctest::Approx(19));
  }
}

TEST_CASE("lower_bounds: heads, work and tails") {
  // One op, then four that can share two devices, then one: 5 + 4 * 2 / 2 + 7, transfers apart.
  GraphBuilder builder("diamond");
  TensorInfo info;
  info.bytes = 0;
  for (OpId op = 0; op < 6; ++op) {
    builder.add_op("op" + std::to_string(op), "Op");
    builder.add_output(op, info);
  }
  for (OpId op = 1; op < 5; ++op) {
    builder.add_input(op, 0);
    builder.add_input(5, op);
  }
  const auto problem =
      make_problem(builder.build(), cluster_of({device("a", "x"), device("b", "x")}, 0),
                   costs_of({{5, 2, 2, 2, 2, 7}}));
  CHECK(bound_named(*problem, "heads, work and tails") == doctest::Approx(16));
  CHECK(optimum_us(problem) == doctest::Approx(16));
  CHECK(lower_bound(*problem).source == "heads, work and tails");
}

TEST_CASE("lower_bounds: one op sends to each device in turn, and receives from each in turn") {
  // An op of 1 us, nine readers of 4 us each, and three devices; a tensor takes 10 us: the sender's device
  // starts at once, the others after 10 and 20 us. (3 + 30 + 36) / 3 = 23; two: (2 + 10 + 36) / 2 = 24.
  const std::string source = "transfers of one op to or from many devices";
  for (const bool gathers : {false, true}) {
    CAPTURE(gathers);
    GraphBuilder builder("fan");
    TensorInfo info;
    info.bytes = 10;
    for (OpId op = 0; op < 10; ++op) {
      builder.add_op("op" + std::to_string(op), "Op");
      builder.add_output(op, info);
    }
    for (OpId op = 0; op < 9; ++op) {
      gathers ? builder.add_input(9, op) : builder.add_input(op + 1, 0);
    }
    std::vector<double> costs(10, 4);
    costs[gathers ? 9 : 0] = 1;
    const std::vector<Device> devices{device("a", "x"), device("b", "x"), device("c", "x")};
    const auto graph = builder.build();
    const auto problem = make_problem(graph, cluster_of(devices, 0), costs_of({costs}));
    CHECK(bound_named(*problem, source) == doctest::Approx(23));
    CHECK(optimum_us(problem) >= 23);
    CHECK(lower_bound(*problem).source == source);
  }
}

TEST_CASE("lower_bounds: three classes on two devices put two on one") {
  const auto problem = make_problem(
      independent(3), cluster_of({device("a", "x"), device("b", "x")}), costs_of({{5, 4, 4}}));
  CHECK(lower_bound(*problem).us == doctest::Approx(8));
  CHECK(optimum_us(problem) == doctest::Approx(8));
}

TEST_CASE("lower_bounds: co-located ops run one after the other") {
  GraphBuilder builder("together");
  for (OpId op = 0; op < 4; ++op) {
    builder.add_op("op" + std::to_string(op), "Op");
    if (op < 3) builder.set_colocation(op, "c");
  }
  const auto problem = make_problem(
      builder.build(), cluster_of({device("a", "x"), device("b", "x")}), costs_of({{4, 4, 4, 1}}));
  CHECK(lower_bound(*problem).us == doctest::Approx(12));
  CHECK(optimum_us(problem) == doctest::Approx(12));
}
