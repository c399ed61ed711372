// Random problems that reach every rule of the simulator, small enough for the slow reference.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/problem.h"
#include "berth/sdk/ops/constants.h"
#include "berth/sdk/random.h"

namespace berth::test {

inline std::string numbered(const char* prefix, int number) {
  return std::string(prefix).append(std::to_string(number));
}

/// A permutation of 0..count-1.
inline std::vector<int> shuffled(Random& random, int count) {
  std::vector<int> order;
  for (int i = 0; i < count; ++i) order.push_back(i);
  for (int i = count - 1; i > 0; --i) {
    std::swap(order[static_cast<std::size_t>(i)],
              order[random.below(static_cast<std::uint64_t>(i) + 1)]);
  }
  return order;
}

/// The graph with states: of its inputs, many are the next step's of what some op gives, of one result now and then
/// several.
inline std::shared_ptr<const Graph> with_any_states(Random& random,
                                                    std::shared_ptr<const Graph> graph) {
  std::vector<TensorId> made;
  for (OpId op = 0; op < graph->op_count(); ++op) {
    if (graph->is_constant(op)) continue;
    made.insert(made.end(), graph->outputs(op).begin(), graph->outputs(op).end());
  }
  std::vector<Graph::State> states;
  for (OpId op = 0; op < graph->op_count() && !made.empty(); ++op) {
    if (!graph->is_input(op) || graph->is_constant(op) || random.uniform() < 0.3) continue;
    const bool again = !states.empty() && random.uniform() < 0.4;
    states.push_back({again ? states.back().result : made[random.below(made.size())], op});
  }
  return graph->with_states(states);
}

/// Several outputs per op, views, control edges, parameters own and shared, inputs of a model, results that are
/// named or follow; names and ids in orders that have nothing to do with each other or with the topology.
/// With `lasting`, constants of the step, which may be results, and states too.
inline std::shared_ptr<const Graph> tangled_graph(Random& random, int ops, bool lasting = false) {
  GraphBuilder builder("tangled");
  const auto chance = [&](double p) { return random.uniform() < p; };
  const auto sized = [&] {
    TensorInfo info;
    // Sizes that give round transfer times, so that events coincide.
    info.bytes = chance(0.2) ? 0 : 7600 * static_cast<std::int64_t>(random.below(8));
    return info;
  };
  const std::vector<int> name = shuffled(random, ops);
  const std::vector<int> position = shuffled(random, ops);  // op -> place in a topological order
  std::vector<OpId> by_position(static_cast<std::size_t>(ops));
  std::vector<std::vector<TensorId>> outputs;
  for (OpId op = 0; op < ops; ++op) {
    builder.add_op(numbered("n", 1000 + name[static_cast<std::size_t>(op)]),
                   chance(0.2) ? "Input" : "Op");
    by_position[static_cast<std::size_t>(position[static_cast<std::size_t>(op)])] = op;
    outputs.emplace_back();
    for (std::uint64_t i = random.below(4); i > 0; --i) {
      outputs.back().push_back(builder.add_output(op, sized()));
    }
    if (chance(0.25)) builder.set_attribute(op, "view", std::int64_t{1});
    if (lasting && chance(0.3)) builder.set_pure(op);
    if (chance(0.3)) {
      builder.set_param_bytes(op, static_cast<std::int64_t>(random.below(100000)));
    }
  }
  const TensorId shared = builder.add_parameter(sized());
  for (int p = 1; p < ops; ++p) {
    const OpId op = by_position[static_cast<std::size_t>(p)];
    if (chance(0.1)) builder.add_input(op, shared);
    std::vector<OpId> after;
    for (std::uint64_t i = random.below(4); i > 0; --i) {
      const int reach = std::min(p, 12);
      const auto src = by_position[static_cast<std::size_t>(
          p - 1 - static_cast<int>(random.below(static_cast<std::uint64_t>(reach))))];
      const auto& produced = outputs[static_cast<std::size_t>(src)];
      const bool before = std::find(after.begin(), after.end(), src) != after.end();
      if (produced.empty() || (chance(0.2) && !before)) {
        if (!before) builder.add_control_edge(src, op);
        after.push_back(src);
      } else {
        builder.add_input(op, produced[random.below(produced.size())]);
      }
    }
  }
  if (chance(0.5)) {
    builder.name_results();
    for (const std::vector<TensorId>& of_op : outputs) {
      for (const TensorId tensor : of_op) {
        if (chance(0.2)) builder.add_result(tensor);
      }
    }
  }
  if (!lasting) return builder.build();
  return with_any_states(random, ops::fold_constants(builder.build()));
}

/// Sums of TensorFlow, which may write over what they read, of a few sizes, through views.
inline std::shared_ptr<const Graph> summing_graph(Random& random, int ops) {
  GraphBuilder builder("summing", "tf");
  const auto chance = [&](double p) { return random.uniform() < p; };
  std::vector<TensorId> made;
  for (OpId op = 0; op < ops; ++op) {
    const bool first = op == 0 || chance(0.1);
    const bool view = !first && chance(0.25);
    const char* const type = first  ? chance(0.5) ? "Placeholder" : "RandomUniform"
                             : view ? "Identity"
                                    : "AddV2";
    builder.add_op(numbered("n", op), type);
    for (std::uint64_t i = first ? 0 : view ? 1 : 1 + random.below(2); i > 0; --i) {
      const std::size_t reach = std::min<std::size_t>(made.size(), 6);
      builder.add_input(op, made[made.size() - 1 - random.below(reach)]);
    }
    TensorInfo info;
    info.bytes = chance(0.1) ? 0 : 7600 * (1 + static_cast<std::int64_t>(random.below(2)));
    made.push_back(builder.add_output(op, info));
  }
  builder.name_results();
  for (const TensorId tensor : made) {
    if (chance(0.1)) builder.add_result(tensor);
  }
  return builder.build();
}

/// Alike links, or links that differ, have latencies and share channels, on devices with one engine or one per
/// link, by kind; names out of order.
inline std::shared_ptr<const Cluster> tangled_cluster(Random& random, int count) {
  const auto chance = [&](double p) { return random.uniform() < p; };
  const std::vector<int> name = shuffled(random, count);
  std::vector<Device> devices(static_cast<std::size_t>(count));
  const bool overhead = chance(0.5);
  for (int d = 0; d < count; ++d) {
    Device& device = devices[static_cast<std::size_t>(d)];
    device.name = numbered("d", 100 + name[static_cast<std::size_t>(d)]);
    device.host = d == 2 || d == 5;
    device.kind = device.host ? "host" : d % 3 == 2 ? "slow" : "fast";
    device.engine_per_link = (device.host ? name.back() : name.front() + d % 3 / 2) % 3 == 1;
    device.op_overhead_us = overhead ? (device.kind == "fast" ? 1 : 2) : 0;
    device.memory_bytes = chance(0.5) ? kNoLimit : 300000;
  }
  std::vector<LinkSpec> links = {{"*", "*", 7.6e9, chance(0.5) ? 0.0 : 3.0, {}, chance(0.2)}};
  if (!links.front().parallel && chance(0.3)) links.front().shares = {"bus"};
  if (chance(0.6)) {
    for (int a = 0; a < count; ++a) {
      for (int b = 0; b < count; ++b) {
        if (a == b || chance(0.4)) continue;
        LinkSpec link;
        link.src = devices[static_cast<std::size_t>(a)].name;
        link.dst = devices[static_cast<std::size_t>(b)].name;
        link.bandwidth_bytes_per_s = 7.6e9 / static_cast<double>(1 + random.below(3));
        link.latency_us = static_cast<double>(random.below(3));
        link.parallel = chance(0.2);
        if (!link.parallel && chance(0.2)) {
          link.receiver_us = static_cast<double>(random.below(3));
        }
        for (int channel = 0; channel < 3 && !link.parallel && !link.receiver_us; ++channel) {
          if (chance(0.3)) link.shares.push_back(numbered("bridge", channel));
        }
        links.push_back(link);
      }
    }
  }
  return std::make_shared<const Cluster>("tangled", std::move(devices), links);
}

/// Few distinct costs, many of them 0, so that many events coincide; some ops need workspace.
inline std::shared_ptr<const Costs> tangled_costs(Random& random, const Graph& graph,
                                                  const Cluster& cluster) {
  const auto ops = static_cast<std::size_t>(graph.op_count());
  std::vector<std::vector<double>> us(static_cast<std::size_t>(cluster.kind_count()),
                                      std::vector<double>(ops, 0.0));
  std::vector<std::int64_t> workspace(ops);
  const bool smooth = random.uniform() < 0.3;
  for (std::size_t op = 0; op < ops; ++op) {
    const double cost = smooth ? 20 * random.uniform() : static_cast<double>(random.below(6)) / 2;
    for (std::size_t kind = 0; kind < us.size(); ++kind) {
      us[kind][op] = cost * static_cast<double>(kind + 1);
    }
    workspace[op] = random.uniform() < 0.8 ? 0 : static_cast<std::int64_t>(random.below(50000));
  }
  return std::make_shared<const Costs>(std::move(us), std::move(workspace), "tangled");
}

struct TangledShape {
  int ops = 40;
  int devices = 3;
  bool keeps = false;    ///< the host, where there is one, only keeps parameters for device 0
  bool lasting = false;  ///< constants of the step, and states
  bool sums = false;     ///< summing_graph
};

inline std::shared_ptr<const Problem> tangled_problem(Random& random, Semantics semantics,
                                                      Objective objective,
                                                      const TangledShape& shape) {
  const auto graph = shape.sums ? summing_graph(random, shape.ops)
                                : tangled_graph(random, shape.ops, shape.lasting);
  auto cluster = tangled_cluster(random, shape.devices);
  if (shape.keeps) cluster = cluster->with_hosts_keeping_for(0);
  ProblemOptions options;
  options.semantics = semantics;
  options.objective = objective;
  options.in_flight = static_cast<std::int64_t>(random.below(3));
  if (random.uniform() < 0.5) {
    // Gaps that add to coincidences, or none at all.
    options.device_gap_us = static_cast<double>(random.below(3));
    options.transfer_gap_us = static_cast<double>(random.below(3));
  }
  return std::make_shared<const Problem>(graph, cluster, tangled_costs(random, *graph, *cluster),
                                         nullptr, options);
}

inline Placement any_placement(Random& random, const Problem& problem) {
  Placement placement(static_cast<std::size_t>(problem.graph().op_count()));
  // Ops tend to stay where the one before is, as in placements that make sense.
  const double stay = random.uniform();
  DeviceId device = 0;
  for (DeviceId& chosen : placement) {
    if (random.uniform() >= stay) {
      device = static_cast<DeviceId>(
          random.below(static_cast<std::uint64_t>(problem.cluster().device_count())));
    }
    chosen = device;
  }
  if (problem.graph().states().empty()) return placement;
  const auto classes = problem.finest_groups();
  for (OpId op = 0; op < problem.graph().op_count(); ++op) {
    const OpId first = classes->members(classes->of(op)).front();
    placement[static_cast<std::size_t>(op)] = placement[static_cast<std::size_t>(first)];
  }
  return placement;
}

}  // namespace berth::test
