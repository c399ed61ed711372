#include "instances.h"

#include <algorithm>
#include <cmath>

#include "berth/error.h"
#include "berth/support/index.h"
#include "support/random_problem.h"
#include "support/random_rules.h"

namespace berth::differential {
namespace {

/// A generator that gives the genes first.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}
  explicit Draws(Genes genes) : genes_(std::move(genes)), random_(genes_.size()) {}

  std::uint64_t next() { return used_ < genes_.size() ? genes_[used_++] : random_.next(); }
  // As Random does it.
  std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>(
        (static_cast<long double>(next() >> 1) * static_cast<long double>(bound)) /
        9223372036854775808.0L);
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  Genes genes_;
  std::size_t used_ = 0;
  Random random_;
};

/// Draws for one instance.
class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed) {}
  Maker(Genes genes, OpId most_ops)
      : random_(std::move(genes)), most_ops_(most_ops), constrained_(false) {}

  Instance make() {
    Instance instance;
    try {
      const auto graph = make_graph();
      const auto cluster = make_cluster(*graph);
      const auto costs = make_costs(*graph, *cluster);
      std::shared_ptr<const Constraints> constraints;
      if (constrained_ && chance(0.4)) {
        Random own(random_.next());
        instance.rules = test::random_rules(own, *graph, *cluster, *costs, /*tries=*/6);
        std::vector<ConstraintRule> rules = instance.rules;
        if (chance(0.3)) rules.push_back(memory_margin_rule("10%", {}));
        constraints =
            std::make_shared<const Constraints>(*graph, *cluster, *costs, std::move(rules));
      }
      ProblemOptions options;
      options.objective = chance(0.4) ? Objective::throughput : Objective::latency;
      options.semantics = chance(0.4) ? Semantics::placeto : Semantics::dataflow;
      if (chance(0.2)) options.device_gap_us = options.transfer_gap_us = 0;
      auto groups = make_groups(*graph, *costs, constraints.get());
      instance.problem = std::make_shared<const Problem>(graph, cluster, costs, std::move(groups),
                                                         options, std::move(constraints));
    } catch (const Error& error) {
      instance.refusal = error.what();
    }
    return instance;
  }

 private:
  bool chance(double share) { return random_.uniform() < share; }
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least +
           static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most - least + 1)));
  }
  /// A power of ten in between, times 1 to 10.
  double decades(double least, double most) {
    return std::pow(10, least + (most - least) * random_.uniform());
  }
  template <typename T>
  T one_of(std::initializer_list<T> values) {
    return *(values.begin() + random_.below(values.size()));
  }

  std::shared_ptr<const Graph> make_graph() {
    const OpId ops = std::min(most_ops_, static_cast<OpId>(chance(0.4)   ? between(1, 6)
                                                           : chance(0.7) ? between(2, 20)
                                                                         : between(20, 90)));
    // Names whose order is another one than that of the ops, or that are prefixes of each other.
    const int style = static_cast<int>(between(0, 3));
    const auto name = [&](OpId op) -> std::string {
      if (style == 0) return "op" + std::to_string(op);
      if (style == 1) return std::string(at(op) + 1, 'a');
      if (style == 2) return "z" + std::to_string(1000 - op);
      return "s/" + std::to_string(op % 3) + "/x y\"\\" + std::to_string(op);
    };
    GraphBuilder builder("random");
    const double edge_chance = one_of({0.0, 0.05, 0.15, 0.3, 0.7});
    const OpId reach = static_cast<OpId>(one_of({1, 3, 1000}));
    const double control_chance = one_of({0.0, 0.1, 1.0});
    const double colocate_chance = one_of({0.0, 0.0, 0.3});
    const bool parameters = chance(0.5);
    const double shared_chance = one_of({0.0, 0.3});
    const int size_style = static_cast<int>(between(0, 3));
    const auto bytes = [&]() -> std::int64_t {
      if (size_style == 0 || chance(0.1)) return 0;
      if (size_style == 1) return between(1, 3);
      if (size_style == 2) return static_cast<std::int64_t>(decades(0, 10));
      return between(0, 1000000);
    };
    const auto sized = [](std::int64_t size) {
      TensorInfo info;
      info.bytes = size;
      return info;
    };
    std::vector<std::vector<TensorId>> outputs;
    for (OpId op = 0; op < ops; ++op) {
      builder.add_op(name(op), one_of({"Op", "Op", "Other", "Other", "Input"}));
      outputs.emplace_back();
      for (std::int64_t count = one_of({0, 1, 1, 1, 2}); count > 0; --count) {
        outputs.back().push_back(builder.add_output(op, sized(bytes())));
      }
    }
    const TensorId shared = builder.add_parameter(sized(bytes()));
    for (OpId op = 0; op < ops; ++op) {
      for (OpId src = std::max<OpId>(0, op - reach); src < op; ++src) {
        if (!chance(edge_chance)) continue;
        const auto& from = outputs[at(src)];
        if (from.empty() || chance(control_chance)) {
          builder.add_control_edge(src, op);
        } else {
          builder.add_input(op, from[random_.below(from.size())]);
        }
      }
      if (chance(colocate_chance)) {
        builder.set_colocation(op, "class" + std::to_string(between(0, 2)));
      }
      if (parameters) builder.set_param_bytes(op, bytes());
      if (chance(shared_chance)) builder.add_input(op, shared);
    }
    return builder.build();
  }

  std::shared_ptr<const Cluster> make_cluster(const Graph& graph) {
    const std::int64_t count = chance(0.05) ? between(7, 20) : between(1, 5);
    const std::int64_t kinds = between(1, std::min<std::int64_t>(3, count));
    const bool hosts = chance(0.4);
    double all_bytes = static_cast<double>(graph.total_param_bytes());
    for (OpId op = 0; op < graph.op_count(); ++op) {
      all_bytes += static_cast<double>(graph.output_bytes(op));
    }
    const bool limited = chance(0.4);
    const double share = one_of({0.2, 0.6, 1.0, 2.0});
    const double overhead_us = one_of({0.0, 3.5});
    std::vector<Device> devices;
    for (std::int64_t d = 0; d < count; ++d) {
      Device device;
      device.name = one_of({"d", "gpu:", "/device:GPU:"}) + std::to_string(d);
      const std::int64_t kind = d < kinds ? d : between(0, kinds - 1);
      device.kind = "k" + std::to_string(kind);
      device.host = hosts && kind == 0;
      device.op_overhead_us = overhead_us * static_cast<double>(kind);
      if (limited && chance(0.8)) {
        device.memory_bytes = static_cast<std::int64_t>(share * all_bytes * random_.uniform());
      }
      devices.push_back(std::move(device));
    }
    std::vector<LinkSpec> links;
    const int style = static_cast<int>(between(0, 3));
    const double parallel = one_of({0.0, 0.0, 0.3, 1.0});
    const auto link = [&](const std::string& src, const std::string& dst) {
      LinkSpec spec{src, dst, 1e9 + 1e10 * random_.uniform(), 20 * random_.uniform(), {}};
      if (style == 2) spec.bandwidth_bytes_per_s = one_of({0.001, 1.0, 1e6, 1e10, 1e30});
      if (style == 2) spec.latency_us = one_of({0.0, 1.0, 1e6});
      if (style == 3 && chance(0.5)) spec.shares.emplace_back(chance(0.5) ? "bus" : "switch");
      spec.parallel = spec.shares.empty() && chance(parallel);
      return spec;
    };
    if (style == 0) {
      links.push_back(link("*", "*"));
    } else {
      for (const Device& src : devices) {
        for (const Device& dst : devices) {
          if (src.name != dst.name) links.push_back(link(src.name, dst.name));
        }
      }
    }
    return std::make_shared<const Cluster>("random", std::move(devices), links);
  }

  std::shared_ptr<const Costs> make_costs(const Graph& graph, const Cluster& cluster) {
    const auto kinds = static_cast<std::size_t>(cluster.kind_count());
    const int style = static_cast<int>(between(0, 4));
    const double cannot_chance = one_of({0.0, 0.0, 0.1, 0.5});
    const auto us = [&]() -> double {
      if (style == 0 || chance(0.1)) return 0;
      if (style == 1) return static_cast<double>(between(1, 3));
      if (style == 2) return decades(-9, 12);
      return 100 * random_.uniform();
    };
    std::vector<std::vector<double>> table(kinds, std::vector<double>(at(graph.op_count()), 0));
    const auto classes = colocation_groups(graph);
    for (GroupId group = 0; group < classes->count(); ++group) {
      const std::size_t able = random_.below(kinds);
      for (std::size_t kind = 0; kind < kinds; ++kind) {
        const bool can = kind == able || !chance(cannot_chance);
        for (const OpId op : classes->members(group)) table[kind][at(op)] = can ? us() : kCannotRun;
      }
    }
    std::vector<std::int64_t> workspace;
    if (chance(0.2)) {
      for (OpId op = 0; op < graph.op_count(); ++op) workspace.push_back(between(0, 1000));
    }
    return std::make_shared<const Costs>(std::move(table), std::move(workspace), "random");
  }

  std::shared_ptr<const Groups> make_groups(const Graph& graph, const Costs& costs,
                                            const Constraints* constraints) {
    if (chance(0.5)) return nullptr;
    const auto count = static_cast<GroupId>(between(1, graph.op_count()));
    if (chance(0.5)) return coarsen(graph, costs, count, constraints);
    if (chance(0.4)) return icml2017_groups(graph, costs);
    if (chance(0.5)) return placeto_groups(graph, costs, count);
    // Whatever a user may think of, cycles and ops without a common device included.
    const auto classes = colocation_groups(graph);
    std::vector<GroupId> label;
    for (GroupId group = 0; group < classes->count(); ++group) {
      label.push_back(static_cast<GroupId>(between(0, count - 1)));
    }
    std::vector<GroupId> of_op;
    for (OpId op = 0; op < graph.op_count(); ++op) of_op.push_back(label[at(classes->of(op))]);
    return std::make_shared<const Groups>(graph, std::move(of_op));
  }

  Draws random_;
  OpId most_ops_ = 1000;
  bool constrained_ = true;
};

/// More than most instances draw.
constexpr std::size_t kGenes = 600;

}  // namespace

Instance make_instance(std::uint64_t seed) {
  return Maker(seed).make();
}

Genes random_genes(Random& random) {
  Genes genes(kGenes);
  for (std::uint64_t& gene : genes) gene = random.next();
  return genes;
}

Instance make_instance(const Genes& genes, OpId most_ops) {
  return Maker(genes, most_ops).make();
}

}  // namespace berth::differential
