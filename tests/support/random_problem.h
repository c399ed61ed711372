// Random clusters, costs and problems for property tests.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/problem.h"
#include "support/random_graph.h"

namespace berth::test {

struct RandomClusterShape {
  int devices = 3;
  int kinds = 1;
  bool host = false;  ///< device 0 is one, of a kind of its own
  std::int64_t memory_bytes = kNoLimit;
  double op_overhead_us = 0;
  double parallel_chance = 0;  ///< of each link, and of half as many whose receivers copy
  double per_link_chance = 0;  ///< of each kind: its devices have an engine per link
};

/// Devices "d0", "d1", ... of kinds "k0", "k1", ...; links with random figures.
inline std::shared_ptr<const Cluster> random_cluster(Random& random,
                                                     const RandomClusterShape& shape) {
  std::vector<Device> devices;
  for (int d = 0; d < shape.devices; ++d) {
    Device device;
    device.name = "d" + std::to_string(d);
    device.host = shape.host && d == 0;
    device.kind = device.host ? "host" : "k" + std::to_string(d % shape.kinds);
    device.memory_bytes = shape.memory_bytes;
    device.op_overhead_us = shape.op_overhead_us;
    const auto same = std::find_if(devices.begin(), devices.end(), [&](const Device& before) {
      return before.kind == device.kind;
    });
    device.engine_per_link = same != devices.end() ? same->engine_per_link
                                                   : shape.per_link_chance > 0 &&
                                                         random.uniform() < shape.per_link_chance;
    devices.push_back(device);
  }
  std::vector<LinkSpec> links;
  for (int a = 0; a < shape.devices; ++a) {
    for (int b = 0; b < shape.devices; ++b) {
      if (a == b) continue;
      links.push_back({"d" + std::to_string(a),
                       "d" + std::to_string(b),
                       1e9 + 1e10 * random.uniform(),
                       20 * random.uniform(),
                       {},
                       shape.parallel_chance > 0 && random.uniform() < shape.parallel_chance});
      if (shape.parallel_chance > 0 && random.uniform() < shape.parallel_chance / 2) {
        links.back().parallel = false;
        links.back().receiver_us = 10 * random.uniform();
      }
    }
  }
  return std::make_shared<const Cluster>("random", std::move(devices), links);
}

/// Four to seven ops, some of which read nearly all before them, with tensors of one size mostly.
inline std::shared_ptr<const Graph> random_collectors(Random& random) {
  GraphBuilder builder("collectors");
  const auto ops = static_cast<OpId>(4 + random.below(4));
  const double heavy_bytes = 200000 * random.uniform();
  const bool colocated = random.below(3) == 0;
  std::vector<TensorId> outputs;
  for (OpId op = 0; op < ops; ++op) {
    builder.add_op("op" + std::to_string(op), "Op");
    const double chance = op % 3 == 2 ? 0.9 : 0.3 * random.uniform();
    for (OpId producer = 0; producer < op; ++producer) {
      if (random.uniform() >= chance) continue;
      if (random.below(12) == 0) {
        builder.add_control_edge(producer, op);
      } else {
        builder.add_input(op, outputs[static_cast<std::size_t>(producer)]);
      }
    }
    TensorInfo info;
    const double share = random.below(3) == 0 ? random.uniform() : 1;
    info.bytes = static_cast<std::int64_t>(heavy_bytes * share);
    outputs.push_back(builder.add_output(op, info));
    if (colocated && random.below(3) == 0) {
      builder.set_colocation(op, "c" + std::to_string(random.below(2)));
    }
  }
  return builder.build();
}

/// Costs of 0 to `max_us`, some exactly 0; with `cannot_run_chance` a kind cannot run an op, and at
/// least one always can. Ops of one co-location class have the same kinds.
inline std::shared_ptr<const Costs> random_costs(Random& random, const Graph& graph,
                                                 const Cluster& cluster, double max_us = 100,
                                                 double cannot_run_chance = 0) {
  const auto kinds = static_cast<std::size_t>(cluster.kind_count());
  const auto groups = colocation_groups(graph);
  std::vector<std::vector<double>> us(
      kinds, std::vector<double>(static_cast<std::size_t>(graph.op_count()), 0));
  for (GroupId group = 0; group < groups->count(); ++group) {
    const std::size_t able = random.below(kinds);
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      const bool can = kind == able || random.uniform() >= cannot_run_chance;
      for (const OpId op : groups->members(group)) {
        const double cost = random.uniform() < 0.2 ? 0 : max_us * random.uniform();
        us[kind][static_cast<std::size_t>(op)] = can ? cost : kCannotRun;
      }
    }
  }
  return std::make_shared<const Costs>(std::move(us), std::vector<std::int64_t>(), "random");
}

}  // namespace berth::test
