#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "auto/moves.h"
#include "auto/race.h"
#include "berth/files.h"
#include "plugins/chains.h"
#include "plugins/small_problem.h"
#include "support/data.h"
#include "support/optimum.h"
#include "support/random_problem.h"
#include "support/threads.h"

using namespace berth;
using namespace berth::test;

namespace {

using policies::auto_policy::KindShares;
using policies::auto_policy::Proposer;
using policies::auto_policy::Round;
using policies::auto_policy::rounds_of_race;
using policies::auto_policy::UnitId;

double objective_us(const std::shared_ptr<const Problem>& problem, const Placement& placement) {
  const Evaluation evaluation = make_simulation_evaluator(problem, 1)->evaluate(placement);
  CHECK(evaluation.feasible);
  return evaluation.objective_us;
}

/// `run(problem)` for both objectives and both semantics.
template <typename Run>
void for_all_rules(const std::shared_ptr<const Graph>& graph,
                   const std::shared_ptr<const Cluster>& cluster,
                   const std::shared_ptr<const Costs>& costs, const Run& run) {
  for (const Objective objective : {Objective::latency, Objective::throughput}) {
    CAPTURE(objective_name(objective));
    for (const Semantics semantics : {Semantics::dataflow, Semantics::placeto}) {
      CAPTURE(semantics_name(semantics));
      ProblemOptions options;
      options.objective = objective;
      options.semantics = semantics;
      run(std::make_shared<const Problem>(graph, cluster, costs, nullptr, options));
    }
  }
}

std::shared_ptr<const Problem> medium_problem(std::uint64_t seed, Objective objective) {
  Random random(seed);
  const auto graph = random_graph(
      random, {.ops = 60, .edge_chance = 0.05, .colocate_chance = 0.2, .max_bytes = 100000});
  const auto cluster = random_cluster(random, {.devices = 3, .kinds = 2});
  const auto costs = random_costs(random, *graph, *cluster);
  ProblemOptions options;
  options.objective = objective;
  return std::make_shared<const Problem>(graph, cluster, costs, nullptr, options);
}

/// The answer of `auto` under a context of the test's own.
Placement placed_with(const std::shared_ptr<const Problem>& problem, PlaceContext context,
                      const OptionTexts& options = {}) {
  Engine engine({test::plugin_folder()});
  const auto policy = engine.make_policy("auto", options);
  const auto evaluator = make_simulation_evaluator(problem, 1);
  return place(*policy, *evaluator, std::move(context), std::numeric_limits<double>::infinity())
      .placement;
}

/// The policies that `auto` starts from unless it is told others, as far as this build has them.
std::vector<std::string> contained() {
  Engine engine({test::plugin_folder()});
  std::set<std::string> installed;
  std::string from;
  for (const PluginInfo& info : engine.plugins()) {
    installed.insert(info.name);
    if (info.name != "auto") continue;
    for (const PluginInfo::Option& option : info.options) {
      if (option.name == "from") from = option.default_value;
    }
  }
  std::vector<std::string> names;
  std::istringstream list(from);
  for (std::string name; std::getline(list, name, ',');) {
    if (installed.contains(name)) names.push_back(name);
  }
  return names;
}

}  // namespace

TEST_CASE("auto: the optimum of small problems") {
  int solved = 0;
  int hopeless = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const auto graph = random_graph(random, {.ops = 7,
                                             .edge_chance = 0.3,
                                             .colocate_chance = 0.2,
                                             .max_bytes = 200000,
                                             .max_param_bytes = 1000});
    const std::int64_t memory = seed % 4 == 3 ? 250000 : kNoLimit;
    const auto cluster = random_cluster(
        random, {.devices = 3, .kinds = 2, .host = seed % 3 == 0, .memory_bytes = memory});
    const auto costs = random_costs(random, *graph, *cluster, 100, seed % 2 == 0 ? 0.2 : 0);
    for_all_rules(graph, cluster, costs, [&](const std::shared_ptr<const Problem>& problem) {
      const double best_us = optimum_us(problem);
      if (best_us == std::numeric_limits<double>::infinity()) {
        ++hopeless;
        CHECK(complaint_of("auto", problem, ErrorCode::infeasible).find("memory") !=
              std::string::npos);
        return;
      }
      ++solved;
      CHECK(objective_us(problem, placed("auto", problem)) ==
            doctest::Approx(best_us).epsilon(1e-9));
    });
  }
  CHECK(solved > 100);
  CHECK(hopeless > 0);
}

TEST_CASE("auto: what is proven optimal for a small problem is returned as such, at once") {
  Engine engine({test::plugin_folder()});
  int by_search = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const auto graph = random_graph(random, {.ops = 7, .edge_chance = 0.6});
    const auto cluster = random_cluster(random, {.devices = 3});
    const auto problem = std::make_shared<const Problem>(
        graph, cluster, random_costs(random, *graph, *cluster, 100, 0));
    const auto evaluator = make_simulation_evaluator(problem, 1);
    const bool is_bound_less = evaluator->bound().us < optimum_us(problem) * (1 - 1e-6);
    const PlaceResult result =
        place(*engine.make_policy("auto"), *evaluator, {}, std::numeric_limits<double>::infinity());
    CHECK(result.end == SearchEnd::proven);
    if (is_bound_less) CHECK(result.bound.source == "exact search");
    by_search += is_bound_less ? 1 : 0;
  }
  CHECK(by_search > 0);
}

TEST_CASE("auto: one device where more of them gain nothing that can be told") {
  Engine engine({test::plugin_folder()});
  const auto placed = [&](double large_us) {
    // A large op, and eight of 1 us that could run beside it.
    std::vector<SmallOp> ops(9, SmallOp{{1}});
    ops.front() = {{large_us}};
    const auto problem = small_problem({{"a", "x"}, {"b", "x"}}, ops, {});
    return place(*engine.make_policy("auto", {{"moves", "1000"}}),
                 *make_simulation_evaluator(problem, 1), {},
                 std::numeric_limits<double>::infinity());
  };
  const PlaceResult one = placed(1e6);
  CHECK(one.placement == one.best_single.placement);
  REQUIRE(one.notes.size() == 1);
  CHECK(one.notes[0] ==
        "one device is answered: the best found over several is faster by less than 0.01 %");
  // Eight in 10,008 are more.
  const PlaceResult two = placed(1e4);
  CHECK(two.evaluation.objective_us == doctest::Approx(1e4));
  CHECK(two.notes.empty());
}

TEST_CASE("auto: never worse than a policy it contains") {
  const std::vector<std::string> names = contained();
  REQUIRE(names.size() >= 8);  // without Scotch, METIS and a solver of linear programs
  for (const Objective objective : {Objective::latency, Objective::throughput}) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      CAPTURE(seed);
      const auto problem = medium_problem(seed, objective);
      // With hardly a move of its own.
      const double us =
          objective_us(problem, placed("auto", problem, {{"moves", std::int64_t{1}}}));
      for (const std::string& name : names) {
        if (name == "exact") continue;  // for smaller problems
        // It goes on from the best of the others here, and so draws other passes than alone.
        if (name == "instant") continue;
        CAPTURE(name);
        CHECK(us <= objective_us(problem, placed(name, problem)));
      }
    }
  }
}

TEST_CASE("auto: the same result on any number of threads") {
  for (const Objective objective : {Objective::latency, Objective::throughput}) {
    const auto problem = medium_problem(3, objective);
    const auto with_threads = [&](std::int64_t threads, std::uint64_t seed) {
      return placed("auto", problem, {{"moves", std::int64_t{20000}}, {"threads", threads}}, seed);
    };
    const Placement alone = with_threads(1, 7);
    for (const std::int64_t threads : {1, 2, 3, 5}) CHECK(with_threads(threads, 7) == alone);
  }
}

TEST_CASE("auto: the same result on any number of threads where it contracts the problem") {
  const auto problem = chains(12, 40, {{"a", "x"}, {"b", "x"}}, {10});
  const auto with_threads = [&](std::int64_t threads) {
    return placed("auto", problem,
                  {{"moves", std::int64_t{4000}},
                   {"threads", threads},
                   {"from", std::string("round_robin,topo")}},
                  7);
  };
  const Placement alone = with_threads(1);
  for (const std::int64_t threads : {1, 2, 3}) CHECK(with_threads(threads) == alone);
  // Six chains of 400 us on either device, each begun by an op of the chain before.
  CHECK(objective_us(problem, alone) < 1.03 * 2400);
}

TEST_CASE("auto: where the system starts no more threads, those that there are do all tasks") {
  const auto problem = medium_problem(6, Objective::latency);
  const auto placed_by_four = [&](int left) {
    threads_left = left;
    const Placement placement =
        placed("auto", problem, {{"moves", std::int64_t{2000}}, {"threads", std::string("4")}}, 7);
    threads_left = std::numeric_limits<int>::max();
    return placement;
  };
  const Placement by_four = placed_by_four(std::numeric_limits<int>::max());
  for (const int left : {0, 1}) CHECK(placed_by_four(left) == by_four);
}

TEST_CASE("auto: the caller's threads bound its own") {
  const auto problem = medium_problem(6, Objective::latency);
  // The most that are there while it searches, beside those that were there before.
  const auto most = [&](int given, const std::string& option) {
    int seen = 0;
    const int before = begun_threads;
    PlaceContext context;
    context.threads = given;
    context.should_stop = [&] {
      seen = std::max(seen, begun_threads - before);
      return false;
    };
    static_cast<void>(
        placed_with(problem, context, {{"threads", option}, {"moves", std::int64_t{20000}}}));
    return seen;
  };
  // How many of them are seen is chance; more than they may be is not.
  CHECK(most(/*given=*/0, /*option=*/"4") <= 3);
  CHECK(most(1, "4") == 0);
  CHECK(most(1, "0") == 0);
  CHECK(most(2, "4") <= 1);
}

TEST_CASE("auto: more moves do not lead to less") {
  const auto problem = medium_problem(4, Objective::latency);
  const double few = objective_us(problem, placed("auto", problem, {{"moves", std::int64_t{1}}}));
  const double many =
      objective_us(problem, placed("auto", problem, {{"moves", std::int64_t{20000}}}));
  CHECK(many < few);
}

TEST_CASE("auto: more devices do not make it slower") {
  // All that devices could do at the same time is not worth a transfer.
  const auto on = [&](int count) {
    std::vector<SmallDevice> devices;
    for (int d = 0; d < count; ++d) devices.push_back({"g" + std::to_string(d), "x"});
    std::vector<SmallOp> ops(40, SmallOp{{10}});
    std::vector<SmallEdge> edges;
    for (OpId op = 1; op < 40; ++op) edges.push_back({op - 1, op, 500});
    for (OpId op = 2; op < 40; ++op) edges.push_back({op - 2, op, 500});
    const auto problem = small_problem(devices, ops, edges);
    return objective_us(problem, placed("auto", problem,
                                        {{"moves", std::int64_t{1}},
                                         {"from", std::string("metis,expert,round_robin")}}));
  };
  const double two = on(2);
  for (const int count : {3, 4, 8}) CHECK(on(count) <= two);
}

TEST_CASE("auto: never worse than a quick policy on half of the machine") {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    CAPTURE(seed);
    const auto on = [seed](int count) {
      Random random(seed);
      std::vector<SmallDevice> devices;
      for (int d = 0; d < count; ++d) devices.push_back({"g" + std::to_string(d), "x"});
      std::vector<SmallOp> ops;
      std::vector<SmallEdge> edges;
      for (OpId op = 0; op < 60; ++op) {
        ops.push_back({{1 + 20 * random.uniform()}});
        for (OpId before = std::max(0, op - 8); before < op; ++before) {
          const auto bytes = static_cast<std::int64_t>(random.below(200));
          if (random.below(4) == 0) edges.push_back({before, op, bytes});
        }
      }
      return small_problem(devices, ops, edges);
    };
    for (const std::string& name : contained()) {
      if (name != "metis" && name != "heft" && name != "expert") continue;
      CAPTURE(name);
      const auto whole = on(6);
      const auto half = on(3);
      CHECK(objective_us(whole, placed("auto", whole,
                                       {{"moves", std::int64_t{1}}, {"from", "single," + name}})) <=
            objective_us(half, placed(name, half)));
    }
  }
}

TEST_CASE("auto: a race leaves one, and what it takes does not depend on a round that takes long") {
  for (const std::size_t runners : {2, 3, 5, 8}) {
    CAPTURE(runners);
    const std::vector<Round> rounds = rounds_of_race(runners, 0.3);
    REQUIRE(!rounds.empty());
    CHECK(rounds.front().runners == runners);
    CHECK(rounds.back().last());
    double left = 1;
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      if (i > 0) CHECK(rounds[i].runners == rounds[i - 1].survivors());
      CHECK(rounds[i].share * left == doctest::Approx(0.3 / static_cast<double>(rounds.size())));
      left *= 1 - rounds[i].share;
    }
    CHECK(left == doctest::Approx(0.7));
    // With twice its share gone in the first round, the others take less than they were to.
    left = 1 - 2 * rounds.front().share;
    for (std::size_t i = 1; i < rounds.size(); ++i) left *= 1 - rounds[i].share;
    CHECK(left >= 0.7 * (1 - 2 * rounds.front().share) / (1 - rounds.front().share) - 1e-12);
  }
  CHECK(rounds_of_race(1, 0.3).empty());
  CHECK(rounds_of_race(0, 0.3).empty());
}

TEST_CASE("auto: stopped at once it has what the first policy found, or a given placement") {
  const auto problem = medium_problem(5, Objective::latency);
  PlaceContext context;
  context.should_stop = [] { return true; };
  CHECK(objective_us(problem, placed_with(problem, context)) ==
        objective_us(problem, placed("single", problem)));

  const Placement good = placed("auto", problem);
  context.initial = {good};
  CHECK(objective_us(problem, placed_with(problem, context)) == objective_us(problem, good));
}

TEST_CASE("auto: stops soon after it is told to") {
  const auto problem = medium_problem(6, Objective::latency);
  for (const int patience : {2, 20, 60}) {
    CAPTURE(patience);
    int asked = 0;
    PlaceContext context;
    context.should_stop = [&] { return ++asked >= patience; };
    static_cast<void>(placed_with(problem, context, {{"moves", std::int64_t{1000000000}}}));
    // Each level on the way out asks once or twice more; none goes on as if nothing had happened.
    CHECK(asked < patience + 40);
  }
}

TEST_CASE("auto: a placement to start from counts even where memory is exceeded") {
  // Together the ops do not fit; the given placement has them together, and the fix is one move.
  const auto problem =
      small_problem({{"a", "x", 15}, {"b", "x", 15}}, {{{1}, 10}, {{1}, 10}}, {{0, 1, 1}});
  PlaceContext context;
  context.initial = {{0, 0}};
  const Placement placement = placed_with(problem, context);
  CHECK(placement[0] != placement[1]);
}

TEST_CASE("auto: impossible memory is told with the policies' reasons") {
  const auto problem = small_problem({{"a", "x", 5}, {"b", "x", 5}}, {{{1}, 10}}, {});
  const std::string complaint = complaint_of("auto", problem, ErrorCode::infeasible);
  CHECK(complaint.find("single: ") != std::string::npos);
  // One line for all that say the same.
  const std::string same = "the parameters do not fit: op 'op0'";
  CHECK(complaint.find("heft, metis, instant") != std::string::npos);
  REQUIRE(complaint.find(same) != std::string::npos);
  CHECK(complaint.find(same) == complaint.rfind(same));
}

TEST_CASE("auto: options out of range, and policies that are not there") {
  const auto problem = small_problem({{"a", "x"}, {"b", "x"}}, {{{1}}}, {});
  const auto complaint = [&](const char* option, OptionValue value) {
    return complaint_of("auto", problem, ErrorCode::invalid_argument, {{option, value}});
  };
  for (const char* option : {"moves", "threads", "chains"}) {
    CHECK(complaint(option, std::int64_t{-1}).find(option) != std::string::npos);
  }
  CHECK(complaint("chains", std::int64_t{0}).find("an integer from 1 to 256") != std::string::npos);
  CHECK(complaint("from", std::string(",")).find("from") != std::string::npos);
  CHECK(complaint("from", std::string("topo,auto")).find("itself") != std::string::npos);
  CHECK(complaint_of("auto", problem, ErrorCode::not_found, {{"from", std::string("nobody")}})
            .find("nobody") != std::string::npos);
  CHECK(complaint("from", std::string("metis:phases")).find("key=value") != std::string::npos);
  CHECK(complaint("from", std::string("metis:phases=0")).find("phases") != std::string::npos);
  CHECK(placed("auto", problem, {{"from", std::string("topo")}}) == Placement{0});
}

TEST_CASE("auto: proposals keep to what may be placed where") {
  Random random(11);
  const auto graph = random_graph(random, {.ops = 80, .edge_chance = 0.05, .colocate_chance = 0.3});
  const auto cluster = random_cluster(random, {.devices = 4, .kinds = 3, .host = true});
  const auto costs = random_costs(random, *graph, *cluster, 100, 0.5);
  const auto problem = std::make_shared<const Problem>(graph, cluster, costs);
  const auto groups = policies::auto_policy::grains(*problem, [] { return false; });
  const policies::auto_policy::Units units(*problem, groups.front(), std::span(groups).subspan(1),
                                           policies::auto_policy::structure_of(*problem));
  Proposer proposer(units);
  Placement placement = placed("single", problem);
  int changed = 0;
  for (int i = 0; i < 5000; ++i) {
    const auto moves = proposer.draw(placement, 0.3, random);
    for (const Move& move : moves) placement[static_cast<std::size_t>(move.op)] = move.to;
    if (moves.empty()) continue;
    ++changed;
    proposer.learn(/*improved=*/i % 3 == 0);
    REQUIRE_NOTHROW(problem->validate(placement));
  }
  CHECK(changed > 1000);
}

TEST_CASE("auto: shares of kinds follow how often they improve") {
  KindShares<2> shares({5, 5});
  Random random(3);
  const auto share_of_first = [&] {
    int first = 0;
    for (int i = 0; i < 1000; ++i) first += shares.draw(random) == 0 ? 1 : 0;
    return first;
  };
  CHECK(share_of_first() == doctest::Approx(500).epsilon(0.2));
  for (int i = 0; i < 6000; ++i) {
    const std::size_t kind = shares.draw(random);
    shares.learn(kind, /*improved=*/kind == 0 && i % 5 == 0);
  }
  CHECK(share_of_first() > 900);  // and never all: the least share is 0.03
  CHECK(share_of_first() < 1000);
  shares.forget();
  CHECK(share_of_first() == doctest::Approx(500).epsilon(0.2));
}

TEST_CASE("auto: the same placement for any number of threads") {
  const auto problem = medium_problem(3, Objective::latency);
  const auto with_threads = [&](std::int64_t threads) {
    return placed("auto", problem, {{"moves", std::int64_t{8000}}, {"threads", threads}});
  };
  const Placement alone = with_threads(1);
  CHECK(with_threads(1) == alone);
  CHECK(with_threads(3) == alone);
}

TEST_CASE("auto: better than the best contiguous split on a published workload") {
  if (!have_shared_data("a pipeline workload")) return;
  const auto graph = load_graph(shared_path("pipeline/bert24.graph.json"));
  const auto cluster = load_cluster(shared_path("pipeline/bert24.cluster.json"));
  ProblemOptions options;
  options.objective = Objective::throughput;
  const auto problem = std::make_shared<const Problem>(
      graph, cluster, Costs::stated(*graph, *cluster), nullptr, options);
  // The optimal contiguous split has 17,789.9.
  CHECK(objective_us(problem, placed("auto", problem, {{"moves", std::int64_t{60000}}})) < 17720);
}

TEST_CASE("auto: a coarse group that has no choice") {
  const std::vector<SmallDevice> machine{{"a", "x"}, {"b", "y"}};
  const auto free = small_problem(machine, {{{1, kCannotRun}}, {{3, 2}}}, {});
  const auto problem = std::make_shared<const Problem>(
      free->shared_graph(), free->shared_cluster(), free->shared_costs(),
      std::make_shared<const Groups>(free->graph(), std::vector<GroupId>{0, 0}));
  const auto evaluator = make_simulation_evaluator(problem, 1);
  Engine engine({test::plugin_folder()});
  const auto policy = engine.make_policy("auto");
  CHECK(place(*policy, *evaluator, PlaceContext{}, 0.02).placement == Placement{0, 1});
}
