// Reductions over several nodes.
#include "replicas/levels.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "berth/evaluator.h"
#include "training_graph.h"

using namespace berth;

namespace {

constexpr double kInside = 100e9, kBetween = 10e9, kInside_us = 5, kBetween_us = 20;

/// Nodes of a host and `each` GPUs, one network card each. Without figures, so that sums take no time.
std::shared_ptr<const Cluster> nodes_of(int count, int each, bool alike = false) {
  std::vector<Device> devices;
  std::vector<LinkSpec> links;
  const auto name = [](int node, int gpu) {
    const std::string prefix = "n" + std::to_string(node) + "/";
    return prefix + (gpu < 0 ? "cpu" : "gpu:" + std::to_string(gpu));
  };
  for (int node = 0; node < count; ++node) {
    for (int gpu = -1; gpu < each; ++gpu) {
      Device device;
      device.name = name(node, gpu);
      device.kind = gpu < 0 ? "cpu" : "gpu";
      device.host = gpu < 0;
      devices.push_back(std::move(device));
      for (int other = 0; other < count; ++other) {
        for (int to = -1; to < each; ++to) {
          if (other == node && to == gpu) continue;
          LinkSpec link{name(node, gpu), name(other, to), kInside, kInside_us, {}, false};
          if (other != node && !alike) {
            link.bandwidth_bytes_per_s = kBetween;
            link.latency_us = kBetween_us;
            link.shares = {"out " + std::to_string(node), "in " + std::to_string(other)};
          }
          links.push_back(std::move(link));
        }
      }
    }
  }
  return std::make_shared<const Cluster>("nodes", std::move(devices), links);
}

ReplicaPlan plan_over(const Cluster& cluster) {
  ReplicaPlan plan;
  for (DeviceId device = 0; device < cluster.device_count(); ++device) {
    if (!cluster.device(device).host) plan.replicas.push_back({{device}, 8});
  }
  return plan;
}

double link_us(const RingLink& link, std::int64_t bytes) {
  return link.latency_us + static_cast<double>(bytes) / link.bandwidth_bytes_per_s * 1e6;
}

/// One gradient of so many bytes, and no work.
SizedModel one_gradient(const Cluster& cluster, std::int64_t batch, std::int64_t bytes) {
  GraphBuilder builder("gradient", "tf");
  const auto op = test::adder(builder);
  const TensorId gradient = op("sum", "Sum", {op("x", "Placeholder", {}, {batch})}, {bytes / 4});
  builder.add_input(builder.add_op("update", "AssignSub"), gradient);
  const std::vector<std::vector<double>> us(static_cast<std::size_t>(cluster.kind_count()),
                                            std::vector<double>(3, 0));
  return {builder.build(), std::make_shared<const Costs>(us, std::vector<std::int64_t>(), "none")};
}

}  // namespace

TEST_CASE("over two nodes each network card sends the bytes once, and not 2 (k - 1) / k times") {
  constexpr std::int64_t kBytes = 240'000'000;
  for (const auto& [count, each] : {std::pair(2, 4), std::pair(2, 2), std::pair(3, 2)}) {
    CAPTURE(count);
    CAPTURE(each);
    const auto cluster = nodes_of(count, each);
    const ReplicaPlan plan = plan_over(*cluster);
    CHECK(reduction_nodes(plan, *cluster).size() == static_cast<std::size_t>(count));
    const double inside_us = 2.0 * (each - 1) * (kInside_us + kBytes / each / kInside * 1e6);
    const double between_us =
        2.0 * (count - 1) * (each * kBetween_us + 1.0 * kBytes / count / kBetween * 1e6);
    const double us = link_us(ring_link(plan, 0, *cluster), kBytes);
    CHECK(us == doctest::Approx(inside_us + between_us));
    // The ops of it.
    const int k = count * each;
    const SizedModel whole = one_gradient(*cluster, 8 * k, kBytes);
    const SizedModel share = one_gradient(*cluster, 8, kBytes);
    const Training training = study_training(*whole.graph, *share.graph, 8 * k);
    const Replicated step = replicate(
        training, whole, std::vector<SizedModel>(plan.replicas.size(), share), *cluster, plan);
    const auto problem =
        std::make_shared<const Problem>(step.model.graph, cluster, step.model.costs);
    const Placement first(3, plan.replicas[0].devices[0]);
    const double step_us =
        make_simulation_evaluator(problem, 1)->evaluate(mirrored(step, plan, first)).runtime_us;
    // Parts do not wait for one another between their levels.
    CHECK(step_us <= 1.02 * us);
    CHECK(step_us >= 0.98 * between_us);
  }
}

TEST_CASE("replicas on one node are one ring, and so are those that no faster link joins") {
  for (const char* const name : {"k80x4", "p100x4", "v100x8"}) {
    CAPTURE(name);
    const auto cluster = Cluster::preset(name);
    CHECK(reduction_nodes(plan_over(*cluster), *cluster).empty());
  }
  const auto alike = nodes_of(2, 2, /*alike=*/true), one_each = nodes_of(3, 1),
             uneven = nodes_of(2, 3);
  CHECK(reduction_nodes(plan_over(*alike), *alike).empty());
  CHECK(reduction_nodes(plan_over(*one_each), *one_each).empty());
  ReplicaPlan five = plan_over(*uneven);
  five.replicas.pop_back();
  CHECK(reduction_nodes(five, *uneven).empty());
}
