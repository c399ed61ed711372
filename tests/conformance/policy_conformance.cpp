// What every policy owes its callers: one body over all policy plugins of the build, over one that is
// registered in process, and over those of examples/lua.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "berth/engine.h"
#include "berth/error.h"
#include "berth/evaluator.h"
#include "lua/host.h"
#include "support/expect_error.h"
#include "support/paths.h"
#include "support/random_problem.h"
#include "support/random_rules.h"

using namespace berth;
using namespace berth::test;

namespace {

constexpr double kNoBudget = std::numeric_limits<double>::infinity();
constexpr int kNeverStop = std::numeric_limits<int>::max();

/// The smallest policy: the first device that can run each group.
class FirstFit final : public Policy {
 public:
  PolicyAnswer place(Evaluator& evaluator, const PlaceContext&) override {
    const Problem& problem = evaluator.problem();
    GroupPlacement devices;
    for (GroupId group = 0; group < problem.groups().count(); ++group) {
      DeviceId device = 0;
      while (!problem.can_run(group, device)) ++device;
      devices.push_back(device);
    }
    const Placement placement = problem.groups().expand(devices);
    if (!evaluator.evaluate(placement).feasible) {
      throw Error(ErrorCode::infeasible, "the first devices are too small");
    }
    return placement;
  }
};

constexpr PluginDescriptor kRegistered =
    describe_plugin<FirstFit>("first_fit", "1", "registered by the conformance suite");

Engine& engine() {
  static Engine instance({test::plugin_folder()});
  static const bool registered = (instance.register_plugin(kRegistered), true);
  static_cast<void>(registered);
  return instance;
}

#ifdef BERTH_LUA_POLICIES

}  // namespace

/// What the host below holds at the end looks like a leak: the sanitizer does not look into LuaJIT's
/// memory. That scripts free everything is tested where a host ends (test_lua).
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libtorch\nleak:module_torch\nleak:berth::lua::\n";
}

namespace {

/// With the examples' policies that this build can run.
lua::Host& host() {
  // Never destroyed: LibTorch, which its scripts load, would be gone before a static of this program.
  static lua::Host& instance = *new lua::Host(engine(), source_folder() / "scripts");
  static const bool registered = [] {
    std::istringstream names(BERTH_LUA_POLICIES);
    for (std::string name; names >> name;) {
      static_cast<void>(
          instance.make_policy((source_folder() / "examples/lua" / (name + ".lua")).string()));
    }
    return true;
  }();
  static_cast<void>(registered);
  return instance;
}

std::vector<PluginInfo> plugins() {
  return host().plugins();
}
std::unique_ptr<Policy> make_policy(const std::string& name, const OptionTexts& options) {
  return host().make_policy(name, options);
}

#else

std::vector<PluginInfo> plugins() {
  return engine().plugins();
}
std::unique_ptr<Policy> make_policy(const std::string& name, const OptionTexts& options) {
  return engine().make_policy(name, options);
}

#endif

std::vector<PluginInfo> policies() {
  std::vector<PluginInfo> infos = plugins();
  std::erase_if(infos, [](const PluginInfo& info) { return info.kind != PluginKind::policy; });
  return infos;
}

/// What the policy is to be told of a problem that it cannot find out.
OptionTexts options_for(const std::string& name, const Problem& problem) {
  if (name != "placeto_lua") return {};
  return {{"devices", std::int64_t{problem.cluster().device_count()}}};
}

struct Case {
  std::string name;
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<const Cluster> cluster;
  std::shared_ptr<const Costs> costs;
  GroupId groups = 0;  ///< 0: the finest
  std::shared_ptr<const Constraints> constraints = nullptr;
};

Case random_case(std::string name, std::uint64_t seed, const RandomGraphShape& graph_shape,
                 const RandomClusterShape& cluster_shape, double max_us = 100,
                 double cannot_run_chance = 0, GroupId groups = 0) {
  Random random(seed);
  auto graph = random_graph(random, graph_shape);
  auto cluster = random_cluster(random, cluster_shape);
  auto costs = random_costs(random, *graph, *cluster, max_us, cannot_run_chance);
  return {std::move(name), std::move(graph), std::move(cluster), std::move(costs), groups};
}

std::vector<Case> cases() {
  std::vector<Case> all;
  all.push_back(random_case("one op", 1, {.ops = 1}, {.devices = 3}));
  all.push_back(random_case("one device", 2, {.ops = 20}, {.devices = 1}));
  all.push_back(random_case("one op on one device", 3, {.ops = 1}, {.devices = 1}));
  all.push_back(random_case("more devices than ops", 4, {.ops = 3}, {.devices = 9}));
  all.push_back(random_case("two devices", 5, {.ops = 30, .edge_chance = 0.1}, {.devices = 2}));
  all.push_back(random_case("no edges", 6, {.ops = 25, .edge_chance = 0}, {.devices = 4}));
  all.push_back(random_case("several components", 7, {.ops = 40, .edge_chance = 0.3, .reach = 2},
                            {.devices = 4}));
  all.push_back(random_case("no compute", 8, {.ops = 20}, {.devices = 3}, /*max_us=*/0));
  all.push_back(random_case("empty tensors", 9, {.ops = 20, .max_bytes = 0}, {.devices = 3}));
  all.push_back(
      random_case("control edges alone", 10, {.ops = 20, .control_chance = 1}, {.devices = 3}));
  all.push_back(random_case("co-location", 11,
                            {.ops = 40, .edge_chance = 0.1, .colocate_chance = 0.4, .classes = 5},
                            {.devices = 3}));
  all.push_back(random_case("a host among them", 12, {.ops = 30, .edge_chance = 0.1},
                            {.devices = 4, .kinds = 2, .host = true}));
  all.push_back(random_case("only hosts", 13, {.ops = 10}, {.devices = 1, .host = true}));
  all.push_back(random_case("ops that kinds cannot run", 14,
                            {.ops = 60, .edge_chance = 0.1, .colocate_chance = 0.2},
                            {.devices = 5, .kinds = 3, .host = true}, 100,
                            /*cannot_run_chance=*/0.5));
  all.push_back(random_case("coarse groups", 15, {.ops = 80, .edge_chance = 0.1},
                            {.devices = 4, .kinds = 2}, 100, 0, /*groups=*/8));
  all.push_back(
      random_case("parameters that no device holds alone", 16,
                  {.ops = 40, .edge_chance = 0.1, .max_bytes = 10, .max_param_bytes = 1000},
                  {.devices = 4, .memory_bytes = 9000}));
  all.push_back(random_case("shared parameters", 17,
                            {.ops = 40,
                             .edge_chance = 0.1,
                             .max_bytes = 10,
                             .max_param_bytes = 1000,
                             .shared_parameter_chance = 0.4},
                            {.devices = 4, .memory_bytes = 9000}));
  all.push_back(random_case("memory that nothing fits in", 18, {.ops = 20, .max_param_bytes = 1000},
                            {.devices = 3, .memory_bytes = 10}));
  all.push_back(random_case("outputs that crowd the memory", 19,
                            {.ops = 40, .edge_chance = 0.2, .reach = 5, .max_bytes = 1000},
                            {.devices = 4, .memory_bytes = 6000}));
  return all;
}

std::shared_ptr<const Problem> problem_of(const Case& c, Objective objective, Semantics semantics) {
  const auto groups =
      c.groups == 0 ? nullptr : coarsen(*c.graph, *c.costs, c.groups, c.constraints.get());
  ProblemOptions options;
  options.objective = objective;
  options.semantics = semantics;
  return std::make_shared<const Problem>(c.graph, c.cluster, c.costs, groups, options,
                                         c.constraints);
}

/// The placement, or empty where the policy says that it finds none that fits. It is to stop once
/// it has asked `asks` times.
Placement place_or_report(const std::string& name, const std::shared_ptr<const Problem>& problem,
                          int threads, std::uint64_t seed, int asks) {
  const auto policy = make_policy(name, options_for(name, *problem));
  const auto evaluator = make_simulation_evaluator(problem, threads);
  PlaceContext context;
  context.seed = seed;
  if (asks != kNeverStop) context.should_stop = [&asks] { return asks-- <= 0; };
  try {
    const PlaceResult result = place(*policy, *evaluator, context, kNoBudget);
    // place() has validated devices, kinds and co-location.
    CHECK(result.evaluation.feasible);
    CHECK(result.evaluation.objective_us >= result.bound.us * (1 - 1e-9));
    if (result.best_single.device != kNoDevice) {
      CHECK(result.best_single.evaluation.objective_us >= result.bound.us * (1 - 1e-9));
    }
    if (result.learned) {  // whose the answer is, is told as it is
      const LearnedFigures& learned = *result.learned;
      CHECK(learned.best == result.placement);
      // The policy's own may be where its episode began, and is then not called its own.
      if (learned.whose == Whose::own) CHECK(learned.own == result.placement);
      if (!learned.own.empty() && learned.own_evaluation.feasible) {
        CHECK(result.evaluation.objective_us <= learned.own_evaluation.objective_us);
      }
      CHECK(learned.text().empty() == (learned.whose == Whose::own));
      if (learned.start) CHECK_FALSE(learned.start_name.empty());
    }
    return result.placement;
  } catch (const Error& error) {
    CHECK_MESSAGE(error.code() == ErrorCode::infeasible, std::string(error.what()));
    return {};
  }
}

}  // namespace

TEST_CASE("policies: the plugins of this build are found") {
  std::set<std::string> names;
  for (const PluginInfo& info : policies()) names.insert(info.name);
  // BERTH_POLICIES: those for which this machine has the libraries.
  std::istringstream expected("first_fit " BERTH_POLICIES);
  for (std::string name; expected >> name;) CHECK_MESSAGE(names.contains(name), name);
  CHECK(engine().problems().empty());
}

TEST_CASE("policies: placements are valid, feasible or reported, and depend on the seed alone") {
  for (const PluginInfo& info : policies()) {
    CAPTURE(info.name);
    for (const Case& c : cases()) {
      CAPTURE(c.name);
      for (const Objective objective : {Objective::latency, Objective::throughput}) {
        CAPTURE(objective_name(objective));
        for (const Semantics semantics : {Semantics::dataflow, Semantics::placeto}) {
          CAPTURE(semantics_name(semantics));
          const auto problem = problem_of(c, objective, semantics);
          const Placement first = place_or_report(info.name, problem, 1, 5, kNeverStop);
          CHECK(place_or_report(info.name, problem, 2, 5, kNeverStop) == first);
          place_or_report(info.name, problem, 1, std::numeric_limits<std::uint64_t>::max(), 0);
        }
      }
    }
  }
}

TEST_CASE("policies: one that says that it begins with nothing finds the same with a start") {
  const std::vector<PluginInfo> all = policies();
  int count = 0;
  for (const Case& c : cases()) {
    CAPTURE(c.name);
    const auto problem = problem_of(c, Objective::latency, Semantics::dataflow);
    // Another good one, for a policy that would rather begin with it.
    const Placement other = place_or_report("auto", problem, 1, 5, kNeverStop);
    for (const PluginInfo& info : all) {
      CAPTURE(info.name);
      const auto policy = make_policy(info.name, options_for(info.name, *problem));
      if (policy->takes_starts()) continue;
      ++count;
      const Placement without = place_or_report(info.name, problem, 1, 5, kNeverStop);
      if (without.empty()) continue;
      PlaceContext context;
      context.seed = 5;
      if (!other.empty()) context.initial = {other};
      const auto evaluator = make_simulation_evaluator(problem, 1);
      CHECK(place(*policy, *evaluator, context, kNoBudget).placement == without);
    }
  }
  CHECK(count > 0);
}

TEST_CASE("policies: an answer exists where memory is plenty") {
  for (const PluginInfo& info : policies()) {
    CAPTURE(info.name);
    for (const Case& c : cases()) {
      CAPTURE(c.name);
      if (c.cluster->device(0).memory_bytes != kNoLimit) continue;
      const auto problem = problem_of(c, Objective::latency, Semantics::dataflow);
      CHECK_FALSE(place_or_report(info.name, problem, 1, 5, 0).empty());
    }
  }
}

TEST_CASE("policies: constraints are obeyed by all") {
  for (const PluginInfo& info : policies()) {
    if (info.name == kRegistered.name) continue;  // does not call finish
    CAPTURE(info.name);
    std::uint64_t seed = 0;
    for (Case c : cases()) {
      CAPTURE(c.name);
      Random random(++seed);
      const std::vector<ConstraintRule> rules =
          random_rules(random, *c.graph, *c.cluster, *c.costs);
      c.constraints = std::make_shared<const Constraints>(*c.graph, *c.cluster, *c.costs, rules);
      for (const GroupId groups : {0, 6}) {
        c.groups = groups;
        for (const Objective objective : {Objective::latency, Objective::throughput}) {
          const auto problem = problem_of(c, objective, Semantics::dataflow);
          const Placement placement = place_or_report(info.name, problem, 1, seed, kNeverStop);
          if (!placement.empty())
            CHECK(broken_rule(*c.graph, *c.cluster, rules, placement).empty());
          const bool plenty = c.cluster->device(0).memory_bytes == kNoLimit;
          // On more than one device perhaps: `single` moves only what it must, as any repair.
          if (plenty) CHECK_FALSE(placement.empty());
        }
      }
    }
  }
}

TEST_CASE("policies: constraints are obeyed where groups are too many to be decided one by one") {
  // More than any policy that learns decides by default: it makes coarser groups by itself.
  const Case c = random_case("large", 20, {.ops = 700, .edge_chance = 0.005, .reach = 40},
                             {.devices = 4, .kinds = 2, .host = true}, 100,
                             /*cannot_run_chance=*/0.1);
  Random random(21);
  const std::vector<ConstraintRule> rules = random_rules(random, *c.graph, *c.cluster, *c.costs);
  Case ruled = c;
  ruled.constraints = std::make_shared<const Constraints>(*c.graph, *c.cluster, *c.costs, rules);
  const auto problem = problem_of(ruled, Objective::latency, Semantics::dataflow);
  REQUIRE(problem->groups().count() > 320);
  for (const PluginInfo& info : policies()) {
    if (info.name == kRegistered.name) continue;  // does not call finish
    CAPTURE(info.name);
    for (const int asks : {0, 30}) {
      const Placement placement = place_or_report(info.name, problem, 1, 5, asks);
      REQUIRE_FALSE(placement.empty());
      CHECK(broken_rule(*c.graph, *c.cluster, rules, placement).empty());
    }
  }
}

TEST_CASE("policies: no op is on a device that does not run it by what it says") {
  // A chain of three types; the third device is the fastest by far, and runs two of them, in 16 bits.
  constexpr OpId kOps = 60;
  constexpr const char* kTypes[] = {"Conv", "Relu", "Loop"};
  GraphBuilder builder("chain");
  TensorId last = 0;
  for (OpId op = 0; op < kOps; ++op) {
    builder.add_op("op" + std::to_string(op), kTypes[op % 3]);
    TensorInfo info;
    info.bytes = 8;
    info.dtype = op % 5 == 0 ? DType::f32 : DType::f16;
    if (op > 0) builder.add_input(op, last);
    last = builder.add_output(op, info);
  }
  Device host, gpu, npu;
  host.name = host.kind = "cpu";
  host.host = true;
  gpu.name = gpu.kind = "gpu";
  npu.name = npu.kind = "npu";
  npu.runs = {{"Conv", "Relu"}, {DType::f16}};
  const std::vector<double> slow(kOps, 100), fast(kOps, 1);
  const Case c{"phone", builder.build(),
               std::make_shared<const Cluster>("phone", std::vector<Device>{host, gpu, npu},
                                               std::vector<LinkSpec>{{"*", "*", 1e9, 1, {}}}),
               std::make_shared<const Costs>(std::vector{slow, slow, fast},
                                             std::vector<std::int64_t>(), "test")};
  for (const PluginInfo& info : policies()) {
    CAPTURE(info.name);
    for (Case grouped = c; const GroupId groups : {0, 12}) {
      grouped.groups = groups;
      const auto problem = problem_of(grouped, Objective::latency, Semantics::dataflow);
      const Placement placement = place_or_report(info.name, problem, 1, 5, kNeverStop);
      REQUIRE_FALSE(placement.empty());
      for (OpId op = 0; op < kOps; ++op) {
        if (placement[static_cast<std::size_t>(op)] != 2) continue;
        CHECK(op_refusal(*c.graph, op, c.cluster->device(2)).empty());
      }
    }
  }
}

TEST_CASE("policies: ops for the host alone keep little else there") {
  // A chain that is quick on two devices and slow on the host, which alone can run every eighth op.
  constexpr OpId kOps = 400;
  GraphBuilder builder("chain");
  std::vector<std::vector<double>> us(2);
  TensorId last = 0;
  for (OpId op = 0; op < kOps; ++op) {
    builder.add_op("op" + std::to_string(op), "Op");
    TensorInfo info;
    info.bytes = 8;
    if (op > 0) builder.add_input(op, last);
    last = builder.add_output(op, info);
    us[0].push_back(op % 8 == 3 ? 1 : 100);
    us[1].push_back(op % 8 == 3 ? kCannotRun : 10);
  }
  Device host, first, second;
  host.name = host.kind = "host";
  host.host = true;
  first.name = "gpu:0";
  second.name = "gpu:1";
  first.kind = second.kind = "gpu";
  const Case c{"chain", builder.build(),
               std::make_shared<const Cluster>("machine", std::vector<Device>{host, first, second},
                                               std::vector<LinkSpec>{{"*", "*", 1e9, 1, {}}}),
               std::make_shared<const Costs>(std::move(us), std::vector<std::int64_t>(), "test")};
  const double on_host_us =
      make_simulation_evaluator(problem_of(c, Objective::latency, Semantics::dataflow), 1)
          ->evaluate(Placement(kOps, 0))
          .objective_us;
  for (const PluginInfo& info : policies()) {
    if (info.name == kRegistered.name) continue;  // takes the first device
    CAPTURE(info.name);
    for (Case grouped = c; const GroupId groups : {0, 40, 2}) {
      CAPTURE(groups);
      grouped.groups = groups;
      const auto problem = problem_of(grouped, Objective::latency, Semantics::dataflow);
      const Placement placement = place_or_report(info.name, problem, 1, 5, kNeverStop);
      CHECK(make_simulation_evaluator(problem, 1)->evaluate(placement).objective_us <
            0.8 * on_host_us);
    }
  }
}

TEST_CASE("policies: options are checked against their declaration") {
  for (const PluginInfo& info : policies()) {
    CAPTURE(info.name);
    OptionTexts defaults;
    for (const PluginInfo::Option& option : info.options) {
      CAPTURE(option.name);
      CHECK_FALSE(option.meaning.empty());
      defaults[option.name] = option.default_value;
    }
    CHECK_NOTHROW(make_policy(info.name, defaults));

    try {
      static_cast<void>(make_policy(info.name, {{"no_such_option", std::int64_t{1}}}));
      FAIL("an unknown option was taken");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::invalid_argument);
      const std::string message = error.what();
      CHECK(message.find("no_such_option") != std::string::npos);
      CHECK(message.find(info.name) != std::string::npos);
      for (const PluginInfo::Option& option : info.options) {
        CHECK_MESSAGE(message.find(option.name) != std::string::npos, message);
      }
    }
    for (const PluginInfo::Option& option : info.options) {
      CAPTURE(option.name);
      std::vector<OptionValue> refused;
      const bool number = option.type == OptionType::integer || option.type == OptionType::real;
      if (option.type != OptionType::text || !option.choices.empty()) {
        refused.emplace_back(std::string("not a value"));
      }
      if (number) {
        for (const double value : {std::nan(""), HUGE_VAL, -HUGE_VAL}) refused.emplace_back(value);
        const double step = option.type == OptionType::integer ? 1 : 1e-3;
        if (std::isfinite(option.range.least)) refused.emplace_back(option.range.least - step);
        if (option.range.above_least) refused.emplace_back(option.range.least);
        if (std::isfinite(option.range.most)) refused.emplace_back(option.range.most + step);
      }
      for (const OptionValue& value : refused) {
        CAPTURE(to_text(value));
        expect_error(
            ErrorCode::invalid_argument,
            {"policy '" + info.name + "': option '" + option.name + "' takes ", option.allowed},
            [&] {
              static_cast<void>(make_policy(info.name, {{option.name, value}}));
            });
      }
    }
  }
}
