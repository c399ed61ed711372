#include <doctest/doctest.h>

#include <algorithm>

#include "mcmc/metropolis.h"
#include "plugins/small_problem.h"
#include "support/optimum.h"
#include "support/random_problem.h"

using namespace berth;
using namespace berth::policies;
using namespace berth::policies::mcmc;
using namespace berth::test;

namespace {

std::shared_ptr<const Problem> random_problem(std::uint64_t seed, OpId ops, int devices,
                                              Objective objective,
                                              std::int64_t memory_bytes = kNoLimit) {
  Random random(seed);
  const auto graph = random_graph(
      random, {.ops = ops, .edge_chance = 0.3, .max_bytes = 100000, .max_param_bytes = 100});
  const auto cluster =
      random_cluster(random, {.devices = devices, .kinds = 2, .memory_bytes = memory_bytes});
  ProblemOptions options;
  options.objective = objective;
  return std::make_shared<const Problem>(graph, cluster, random_costs(random, *graph, *cluster),
                                         nullptr, options);
}

/// Hardware on which only the last device is any good, whatever the costs say.
class OtherHardware final : public Evaluator {
 public:
  explicit OtherHardware(std::shared_ptr<const Problem> problem) : problem_(std::move(problem)) {}

  const Problem& problem() const noexcept override { return *problem_; }
  bool measures() const noexcept override { return true; }
  std::int64_t evaluations() const noexcept override { return count_; }
  void evaluate(std::span<const Placement> placements, std::span<Evaluation> out) override {
    const DeviceId last = problem_->cluster().device_count() - 1;
    for (std::size_t i = 0; i < placements.size(); ++i, ++count_) {
      const auto away =
          placements[i].size() - static_cast<std::size_t>(std::ranges::count(placements[i], last));
      out[i] = Evaluation{};
      out[i].objective_us = out[i].runtime_us = 1000.0 + 100.0 * static_cast<double>(away);
    }
  }

 private:
  std::shared_ptr<const Problem> problem_;
  std::int64_t count_ = 0;
};

}  // namespace

TEST_CASE("mcmc: finds the best of all placements where they are few") {
  for (const Objective objective : {Objective::latency, Objective::throughput}) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      const auto problem = random_problem(seed, 8, 2, objective);
      const auto evaluator = make_simulation_evaluator(problem, 1);
      const double best_us = optimum_us(problem);
      const Placement placement = placed("mcmc", problem, {{"beta", 10.0}});
      CHECK(evaluator->evaluate(placement).objective_us == doctest::Approx(best_us).epsilon(1e-9));
    }
  }
}

TEST_CASE("mcmc: a chain keeps the best it visited, and tells its figures") {
  const auto problem = random_problem(3, 30, 3, Objective::latency);
  const auto evaluator = make_simulation_evaluator(problem, 1);
  MoveEvaluator moves(std::make_shared<const Simulator>(problem));
  const GroupPlacement start(30, 0);
  const double start_us = evaluator->evaluate(Placement(30, 0)).objective_us;
  // However hot: beta of next to nothing takes every move.
  for (const double beta : {1e-9, 1e3, 1e12}) {
    CAPTURE(beta);
    const ChainBest best = run_chain(*simulating_judge(moves), *problem, {0, 1, 2}, start,
                                     {beta, 2000}, Random(5), PlaceContext{});
    CHECK(best.score.objective_us < start_us);
    CHECK(evaluator->evaluate(problem->groups().expand(best.placement)).objective_us ==
          best.score.objective_us);
  }
  const ChainBest none = run_chain(*simulating_judge(moves), *problem, {0, 1, 2}, start, {1e4, 0},
                                   Random(5), PlaceContext{});
  CHECK(none.placement == start);
  CHECK(none.score.objective_us == start_us);
}

TEST_CASE("mcmc: a chain walks on what its evaluator measures, not on the costs") {
  const auto problem = random_problem(3, 12, 3, Objective::latency);
  Engine engine({test::plugin_folder()});
  const auto policy =
      engine.make_policy("mcmc", {{"chains", std::int64_t{1}}, {"moves", std::int64_t{400}}});
  OtherHardware hardware(problem);
  CHECK(policy->place(hardware, PlaceContext{}).placement == Placement(12, 2));
  CHECK(hardware.evaluations() > 12);
  CHECK(hardware.evaluations() < 450);
}

TEST_CASE("mcmc and auto count what they judge by moves, whichever way") {
  const auto problem = random_problem(3, 30, 3, Objective::latency);
  Engine engine({test::plugin_folder()});
  for (const auto& [name, options] :
       {std::pair<std::string, OptionTexts>{
            "mcmc", {{"chains", std::int64_t{1}}, {"moves", std::int64_t{1000}}}},
        {"auto", {{"from", std::string("single")}, {"moves", std::int64_t{1000}}}}}) {
    CAPTURE(name);
    const auto policy = engine.make_policy(name, options);
    const auto evaluator = make_simulation_evaluator(problem, 1);
    static_cast<void>(policy->place(*evaluator, PlaceContext{}));
    CHECK(evaluator->evaluations() > 200);
    CHECK(evaluator->evaluations() < 5000);
    CHECK(evaluator->simulated_ops() > evaluator->evaluations());
    CHECK(evaluator->simulated_ops() < 31 * evaluator->evaluations());
  }
}

TEST_CASE("mcmc: out of memory, it moves towards less of an overflow whatever that costs") {
  // The fast device holds two of the four ops.
  const auto problem = small_problem({{"fast", "x", 100}, {"slow", "y", 200}},
                                     std::vector<SmallOp>(4, {{1, 50}, 50}), {});
  MoveEvaluator moves(std::make_shared<const Simulator>(problem));
  const ChainBest best = run_chain(*simulating_judge(moves), *problem, {0, 1}, GroupPlacement(4, 0),
                                   {1e4, 200}, Random(1), PlaceContext{});
  CHECK(best.score.excess_bytes == 0);
  CHECK(best.score.objective_us == 100);
  CHECK(std::ranges::count(best.placement.devices(), 0) == 2);
}

TEST_CASE("mcmc: the single device to start from is the fastest, though it does not hold all") {
  const auto problem = small_problem({{"slow", "y", 500}, {"fast", "x", 100}},
                                     std::vector<SmallOp>(4, {{50, 1}, 50}), {});
  const Placement placement = placed(
      "mcmc", problem,
      {{"start", std::string("single")}, {"chains", std::int64_t{1}}, {"moves", std::int64_t{0}}});
  CHECK(std::count(placement.begin(), placement.end(), 1) == 2);
}

TEST_CASE("mcmc: kinds and hosts") {
  const auto problem = small_problem({{"cpu", "host", kNoLimit, true}, {"gpu", "gpu"}},
                                     {{{1, 5}}, {{1, kCannotRun}}, {{1, 5}}}, {});
  CHECK(placed("mcmc", problem) == Placement{0, 0, 0});
  CHECK(placed("mcmc", problem, {{"hosts", false}}) == Placement{1, 0, 1});
}

TEST_CASE("mcmc: bad options") {
  const auto problem = small_problem({{"a", "x"}}, {{{1}}}, {});
  const auto complaint = [&](const OptionTexts& options) {
    return complaint_of("mcmc", problem, ErrorCode::invalid_argument, options);
  };
  CHECK(complaint({{"start", std::string("magic")}}) ==
        "policy 'mcmc': option 'start' takes one of single, contiguous, random, all; got 'magic'");
  CHECK(complaint({{"chains", std::int64_t{0}}}) ==
        "policy 'mcmc': option 'chains' takes an integer >= 1; got '0'");
  CHECK(complaint({{"moves", std::int64_t{-1}}}) ==
        "policy 'mcmc': option 'moves' takes an integer >= 0; got '-1'");
  CHECK(complaint({{"beta", 0.0}}) == "policy 'mcmc': option 'beta' takes a number > 0; got '0'");
}
