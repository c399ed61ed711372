#include "berth/sdk/separation.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>

#include "berth/error.h"
#include "berth/sdk/random.h"
#include "support/constrained_chain.h"
#include "support/expect_error.h"

using namespace berth;
using namespace berth::test;

TEST_CASE("SeparationTracker: follows moves") {
  const Chain chain;
  const auto problem = chain.problem({separate({like("a/.*"), like("b/.*"), named("out")})});
  const auto group = [&](OpId op) { return problem->groups().of(op); };
  const GroupPlacement devices(at(problem->groups().count()), Chain::kGpu0);
  SeparationTracker tracker(*problem, devices);
  CHECK(tracker.separated_groups().size() == 4);  // b/1 and b/2 are one
  CHECK(tracker.may_be_on(group(Chain::kIn), Chain::kGpu0));
  CHECK_FALSE(tracker.may_be_on(group(Chain::kA1), Chain::kGpu0));
  CHECK(tracker.may_be_on(group(Chain::kA1), Chain::kCpu));
  tracker.move(group(Chain::kB1), Chain::kGpu0, Chain::kGpu1);
  CHECK_FALSE(tracker.may_be_on(group(Chain::kA1), Chain::kGpu0));  // out is there still
  tracker.move(group(Chain::kOut), Chain::kGpu0, kNoDevice);
  CHECK(tracker.may_be_on(group(Chain::kA1), Chain::kGpu0));
  CHECK(tracker.may_be_on(group(Chain::kA2), Chain::kGpu0));  // of one part
  CHECK_FALSE(tracker.may_be_on(group(Chain::kA1), Chain::kGpu1));
}

namespace {

/// Whether some assignment obeys everything, by trying all.
bool possible(const Graph& graph, const Cluster& cluster, const std::vector<ConstraintRule>& rules,
              const Costs& costs) {
  // Each rule alone has been checked: only what rules mean together is tried here.
  const auto ops = static_cast<std::size_t>(graph.op_count());
  Placement placement(ops, 0);
  const auto obeys = [&](const ConstraintRule& rule) {
    const auto selects = [&](const OpSelector& selector, OpId op) {
      return graph.op_name(op) == selector.name;
    };
    for (OpId a = 0; a < graph.op_count(); ++a) {
      const DeviceId at_a = placement[static_cast<std::size_t>(a)];
      if (!costs.can_run(a, cluster.kind_of(at_a))) return false;
      for (std::size_t i = 0; i < rule.ops.size(); ++i) {
        if (!selects(rule.ops[i], a)) continue;
        const bool listed = std::find(rule.devices.begin(), rule.devices.end(),
                                      cluster.device(at_a).name) != rule.devices.end();
        if (rule.kind == Kind::pin && !listed) return false;
        if (rule.kind == Kind::forbid && listed) return false;
        for (OpId b = 0; b < graph.op_count(); ++b) {
          for (std::size_t j = 0; j < rule.ops.size(); ++j) {
            if (!selects(rule.ops[j], b)) continue;
            const bool together = at_a == placement[static_cast<std::size_t>(b)];
            if (rule.kind == Kind::colocate && !together) return false;
            if (rule.kind == Kind::separate && i != j && together) return false;
          }
        }
      }
    }
    return true;
  };
  for (;;) {
    if (std::all_of(rules.begin(), rules.end(), obeys)) return true;
    std::size_t i = 0;
    while (i < ops && ++placement[i] == cluster.device_count()) placement[i++] = 0;
    if (i == ops) return false;
  }
}

}  // namespace

TEST_CASE("Constraints: a conflict is found exactly where no placement obeys the rules") {
  int conflicts = 0;
  int obeyed = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const auto count = static_cast<OpId>(2 + random.below(4));
    GraphBuilder builder("random");
    for (OpId op = 0; op < count; ++op) builder.add_op("op" + std::to_string(op), "Op");
    const auto graph = builder.build();
    const Chain chain;
    std::vector<std::vector<double>> us(2, std::vector<double>(static_cast<std::size_t>(count), 1));
    for (double& cost : us[0]) cost = random.uniform() < 0.2 ? kCannotRun : 1;
    const Costs costs(us, {}, "test");
    std::vector<ConstraintRule> rules;
    const auto some_op = [&] {
      return named("op" + std::to_string(random.below(static_cast<std::uint64_t>(count))));
    };
    for (std::uint64_t i = random.below(6) + 1; i > 0; --i) {
      const auto kind = static_cast<Kind>(random.below(4));
      const auto device = static_cast<DeviceId>(random.below(3));
      if (kind == Kind::pin || kind == Kind::forbid) {
        rules.push_back(rule(kind, {some_op()}, {chain.cluster->device(device).name}));
      } else {
        rules.push_back(rule(kind, {some_op(), some_op()}));
        if (random.uniform() < 0.3) rules.back().ops.push_back(some_op());
      }
    }
    std::optional<Error> refused;
    try {
      const auto constraints =
          std::make_shared<const Constraints>(*graph, *chain.cluster, costs, rules);
      const Problem problem(graph, chain.cluster, std::make_shared<const Costs>(costs), nullptr, {},
                            constraints);
      // And devices that keep apart what is separated are found.
      GroupId groups = problem.groups().count();
      GroupPlacement devices(at(groups), kNoDevice);
      for (GroupId group = 0; group < groups; ++group) {
        DeviceId d = 0;
        while (!problem.can_run(group, d)) ++d;
        devices[group] = d;
      }
      for (const auto& [group, d] : separated_devices(problem, devices)) {
        devices[group] = d;
      }
      CHECK_NOTHROW(problem.validate(problem.groups().expand(devices)));
    } catch (const Error& error) {
      refused = error;
    }
    const bool can = possible(*graph, *chain.cluster, rules, costs);
    CHECK(can == !refused.has_value());
    if (refused) CHECK(refused->code() == ErrorCode::infeasible);
    (can ? obeyed : conflicts) += 1;
  }
  CHECK(obeyed > 50);
  CHECK(conflicts > 50);
}

TEST_CASE("separated_devices: stays where it can") {
  const Chain chain;
  const auto problem = chain.problem({separate({named("a/1"), named("a/2")})});
  GroupPlacement devices(at(problem->groups().count()), Chain::kGpu1);
  devices[problem->groups().of(Chain::kA2)] = Chain::kCpu;
  for (const auto& [group, device] : separated_devices(*problem, devices)) {
    CHECK(device == devices[group]);
  }
}
