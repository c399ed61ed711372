// Random constraints, and what a placement breaks of them, without any help of the engine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "berth/constraints.h"
#include "berth/error.h"
#include "berth/problem.h"
#include "berth/sdk/random.h"

namespace berth::test {

inline ConstraintRule rule_by_names(ConstraintRule::Kind kind,
                                    const std::vector<std::string>& names,
                                    std::vector<std::string> devices = {}) {
  ConstraintRule made;
  made.kind = kind;
  for (const std::string& name : names) made.ops.push_back({name, {}, {}, {}});
  made.devices = std::move(devices);
  return made;
}

/// Rules about two random ops each, out of `tries` as many as agree with each other.
inline std::vector<ConstraintRule> random_rules(Random& random, const Graph& graph,
                                                const Cluster& cluster, const Costs& costs,
                                                int tries = 12) {
  using Kind = ConstraintRule::Kind;
  const auto op = [&] {
    return graph.op_name(
        static_cast<OpId>(random.below(static_cast<std::uint64_t>(graph.op_count()))));
  };
  std::vector<ConstraintRule> rules;
  for (int i = 0; i < tries; ++i) {
    const auto kind = static_cast<Kind>(random.below(4));
    const auto device =
        static_cast<DeviceId>(random.below(static_cast<std::uint64_t>(cluster.device_count())));
    rules.push_back(kind == Kind::pin || kind == Kind::forbid
                        ? rule_by_names(kind, {op(), op()}, {cluster.device(device).name})
                        : rule_by_names(kind, {op(), op()}));
    try {
      static_cast<void>(Constraints(graph, cluster, costs, rules));
    } catch (const Error&) {
      rules.pop_back();
    }
  }
  return rules;
}

/// The first of `rules` that `placement` breaks; empty where it keeps all.
inline std::string broken_rule(const Graph& graph, const Cluster& cluster,
                               const std::vector<ConstraintRule>& rules,
                               const Placement& placement) {
  using Kind = ConstraintRule::Kind;
  for (const ConstraintRule& each : rules) {
    std::vector<DeviceId> on;
    for (const OpSelector& selector : each.ops) {
      on.push_back(placement[static_cast<std::size_t>(*graph.find_op(selector.name))]);
      const bool listed =
          !each.devices.empty() && cluster.device(on.back()).name == each.devices.front();
      if (each.kind == Kind::pin && !listed) return to_text(each);
      if (each.kind == Kind::forbid && listed) return to_text(each);
    }
    if (each.kind == Kind::colocate && on.front() != on.back()) return to_text(each);
    // A rule about one op twice keeps nothing apart.
    const bool two = each.ops.size() == 2 && each.ops[0].name != each.ops[1].name;
    if (each.kind == Kind::separate && two && on.front() == on.back()) return to_text(each);
  }
  return {};
}

}  // namespace berth::test
