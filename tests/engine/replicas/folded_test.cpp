// One replica for all, and the time of a collective.
#include "replicas/folded.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "berth/evaluator.h"
#include "berth/support/text.h"
#include "clipped_momentum.h"

using namespace berth;

namespace {

/// All links are alike. Without figures of its devices, so that sums take no time.
Cluster uniform(int devices, double bandwidth, double latency_us) {
  std::vector<Device> all;
  for (int i = 0; i < devices; ++i) {
    Device device;
    device.name = "d" + std::to_string(i);
    device.kind = "d";
    all.push_back(std::move(device));
  }
  LinkSpec link;
  link.src = link.dst = "*";
  link.bandwidth_bytes_per_s = bandwidth;
  link.latency_us = latency_us;
  return {"uniform", std::move(all), {link}};
}

Evaluation simulated(const SizedModel& model, std::shared_ptr<const Cluster> cluster,
                     const Placement& placement) {
  const auto problem =
      std::make_shared<const Problem>(model.graph, std::move(cluster), model.costs);
  return make_simulation_evaluator(problem, 1)->evaluate(placement);
}

}  // namespace

TEST_CASE("a ring sends 2 (n - 1) / n of the bytes, and has 2 (n - 1) latencies") {
  constexpr double kBandwidth = 10e9, kLatency_us = 7;
  constexpr std::int64_t kBytes = 84'000'000;  // of which each of 2 to 8 devices has a whole part
  for (int n = 2; n <= 8; ++n) {
    CAPTURE(n);
    const Cluster cluster = uniform(n, kBandwidth, kLatency_us);
    ReplicaPlan plan;
    std::vector<DeviceId> devices;
    for (DeviceId device = 0; device < n; ++device) {
      devices.push_back(device);
      plan.replicas.push_back({{device}, 1});
    }
    const double bytes_us = 2.0 * (n - 1) / n * kBytes / kBandwidth * 1e6;
    const double closed_us = bytes_us + 2 * (n - 1) * kLatency_us;
    CHECK(ring_us(kBytes, devices, cluster) == doctest::Approx(closed_us).epsilon(1e-9));
    const RingLink link = ring_link(plan, 0, cluster);
    CHECK(link.latency_us + kBytes / link.bandwidth_bytes_per_s * 1e6 ==
          doctest::Approx(closed_us).epsilon(1e-9));
  }
}

TEST_CASE("links of a ring that share a channel take turns") {
  const Cluster apart = uniform(4, 10e9, 5);
  std::vector<Device> devices;
  for (DeviceId d = 0; d < 4; ++d) devices.push_back(apart.device(d));
  std::vector<LinkSpec> links = apart.links();
  links.front().shares = {"bus"};
  const Cluster together("together", std::move(devices), links);
  ReplicaPlan plan;
  plan.replicas = {{{0, 1}, 1}, {{2, 3}, 1}};
  const RingLink one = ring_link(plan, 1, apart), two = ring_link(plan, 1, together);
  CHECK(one.channels.empty());
  CHECK(two.channels == std::vector<std::string>{"bus"});
  CHECK(two.latency_us == doctest::Approx(2 * one.latency_us));
  CHECK(two.bandwidth_bytes_per_s == doctest::Approx(one.bandwidth_bytes_per_s / 2));
}

TEST_CASE("replicas take turns at a host, unless it has an engine per link") {
  for (const bool each : {false, true}) {
    CAPTURE(each);
    Device host, gpu;
    host.name = host.kind = "h";
    host.host = true;
    host.engine_per_link = each;
    gpu.kind = "g";
    std::vector<Device> devices = {host, gpu, gpu};
    devices[1].name = "g0";
    devices[2].name = "g1";
    const Cluster cluster("hosted", devices, {{"*", "*", 10e9, 5, {}}});
    ReplicaPlan plan;
    plan.replicas = {{{1}, 1}, {{2}, 1}};
    const auto folded = with_reducers(plan, cluster);
    for (const Route& route : {folded->route(0, 1), folded->route(1, 0)}) {
      CHECK(route.bandwidth_bytes_per_s == (each ? 10e9 : 5e9));
      CHECK(route.latency_us == (each ? 5 : 10));
    }
  }
}

TEST_CASE("one replica with a collective as one op has the step of all") {
  for (const char* const name : {"k80x4", "p100x4"}) {
    const auto cluster = Cluster::preset(name);
    const SizedModel whole = test::clipped_momentum(*cluster, 8);
    const SizedModel smaller = test::clipped_momentum(*cluster, 4);
    const Training training = study_training(*whole.graph, *smaller.graph, 8);
    for (const char* const text : {"gpu:0=4,gpu:1=4", "gpu:0=2,gpu:1=2,gpu:2=2,gpu:3=2"}) {
      CAPTURE(name);
      CAPTURE(text);
      const ReplicaPlan plan = parse_replica_plan(text, *cluster, 8);
      const SizedModel one = test::clipped_momentum(*cluster, plan.replicas[0].share);
      const Folded folded = fold(training, whole, one, *cluster, plan);
      const Replicated all = replicate(
          training, whole, std::vector<SizedModel>(plan.replicas.size(), one), *cluster, plan);
      REQUIRE(folded.ops_each == all.ops_each);
      CHECK(folded.model.graph->op_count() == all.ops_each + 3 * all.buckets);
      const DeviceId device = plan.replicas[0].devices[0];
      const Placement first(static_cast<std::size_t>(folded.ops_each), device);
      Placement placement = first;
      placement.resize(static_cast<std::size_t>(folded.model.graph->op_count()), device);
      for (const auto& [op, reducer] : folded.reductions) {
        placement[static_cast<std::size_t>(op)] = reducer;
      }
      const double estimate_us = simulated(folded.model, folded.cluster, placement).runtime_us;
      const double step_us = simulated(all.model, cluster, mirrored(all, plan, first)).runtime_us;
      CHECK(estimate_us == doctest::Approx(step_us).epsilon(0.02));
    }
  }
}

TEST_CASE("a placement of a folded step over two devices has the step of all groups") {
  const auto cluster = Cluster::preset("k80x4");
  const SizedModel whole = test::clipped_momentum(*cluster, 8);
  const SizedModel half = test::clipped_momentum(*cluster, 4);
  const Training training = study_training(*whole.graph, *half.graph, 8);
  // Groups on one PCIe switch, and groups whose transfers share the way between the switches.
  for (const char* const text : {"gpu:0+gpu:1=4,gpu:2+gpu:3=4", "gpu:0+gpu:2=4,gpu:1+gpu:3=4"}) {
    CAPTURE(text);
    const ReplicaPlan plan = parse_replica_plan(text, *cluster, 8);
    const Folded folded = fold(training, whole, half, *cluster, plan);
    const auto& own = plan.replicas[0].devices;
    const Graph& graph = *folded.model.graph;
    Placement placement;
    for (OpId op = 0; op < graph.op_count(); ++op) {
      const std::string name = cat(graph.op_name(op), " ", graph.colocation(op));
      const bool second = name.find("/w2") != name.npos || name.find("/w3") != name.npos;
      placement.push_back(own[second ? 1 : 0]);
    }
    for (const auto& [op, reducer] : folded.reductions) {
      placement[static_cast<std::size_t>(op)] = reducer;
    }
    const double estimate_us = simulated(folded.model, folded.cluster, placement).runtime_us;
    const Replicated all =
        replicate(training, whole, std::vector<SizedModel>{half, half}, *cluster, plan);
    placement.resize(static_cast<std::size_t>(folded.ops_each));
    const double step_us = simulated(all.model, cluster, mirrored(all, plan, placement)).runtime_us;
    CHECK(estimate_us == doctest::Approx(step_us).epsilon(0.05));
  }
}
