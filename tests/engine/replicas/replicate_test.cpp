// The graph of replicas.
#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "berth/error.h"
#include "berth/evaluator.h"
#include "berth/replicas.h"
#include "berth/sdk/ops/views.h"
#include "berth/simulator.h"
#include "clipped_momentum.h"
#include "training_graph.h"

using namespace berth;
using berth::test::clipped_momentum;

namespace {

SizedModel sized(const Cluster& cluster, std::int64_t batch) {
  auto graph = test::training_graph(batch);
  auto costs = Costs::roofline(*graph, cluster);
  return {std::move(graph), std::move(costs)};
}

Replicated step_of(const Cluster& cluster, const ReplicaPlan& plan, std::int64_t batch) {
  const SizedModel whole = sized(cluster, batch), smaller = sized(cluster, batch / 2);
  const Training training = study_training(*whole.graph, *smaller.graph, batch);
  std::vector<SizedModel> models;
  for (const auto& replica : plan.replicas) models.push_back(sized(cluster, replica.share));
  return replicate(training, whole, models, cluster, plan);
}

std::shared_ptr<const Problem> problem_of(const SizedModel& model,
                                          std::shared_ptr<const Cluster> cluster) {
  return std::make_shared<const Problem>(model.graph, std::move(cluster), model.costs);
}

Evaluation simulated(const std::shared_ptr<const Problem>& problem, const Placement& placement) {
  return make_simulation_evaluator(problem, 1)->evaluate(placement);
}

}  // namespace

TEST_CASE("one replica is the plain step") {
  const auto cluster = Cluster::preset("k80x4");
  const ReplicaPlan plan = parse_replica_plan("gpu:1=64", *cluster, 64);
  const Replicated step = step_of(*cluster, plan, 64);
  const SizedModel whole = sized(*cluster, 64);
  REQUIRE(step.model.graph->op_count() == whole.graph->op_count());
  const auto plain = problem_of(whole, cluster), replica = problem_of(step.model, cluster);
  // The inputs on the host, the rest cut in two.
  Placement placement(static_cast<std::size_t>(whole.graph->op_count()), 2);
  placement[0] = 0;
  for (std::size_t i = 6; i < 10; ++i) placement[i] = 3;
  const Evaluation a = simulated(plain, placement);
  const Evaluation b = simulated(replica, mirrored(step, plan, placement));
  CHECK(a.runtime_us == b.runtime_us);
  CHECK(a.peak_bytes == b.peak_bytes);
}

TEST_CASE("what is a view in the step is one in every replica, and nothing else is") {
  const auto cluster = Cluster::preset("k80x4");
  const ReplicaPlan plan = parse_replica_plan("gpu:0=32,gpu:1=32", *cluster, 64);
  const Replicated step = step_of(*cluster, plan, 64);
  const SizedModel whole = sized(*cluster, 64);
  const auto problem = problem_of(step.model, cluster);
  OpId views = 0;
  for (OpId op = 0; op < 2 * step.ops_each; ++op) {
    CAPTURE(step.model.graph->op_name(op));
    CHECK(problem->is_view(op) == ops::is_view(*whole.graph, op % step.ops_each));
    views += problem->is_view(op) ? 1 : 0;
  }
  CHECK(views == 2);
}

TEST_CASE("each replica counts the same ops as work of others") {
  const auto cluster = Cluster::preset("k80x4");
  const ReplicaPlan plan = parse_replica_plan("gpu:0=32,gpu:1=32", *cluster, 64);
  SizedModel whole = sized(*cluster, 64);
  const OpId count = whole.graph->op_count();
  std::vector<std::vector<double>> us;
  for (KindId kind = 0; kind < whole.costs->kind_count(); ++kind) {
    us.emplace_back(static_cast<std::size_t>(count), 1.0);
  }
  whole.costs = std::make_shared<const Costs>(std::move(us), std::vector<std::int64_t>{}, "profile",
                                              std::vector<Costs::Joined>{{3, 2}});
  const Training training = study_training(*whole.graph, *sized(*cluster, 32).graph, 64);
  const std::vector<SizedModel> halves(2, sized(*cluster, 32));
  const Replicated step = replicate(training, whole, halves, *cluster, plan);
  const Graph& graph = *step.model.graph;
  const auto joined = step.model.costs->joined();
  REQUIRE(joined.size() == 2);
  for (std::size_t r = 0; r < 2; ++r) {
    const std::string replica = "replica_" + std::to_string(r) + "/";
    CHECK(graph.op_name(joined[r].op) == replica + whole.graph->op_name(3));
    CHECK(graph.op_name(joined[r].with) == replica + whole.graph->op_name(2));
  }
}

TEST_CASE("replicas have their shares, the gathered rows the whole batch, the sums everybody's") {
  const auto cluster = Cluster::preset("k80x4");
  const ReplicaPlan plan = parse_replica_plan("gpu:0=48,gpu:1=16", *cluster, 64);
  const Replicated step = step_of(*cluster, plan, 64);
  const Graph& graph = *step.model.graph;
  const auto bytes = [&](const char* name) { return graph.output_bytes(*graph.find_op(name)); };
  CHECK(bytes("replica_0/x") == 48 * 4 * 4);
  CHECK(bytes("replica_1/x") == 16 * 4 * 4);
  CHECK(bytes("replica_0/clipped_x") == 64 * 4 * 4);
  CHECK(bytes("replica_1/clipped_x") == 64 * 4 * 4);
  CHECK(step.buckets == 3);
  // The update waits for both replicas' gradients, which nothing of the backward pass does.
  const auto reads = [&](const char* reader, const char* of) {
    for (const Edge& edge : graph.in_edges(*graph.find_op(reader))) {
      if (graph.op_name(edge.src).find(of) != std::string::npos) return true;
    }
    return false;
  };
  CHECK(reads("replica_0/clipped_w", "reduce/"));
  CHECK(reads("replica_1/update_table", "reduce/"));
  CHECK_FALSE(reads("replica_0/dw", "reduce/"));
  for (OpId op = 0; op < graph.op_count(); ++op) {
    CAPTURE(graph.op_name(op));
    CHECK(graph.op_name(op).starts_with("replica_"));
  }
}

TEST_CASE("the ring of ops takes what the formula says") {
  // Transfers of one chunk each, with links that carry nothing else.
  for (const char* const name : {"k80x4", "p100x4"}) {
    const auto cluster = Cluster::preset(name);
    for (const std::int64_t bytes : {std::int64_t{40'000'000}, std::int64_t{400'000}}) {
      for (const int k : {2, 3, 4}) {
        CAPTURE(name);
        CAPTURE(bytes);
        CAPTURE(k);
        const auto make = [&](std::int64_t b) {
          GraphBuilder builder("gradient", "tf");
          TensorInfo x;
          x.dtype = DType::f32;
          x.has_shape = true;
          x.shape = {b};
          const OpId input = builder.add_op("x", "Placeholder");
          const TensorId fed = builder.add_output(input, x);
          const OpId sum = builder.add_op("sum", "Sum");
          builder.add_input(sum, fed);
          x.shape = {bytes / 4};
          const TensorId gradient = builder.add_output(sum, x);
          const OpId update = builder.add_op("update", "AssignSub");
          builder.add_input(update, gradient);
          auto graph = builder.build();
          std::vector<std::vector<double>> us(static_cast<std::size_t>(cluster->kind_count()),
                                              std::vector<double>(3, 0));
          return SizedModel{graph,
                            std::make_shared<const Costs>(us, std::vector<std::int64_t>(), "none")};
        };
        const SizedModel whole = make(64);
        const Training training = study_training(*whole.graph, *make(32).graph, 64);
        ReplicaPlan plan;
        std::vector<DeviceId> devices;
        std::vector<SizedModel> models;
        for (int r = 0; r < k; ++r) {
          devices.push_back(*cluster->find_device("gpu:" + std::to_string(r)));
          plan.replicas.push_back({{devices.back()}, 16});
          models.push_back(make(16));
        }
        const Replicated step = replicate(training, whole, models, *cluster, plan);
        Placement one(3, devices[0]);
        const Evaluation evaluation =
            simulated(problem_of(step.model, cluster), mirrored(step, plan, one));
        const double formula_us = ring_us(bytes, devices, *cluster);
        CHECK(evaluation.runtime_us == doctest::Approx(formula_us).epsilon(0.02));
      }
    }
  }
}

TEST_CASE("shared updates: a variable is updated once, and its moments are held once") {
  const auto cluster = Cluster::preset("k80x4");
  const SizedModel whole = clipped_momentum(*cluster, 8), half = clipped_momentum(*cluster, 4);
  const Training training = study_training(*whole.graph, *half.graph, 8);
  const auto step_at = [&](const char* text) {
    const ReplicaPlan plan = parse_replica_plan(text, *cluster, 8);
    const Replicated step =
        replicate(training, whole, std::vector<SizedModel>{half, half}, *cluster, plan);
    const auto problem = problem_of(step.model, cluster);
    Placement one(static_cast<std::size_t>(step.ops_each), plan.replicas[0].devices[0]);
    return std::pair(step, simulated(problem, mirrored(step, plan, one)));
  };
  const auto [each, each_took] = step_at("gpu:0=4,gpu:1=4,bucket=16000000");
  const auto [shared, shared_took] = step_at("gpu:0=4,gpu:1=4,bucket=16000000,updates=shared");
  CHECK(each.owner.empty());
  REQUIRE(shared.owner.size() == static_cast<std::size_t>(shared.ops_each));
  const Graph& graph = *shared.model.graph;
  std::int64_t moments = 0;
  std::set<std::int32_t> owners;
  for (int i = 0; i < 4; ++i) {
    const std::string name = "w" + std::to_string(i);
    CAPTURE(name);
    const OpId update = *whole.graph->find_op(name + "/update");
    const std::int32_t owner = shared.owner[static_cast<std::size_t>(update)];
    REQUIRE((owner == 0 || owner == 1));
    owners.insert(owner);
    const std::string own = "replica_" + std::to_string(owner) + "/" + name;
    const std::string other = "replica_" + std::to_string(1 - owner) + "/" + name;
    // All that follows from one gradient is its owner's; the variable is everybody's.
    for (const char* const op : {"/norm", "/clipped", "/update"}) {
      CHECK(shared.model.costs->op_us(*graph.find_op(own + op), 1) > 0);
      CHECK(shared.model.costs->op_us(*graph.find_op(other + op), 1) == 0);
    }
    CHECK(graph.stated_param_bytes(*graph.find_op(own + "/moment")) == 4'000'000 * (i + 1));
    CHECK(graph.stated_param_bytes(*graph.find_op(other + "/moment")) == 0);
    CHECK(graph.stated_param_bytes(*graph.find_op(other)) == 4'000'000 * (i + 1));
    moments += 4'000'000 * (i + 1);
    // The other's variable is new once it has the owner's values.
    const OpId stand_in = *graph.find_op(other + "/update");
    REQUIRE_FALSE(graph.in_edges(stand_in).empty());
    CHECK(graph.op_name(graph.in_edges(stand_in)[0].src).ends_with("/take_0"));
  }
  CHECK(owners.size() == 2);
  // The sum of the norms needs all, and is everybody's.
  CHECK(shared.owner[static_cast<std::size_t>(*whole.graph->find_op("norm"))] == -1);
  // Half of the optimizer's work; whether the step is shorter depends on the links.
  const auto worked = [](const Evaluation& evaluation) {
    return evaluation.busy_us[1] + evaluation.busy_us[2];
  };
  CHECK(worked(shared_took) < worked(each_took));
  const auto held = [](const Evaluation& evaluation) {
    return evaluation.peak_bytes[1] + evaluation.peak_bytes[2];
  };
  CHECK(held(shared_took) <= held(each_took) - moments);
}

TEST_CASE("of gradients that a step returns each replica returns the sum, and its own loss") {
  const auto cluster = Cluster::preset("k80x4");
  const auto sized_at = [&](std::int64_t b) {
    GraphBuilder builder("returned", "onnx");
    TensorInfo info;
    info.dtype = DType::f32;
    info.has_shape = true;
    info.shape = {100};
    static_cast<void>(builder.add_parameter(info));
    const OpId x = builder.add_op("x", "Input");
    info.shape = {b, 100};
    const TensorId fed = builder.add_output(x, info);
    for (const char* const name : {"gradient", "loss"}) {
      const OpId op = builder.add_op(name, "ReduceMean");
      builder.add_input(op, fed);
      info.shape = name[0] == 'g' ? std::vector<std::int64_t>{100} : std::vector<std::int64_t>{};
      builder.add_result(builder.add_output(op, info));
    }
    auto graph = builder.build();
    auto costs = Costs::roofline(*graph, *cluster);
    return SizedModel{std::move(graph), std::move(costs)};
  };
  const SizedModel whole = sized_at(8), half = sized_at(4);
  const Training training = study_training(*whole.graph, *half.graph, 8);
  const ReplicaPlan plan = parse_replica_plan("gpu:0=4,gpu:1=4", *cluster, 8);
  const Replicated step =
      replicate(training, whole, std::vector<SizedModel>{half, half}, *cluster, plan);
  std::set<std::string> results;
  for (TensorId tensor = 0; tensor < step.model.graph->tensor_count(); ++tensor) {
    if (!step.model.graph->is_result(tensor)) continue;
    results.insert(step.model.graph->op_name(step.model.graph->producer(tensor)));
  }
  CHECK(results == std::set<std::string>{"replica_0/loss", "replica_1/loss",
                                         "replica_0/reduce/0/join", "replica_1/reduce/0/join"});
  // No op changes a variable here, so that nothing can be handed round.
  ReplicaPlan shared = plan;
  shared.share_updates = true;
  CHECK_THROWS_AS(static_cast<void>(replicate(training, whole, std::vector<SizedModel>{half, half},
                                              *cluster, shared)),
                  Error);
}

TEST_CASE("a ring goes over the fastest links") {
  const auto cluster = Cluster::preset("v100x8");
  std::vector<DeviceId> devices;
  for (int i = 0; i < 8; ++i) devices.push_back(*cluster->find_device("gpu:" + std::to_string(i)));
  const auto order = ring_order(devices, *cluster);
  REQUIRE(order.size() == 8);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Route& route = cluster->route(devices[order[i]], devices[order[(i + 1) % 8]]);
    CHECK(route.bandwidth_bytes_per_s > 15e9);  // NVLink, not PCIe
  }
}

TEST_CASE("no plan is below the bound of plans") {
  const auto cluster = Cluster::preset("k80x4");
  const SizedModel whole = sized(*cluster, 64), smaller = sized(*cluster, 32);
  const Training training = study_training(*whole.graph, *smaller.graph, 64);
  const ReplicaBound bound = bound_replicas(training, whole, smaller, 32, *cluster, 1e9);
  CHECK(bound.us > 0);
  for (const char* const text : {"gpu:0=64", "gpu:0=32,gpu:1=32", "gpu:0=60,gpu:1=4",
                                 "gpu:0=16,gpu:1=16,gpu:2=16,gpu:3=16"}) {
    CAPTURE(text);
    const ReplicaPlan plan = parse_replica_plan(text, *cluster, 64);
    const Replicated step = step_of(*cluster, plan, 64);
    Placement one(static_cast<std::size_t>(step.ops_each), plan.replicas[0].devices[0]);
    const Evaluation evaluation =
        simulated(problem_of(step.model, cluster), mirrored(step, plan, one));
    CHECK(evaluation.runtime_us >= bound.us);
  }
}

TEST_CASE("a ring leaves out links that share a channel, on which its transfers would take turns") {
  // All links are alike, but 0 and 1 are on one bus, and 2 and 3 on another.
  std::vector<Device> devices(4);
  for (std::size_t d = 0; d < devices.size(); ++d) {
    devices[d].name = "d" + std::to_string(d);
    devices[d].kind = "d";
  }
  std::vector<LinkSpec> links = {{"*", "*", 10e9, 5, {}}};
  for (const auto& [a, b] : {std::pair("d0", "d1"), std::pair("d2", "d3")}) {
    links.push_back({a, b, 10e9, 5, {a}});
    links.push_back({b, a, 10e9, 5, {a}});
  }
  const Cluster cluster("buses", devices, links);
  const std::vector<DeviceId> all = {0, 1, 2, 3};
  const auto order = ring_order(all, cluster);
  for (std::size_t i = 0; i < order.size(); ++i) {
    CHECK(cluster.route(all[order[i]], all[order[(i + 1) % 4]]).channels.empty());
  }
}

TEST_CASE("two replicas whose work is nothing take what their ring takes, and the bound says so") {
  // A ring of two sends half of the bytes, then half again, in either direction at once.
  constexpr std::int64_t kBytes = 84'000'000;
  std::vector<Device> devices(2);
  devices[0].name = "d0";
  devices[1].name = "d1";
  devices[0].kind = devices[1].kind = "d";
  const Cluster cluster("pair", devices, {{"*", "*", 10e9, 0, {}}});
  GraphBuilder builder("nothing");
  builder.add_op("op", "Op");
  const SizedModel model = {builder.build(),
                            std::make_shared<const Costs>(std::vector<std::vector<double>>{{0}},
                                                          std::vector<std::int64_t>(), "none")};
  Training training;
  training.batch = 64;
  training.gradient_bytes = kBytes;
  const ReplicaBound bound = bound_replicas(training, model, model, 32, cluster, 1e9);
  CHECK(bound.us == doctest::Approx(kBytes / 10e9 * 1e6));
  const std::vector<DeviceId> both = {0, 1};
  CHECK(bound.us == doctest::Approx(ring_us(kBytes, both, cluster)));

  // Buckets on parallel links have the whole bandwidth each.
  LinkSpec link{"*", "*", 10e9, 0, {}};
  link.parallel = true;
  const Cluster parallel("pair", devices, {link});
  CHECK(bound_replicas(training, model, model, 32, parallel, 1e9).us == 0);

  // Three that receive over two links at once.
  devices.push_back(devices[0]);
  devices[2].name = "d2";
  const std::vector<LinkSpec> links = {{"*", "*", 10e9, 0, {}}};
  const Cluster three("three", devices, links);
  for (Device& device : devices) device.engine_per_link = true;
  const Cluster mesh("mesh", devices, links);
  CHECK(bound_replicas(training, model, model, 32, three, 1e9).us ==
        doctest::Approx(2 * kBytes / 30e9 * 1e6));
  CHECK(bound_replicas(training, model, model, 32, mesh, 1e9).us ==
        doctest::Approx(2 * kBytes / 60e9 * 1e6));
}
