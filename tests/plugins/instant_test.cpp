#include <doctest/doctest.h>

#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "instant/clusters.h"
#include "instant/decoder.h"
#include "instant/rules.h"
#include "plugins/small_problem.h"
#include "support/constrained_chain.h"
#include "support/expect_error.h"
#include "support/layered_problem.h"
#include "support/temporary_folder.h"

using namespace berth;
using namespace berth::policies::instant;
using namespace berth::test;

namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

Rule rule_of(std::initializer_list<std::pair<Rule::Weight, double>> weights) {
  Rule rule;
  for (const auto& [weight, value] : weights) rule.weights[weight] = value;
  return rule;
}

GroupPlacement one_pass(const Problem& problem, const Decoder::Pass& pass) {
  std::vector<DeviceId> devices;
  for (DeviceId d = 0; d < problem.cluster().device_count(); ++d) devices.push_back(d);
  Random random(1);
  return Decoder(problem, devices).run(pass, random, [] { return false; }).value();
}

struct Answer {
  Placement placement;
  Evaluation evaluation;
  std::int64_t evaluations;  ///< of the policy
};

/// The answer after so many passes.
Answer passes(const std::shared_ptr<const Problem>& problem, std::int64_t count,
              OptionTexts options = {}, PlaceContext context = {}) {
  Engine engine({test::plugin_folder()});
  options["passes"] = count;
  const auto evaluator = make_simulation_evaluator(problem, 1);
  context.seed = 1;
  Placement placement =
      engine.make_policy("instant", options)->place(*evaluator, context).placement;
  const std::int64_t evaluations = evaluator->evaluations();
  problem->validate(placement);
  Evaluation evaluation = evaluator->evaluate(placement);
  return {std::move(placement), std::move(evaluation), evaluations};
}

std::shared_ptr<const Problem> layered(OpId ops, DeviceId devices) {
  LayeredShape shape;
  shape.ops = ops;
  const auto graph = layered_graph(/*seed=*/3, shape);
  const auto cluster = equal_devices(devices, /*latency_us=*/5);
  return std::make_shared<const Problem>(graph, cluster, Costs::stated(*graph, *cluster));
}

}  // namespace

TEST_CASE("instant: ops whose outputs are read together meet where that weighs enough") {
  // Two ops of 10 us, and one that reads 40 bytes of each, at one byte per microsecond.
  const auto problem =
      small_problem({{"a", "x"}, {"b", "x"}}, {{{10}}, {{10}}, {{1}}}, {{0, 2, 40}, {1, 2, 40}});
  CHECK(one_pass(*problem, {}) == GroupPlacement{0, 1, 0});
  CHECK(one_pass(*problem, {.rule = rule_of({{Rule::kJoin, 1}})}) == GroupPlacement{0, 0, 0});
}

TEST_CASE("instant: an op follows its consumers to where they were before") {
  const auto problem = small_problem({{"a", "x"}, {"b", "x"}}, {{{10}}, {{10}}}, {{0, 1, 40}});
  const GroupPlacement before{0, 1};
  Decoder::Pass pass;
  pass.before = &before;
  CHECK(one_pass(*problem, pass) == GroupPlacement{0, 0});
  pass.rule = rule_of({{Rule::kFuture, 1}});
  CHECK(one_pass(*problem, pass) == GroupPlacement{1, 1});
}

TEST_CASE("clustered: what takes longest to send shares a cluster, within its limits") {
  // 0 -40-> 1 -20-> 2 -40-> 3, of 10 us each, and 4 of 40 us that knows none of them.
  const auto chain = [](std::int64_t param_bytes, std::int64_t memory_bytes) {
    const SmallOp op{{10}, param_bytes};
    return small_problem({{"a", "x", memory_bytes}, {"b", "x", memory_bytes}},
                         {op, op, op, op, {{40}}}, {{0, 1, 40}, {1, 2, 20}, {2, 3, 40}});
  };
  const auto cluster = [](const std::shared_ptr<const Problem>& problem, double share,
                          double bind) {
    return clustered(*problem, policies::MeanTimes(*problem, {0, 1}), 2, share, bind);
  };
  const auto free = chain(0, kNoLimit);
  // Each of two devices has 40 us to do: half of that holds two ops, all of it four.
  const auto pairs = cluster(free, 0.5, 1);
  REQUIRE(pairs != nullptr);
  CHECK(pairs->problem->groups().count() == 3);
  CHECK(pairs->of[0] == pairs->of[1]);
  CHECK(pairs->of[2] == pairs->of[3]);
  CHECK(pairs->of[1] != pairs->of[2]);
  CHECK(cluster(free, 1, 1)->problem->groups().count() == 2);
  CHECK(pairs->spread(pairs->gather({1, 1, 0, 0, 1})) == GroupPlacement{1, 1, 0, 0, 1});
  CHECK(pairs->spread(pairs->gather({1, 0, 0, 0, 0})) == GroupPlacement{1, 1, 0, 0, 0});
  // The transfer between the pairs takes 20 us, as each of them does.
  CHECK(cluster(free, 1, 2)->problem->groups().count() == 3);
  CHECK(cluster(free, 1, 5) == nullptr);
  CHECK(cluster(free, 0.4, 1) == nullptr);
  CHECK(cluster(free, 0, 1) == nullptr);
  // A cluster takes at most a quarter of the memory.
  CHECK(cluster(chain(10, 80), 1, 1)->problem->groups().count() == 3);
  CHECK(cluster(chain(10, 79), 1, 1) == nullptr);
  // Only the second kind can run the second op.
  const auto apart =
      small_problem({{"a", "x"}, {"b", "y"}}, {{{10, 10}}, {{kNone, 10}}}, {{0, 1, 40}});
  CHECK(cluster(apart, 9, 0) == nullptr);
}

TEST_CASE("instant: rules with clusters keep to constraints") {
  const TemporaryFolder folder;
  const auto path = folder / "clusters.weights";
  std::ofstream(path) << "berth.instant/2\n1 1 1 0 0 0 1 0 0 2 0\n";
  const Chain chain;
  for (const auto& other :
       {colocate({named("in/x"), named("out")}), separate({named("a/2"), named("out")})}) {
    const auto problem = chain.problem({pin(named("a/1"), {"gpu:1"}), other});
    const Answer answer = passes(problem, 8, {{"weights", path.string()}});  // it is validated
    CHECK(answer.placement[Chain::kA1] == Chain::kGpu1);
  }
}

TEST_CASE("instant: a pass that is to stop has no answer") {
  const auto problem = layered(2000, 4);
  Random random(1);
  Decoder decoder(*problem, {0, 1, 2, 3});
  int asked = 0;
  const auto stop = [&] { return ++asked == 2; };
  CHECK_FALSE(decoder.run({}, random, stop).has_value());
  CHECK(asked == 2);
}

TEST_CASE("instant: every pass is evaluated once, and more of them are not worse") {
  const auto problem = layered(600, 4);
  double before_us = kNone;
  for (const std::int64_t count : {1, 2, 8, 32}) {
    const Answer result = passes(problem, count);
    CHECK(result.evaluations == count);
    CHECK(result.evaluation.objective_us <= before_us);
    before_us = result.evaluation.objective_us;
  }
  // A given placement is kept where nothing better is found.
  PlaceContext context;
  context.initial.push_back(passes(problem, 32).placement);
  CHECK(passes(problem, 1, {}, context).evaluation.objective_us <= before_us);
}

TEST_CASE("instant: says that the budget ended it, also where it leaves before") {
  Engine engine({test::plugin_folder()});
  const auto problem = layered(600, 4);
  const auto end_with = [&](double budget_s, const OptionTexts& options) {
    const auto evaluator = make_simulation_evaluator(problem, 1);
    PlaceContext context;
    context.budget_s = budget_s;
    return engine.make_policy("instant", options)->place(*evaluator, context).end;
  };
  CHECK(end_with(1e-9, {}) == SearchEnd::budget);  // after the first pass
  CHECK(end_with(kNone, {{"passes", "2"}}) == SearchEnd::done);
}

TEST_CASE("instant: passes end once the placement is proven best, also within auto") {
  const auto problem =
      small_problem({{"a", "x"}, {"b", "x"}}, {{{10}}, {{10}}, {{1}}}, {{0, 2, 40}, {1, 2, 40}});
  REQUIRE(lower_bound(*problem).us == doctest::Approx(passes(problem, 64).evaluation.objective_us));
  CHECK(passes(problem, 100'000).evaluations < 100);
  Engine engine({test::plugin_folder()});
  for (const char* policy : {"instant", "auto"}) {
    const auto evaluator = make_simulation_evaluator(problem, 1);
    const PlaceResult result =
        place(*engine.make_policy(policy, {}), *evaluator, {}, /*budget_s=*/1e9);
    CHECK(result.end == SearchEnd::proven);
  }
}

TEST_CASE("instant: within auto passes leave the time to what proves the placement best") {
  // Halves of 10.5 us are no sums of whole ops.
  const auto problem =
      small_problem({{"a", "x"}, {"b", "x"}}, {{{5}}, {{5}}, {{5}}, {{3}}, {{3}}}, {});
  REQUIRE(lower_bound(*problem).us < 11);
  Engine engine({test::plugin_folder()});
  const auto evaluator = make_simulation_evaluator(problem, 1);
  const PlaceResult result =
      place(*engine.make_policy("auto", {}), *evaluator, {}, /*budget_s=*/1e9);
  CHECK(result.end == SearchEnd::proven);
  CHECK(result.evaluation.objective_us == doctest::Approx(11));
}

TEST_CASE("instant: problems that leave little or no choice") {
  const auto on_one = layered(300, 1);
  CHECK(passes(on_one, 2).placement == Placement(300, 0));

  // The second op runs on the second kind alone.
  const auto tied = small_problem({{"a", "x"}, {"b", "y"}}, {{{1, 1}}, {{kNone, 1}}, {{1, 1}}},
                                  {{0, 1, 1000}, {1, 2, 1000}});
  CHECK(one_pass(*tied, {.rule = rule_of({{Rule::kSend, 1}})}) == GroupPlacement{1, 1, 1});
  CHECK(passes(tied, 64).placement == Placement{1, 1, 1});

  // Parameters of 60 bytes each do not share a device of 100.
  const auto full = small_problem({{"a", "x", 100}, {"b", "x", 100}}, {{{1}, 60}, {{1}, 60}}, {});
  const Answer fits = passes(full, 1);
  CHECK(fits.evaluation.feasible);
  CHECK(fits.placement[0] != fits.placement[1]);
  const auto too_full = small_problem({{"a", "x", 100}}, {{{1}, 60}, {{1}, 60}}, {});
  CHECK(complaint_of("instant", too_full, ErrorCode::infeasible).find("needs 60 B") !=
        std::string::npos);
}

TEST_CASE("instant: large graphs and large machines take one pass") {
  for (const auto& [ops, devices] : {std::pair<OpId, DeviceId>{100'000, 4}, {3'000, 512}}) {
    CAPTURE(devices);
    const auto problem = layered(ops, devices);
    const Answer result = passes(problem, 1);
    CHECK(result.evaluations == 1);
    CHECK(result.evaluation.objective_us <
          make_simulation_evaluator(problem, 1)->evaluate(Placement(at(ops), 0)).objective_us);
  }
}

TEST_CASE("instant: no weights at all are rules at random") {
  const auto problem = layered(600, 4);
  CHECK(passes(problem, 1, {{"weights", "none"}}).placement != passes(problem, 1).placement);
  Random random(7);
  for (int i = 0; i < 100; ++i) {
    for (const double weight : random_rule(random).weights) CHECK((weight >= 0 && weight <= 4));
  }
}

TEST_CASE("instant: files of rules") {
  const TemporaryFolder folder;
  const auto path = folder / "rules.weights";
  const auto write = [&](const std::string& text) { std::ofstream(path) << text; };
  write("berth.instant/2\n1 2 3 4 5 6 7 8 9 10 11\n0 0 0 0 0 0 0 0 0.5 0 0\n");
  const std::vector<Rule> rules = read_rules(path);
  REQUIRE(rules.size() == 2);
  CHECK(rules[0][Rule::kArrive] == 1);
  CHECK(rules[1][Rule::kTransfers] == 0.5);

  for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
           {"berth.instant/1\n1 2 3 4 5 6 7 8 9\n", "berth.instant/1"},
           {"\x7f"
            "ELF\n",
            "instead of 'berth.instant/2'"},
           {"berth.instant/2\n", "no rule"},
           {"berth.instant/2\n\n1 2 3\n", "line 3"},
           {"berth.instant/2\n1 2 3 4 5 6 7 8 9 10 -9\n", "line 2"},
           {"berth.instant/2\n1 2 3 4 5 6 7 8 9 10 inf\n", "line 2"},
           {"berth.instant/2\n1 2 3 4 5 6 7 8 9 10 nine\n", "line 2"},
           {"berth.instant/2\n1 2 3 4 5 6 7 8 9 10 11 12\n", "line 2"}}) {
    CAPTURE(text);
    write(text);
    expect_error(ErrorCode::invalid_file, {part, "rules.weights", "berth learn"},
                 [&] { static_cast<void>(read_rules(path)); });
  }
  expect_error(ErrorCode::not_found, {"nothing.weights"},
               [&] { static_cast<void>(read_rules(folder / "nothing.weights")); });
}
