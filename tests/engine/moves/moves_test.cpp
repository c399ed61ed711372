#include "berth/sdk/moves.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "berth/evaluator.h"
#include "support/expect_error.h"
#include "support/layered_problem.h"
#include "support/random_problem.h"
#include "support/tangled_problem.h"

namespace berth::test {
namespace {

constexpr Semantics kBoth[] = {Semantics::placeto, Semantics::dataflow};

/// Calls check(problem, random) over problems of several sizes.
template <typename Check>
void on_random_problems(Semantics semantics, Objective objective, int problems, Check&& check) {
  for (int seed = 0; seed < problems; ++seed) {
    CAPTURE(seed);
    CAPTURE(semantics_name(semantics));
    CAPTURE(objective_name(objective));
    Random random(static_cast<std::uint64_t>(seed));
    TangledShape shape;
    shape.ops = 1 + static_cast<int>(random.below(seed % 5 == 0 ? 300 : 60));
    // Now and then more devices than are scanned for the next event.
    shape.devices = seed % 10 == 9 ? 9 + static_cast<int>(random.below(16))
                                   : 1 + static_cast<int>(random.below(6));
    shape.keeps = seed % 4 == 1;
    shape.lasting = seed % 3 == 1;
    check(tangled_problem(random, semantics, objective, shape), random);
  }
}

std::vector<Move> any_moves(Random& random, const Problem& problem, std::size_t most) {
  std::vector<Move> moves(1 + random.below(most));
  for (Move& move : moves) {
    move.op =
        static_cast<OpId>(random.below(static_cast<std::uint64_t>(problem.graph().op_count())));
    move.to = static_cast<DeviceId>(
        random.below(static_cast<std::uint64_t>(problem.cluster().device_count())));
  }
  return moves;
}

Placement with(Placement placement, const std::vector<Move>& moves) {
  for (const Move& move : moves) placement[static_cast<std::size_t>(move.op)] = move.to;
  return placement;
}

/// The same for latency; for throughput up to the rounding of the simulator's sums.
void check_objective(const Problem& problem, double us, double reference_us) {
  if (problem.options().objective == Objective::latency) {
    CHECK(us == reference_us);
  } else {
    CHECK(us == doctest::Approx(reference_us).epsilon(1e-12));
  }
}

Evaluation evaluate(const Simulator& simulator, const Placement& placement) {
  Simulator::Workspace workspace;
  Evaluation evaluation;
  simulator.evaluate(placement, workspace, evaluation);
  return evaluation;
}

/// A walk of `steps` proposals; every figure is checked against a full evaluation.
void check_walk(const std::shared_ptr<const Problem>& problem, Random& random, int steps) {
  const auto simulator = std::make_shared<const Simulator>(problem);
  MoveEvaluator evaluator(simulator);
  Placement placement = any_placement(random, *problem);
  evaluator.reset(placement);
  for (int step = 0; step < steps; ++step) {
    CAPTURE(step);
    const Evaluation base = evaluate(*simulator, placement);
    check_objective(*problem, evaluator.objective_us(), base.objective_us);
    CHECK(evaluator.excess_bytes() == base.excess_bytes);
    CHECK(evaluator.feasible() == base.feasible);
    CHECK(std::equal(placement.begin(), placement.end(), evaluator.placement().begin(),
                     evaluator.placement().end()));

    const auto moves = any_moves(random, *problem, step % 4 == 0 ? 8 : 1);
    const Placement moved = with(placement, moves);
    const Evaluation reference = evaluate(*simulator, moved);
    const double cutoff_us =
        random.uniform() < 0.5 ? kCannotRun : base.objective_us * (0.8 + 0.3 * random.uniform());
    const MoveEvaluator::Candidate candidate = evaluator.propose(moves, cutoff_us);
    if (candidate.rejected) {
      CHECK(candidate.objective_us >= cutoff_us);
      CHECK(reference.objective_us * (1 + 1e-12) >= candidate.objective_us);
      CHECK(candidate.excess_bytes == 0);
    } else {
      CHECK(candidate.objective_us < cutoff_us);
      check_objective(*problem, candidate.objective_us, reference.objective_us);
      CHECK(candidate.excess_bytes == reference.excess_bytes);
    }
    if (problem->options().objective == Objective::latency) {
      CHECK(evaluator.loads_us().empty());
    } else {
      const auto loads_us = evaluator.loads_us();
      REQUIRE(loads_us.size() == reference.busy_us.size());
      for (std::size_t d = 0; d < loads_us.size(); ++d) {
        CHECK(loads_us[d] == doctest::Approx(reference.busy_us[d]).epsilon(1e-12).scale(1));
      }
    }
    const double draw = random.uniform();
    if (draw < 0.4) {
      evaluator.accept();
      placement = moved;
      if (draw < 0.1) evaluator.accept();  // nothing is left to accept
    } else if (draw < 0.45) {
      placement = any_placement(random, *problem);
      evaluator.reset(placement);
    }
  }
}

TEST_CASE("MoveEvaluator: every figure is the simulator's") {
  for (const Semantics semantics : kBoth) {
    on_random_problems(semantics, Objective::latency, 300, [](const auto& problem, Random& random) {
      check_walk(problem, random, 25);
    });
  }
  on_random_problems(Semantics::dataflow, Objective::throughput, 300,
                     [](const auto& problem, Random& random) { check_walk(problem, random, 25); });
}

TEST_CASE("MoveEvaluator: a long walk on a larger graph") {
  for (const bool ties : {false, true}) {
    LayeredShape layered;
    layered.ops = 900;
    layered.ties = ties;
    const auto graph = layered_graph(3, layered);
    const auto cluster = equal_devices(4, 5);
    for (const Semantics semantics : kBoth) {
      ProblemOptions options;
      options.semantics = semantics;
      Random random(11);
      check_walk(std::make_shared<const Problem>(graph, cluster, Costs::stated(*graph, *cluster),
                                                 nullptr, options),
                 random, 150);
    }
  }
}

/// Little tensors that are read long after, beside a few large parameters.
std::shared_ptr<const Graph> little_tensors(Random& random, int ops, std::int64_t param_bytes) {
  GraphBuilder builder("little");
  std::vector<TensorId> outputs;
  for (OpId op = 0; op < ops; ++op) {
    builder.add_op(numbered("n", 1000 + op), "Op");
    if (op % 10 == 9) builder.set_param_bytes(op, param_bytes);
    for (int i = 0; i < 2 && op > 0; ++i) {
      const auto back = 1 + random.below(static_cast<std::uint64_t>(std::min(op, 150)));
      builder.add_input(op, outputs[static_cast<std::size_t>(op) - back]);
    }
    TensorInfo info;
    info.bytes = static_cast<std::int64_t>(random.below(100));
    outputs.push_back(builder.add_output(op, info));
  }
  return builder.build();
}

TEST_CASE("MoveEvaluator: memory that was not followed is known where a move makes it short") {
  constexpr int kOps = 300;
  constexpr std::int64_t kTensors = 100000;  // more than all tensors and copies
  constexpr std::int64_t kParam = 1000000;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const auto graph = little_tensors(random, kOps, kParam);
    const auto cluster =
        random_cluster(random, {.devices = 2, .memory_bytes = kOps / 10 / 2 * kParam + kTensors});
    const auto problem = std::make_shared<const Problem>(
        graph, cluster, random_costs(random, *graph, *cluster), nullptr, ProblemOptions{});
    const auto simulator = std::make_shared<const Simulator>(problem);
    Placement placement = any_placement(random, *problem);
    for (OpId op = 9; op < kOps; op += 10) {  // as many parameters on either device
      placement[static_cast<std::size_t>(op)] = op / 10 % 2;
    }
    MoveEvaluator evaluator(simulator);
    evaluator.reset(placement);
    for (int step = 0; step < 200; ++step) {
      const auto op = static_cast<OpId>(random.below(kOps));
      const Move move{op, 1 - placement[static_cast<std::size_t>(op)]};
      const std::vector<Move> moves{move};
      const auto candidate = evaluator.propose(moves);
      const Evaluation reference = evaluate(*simulator, with(placement, moves));
      CHECK((candidate.excess_bytes > 0) == (op % 10 == 9));
      CHECK(candidate.excess_bytes == reference.excess_bytes);
      evaluator.accept();
      if (candidate.excess_bytes > 0) {  // and back, so that some pauses know the memory
        const Move back{op, placement[static_cast<std::size_t>(op)]};
        CHECK(evaluator.propose(std::vector<Move>{back}).excess_bytes == 0);
        evaluator.accept();
      } else {
        placement = with(placement, moves);
      }
    }
  }
}

TEST_CASE("MoveEvaluator: loads do not depend on the moves that led to them") {
  on_random_problems(Semantics::dataflow, Objective::throughput, 100,
                     [](const auto& problem, Random& random) {
                       const auto simulator = std::make_shared<const Simulator>(problem);
                       MoveEvaluator walked(simulator);
                       walked.reset(any_placement(random, *problem));
                       for (int step = 0; step < 200; ++step) {
                         (void)walked.propose(any_moves(random, *problem, 4));
                         if (random.uniform() < 0.5) walked.accept();
                       }
                       MoveEvaluator fresh(simulator);
                       fresh.reset(walked.placement());
                       CHECK(walked.objective_us() == fresh.objective_us());
                     });
}

TEST_CASE("MoveEvaluator: threads share a simulator") {
  for (const Semantics semantics : kBoth) {
    for (const Objective objective : {Objective::latency, Objective::throughput}) {
      Random random(5);
      const auto problem = tangled_problem(random, semantics, objective, {.ops = 80, .devices = 4});
      const auto simulator = std::make_shared<const Simulator>(problem);
      double results_us[3] = {-1, -2, -3};
      std::vector<std::thread> threads;
      for (double& result_us : results_us) {
        threads.emplace_back([&] {
          Random same(9);
          MoveEvaluator evaluator(simulator);
          evaluator.reset(any_placement(same, *problem));
          for (int step = 0; step < 60; ++step) {
            (void)evaluator.propose(any_moves(same, *problem, 2),
                                    step % 2 == 0 ? kCannotRun : evaluator.objective_us());
            if (step % 3 == 0) evaluator.accept();
          }
          result_us = evaluator.objective_us();
        });
      }
      for (std::thread& thread : threads) thread.join();
      CHECK(results_us[0] == results_us[1]);
      CHECK(results_us[1] == results_us[2]);
    }
  }
}

TEST_CASE("MoveEvaluator: a proposal leaves the placement kept alone") {
  const auto graph = layered_graph(1, {.ops = 60, .edges_per_op = 1.5});
  const auto cluster = equal_devices(2);
  const auto simulator = std::make_shared<const Simulator>(
      std::make_shared<const Problem>(graph, cluster, Costs::stated(*graph, *cluster)));
  MoveEvaluator evaluator(simulator);
  SUBCASE("there is none before the first reset") {
    CHECK(evaluator.placement().empty());
    const Move move{0, 1};
    expect_error(ErrorCode::invalid_argument, {"reset(placement)"}, [&] {
      (void)evaluator.propose({&move, 1});
    });
    evaluator.accept();
    CHECK(evaluator.placement().empty());
  }
  SUBCASE("only accept changes it") {
    const Placement all_on_first(60, 0);
    evaluator.reset(all_on_first);
    const double before_us = evaluator.objective_us();
    const Move there[] = {{5, 1}, {5, 0}, {5, 1}};
    (void)evaluator.propose(there);
    CHECK(evaluator.objective_us() == before_us);
    CHECK(evaluator.placement()[5] == 0);
    const Move other{7, 1};
    (void)evaluator.propose({&other, 1});
    evaluator.accept();
    CHECK(evaluator.placement()[5] == 0);
    CHECK(evaluator.placement()[7] == 1);
    // The last of several moves of one op counts.
    (void)evaluator.propose(there);
    evaluator.accept();
    CHECK(evaluator.placement()[5] == 1);
  }
  SUBCASE("no moves change nothing") {
    evaluator.reset(Placement(60, 0));
    CHECK(evaluator.propose({}).objective_us == evaluator.objective_us());
    const Move stay{3, 0};
    CHECK(evaluator.propose({&stay, 1}).objective_us == evaluator.objective_us());
  }
}

TEST_CASE("MoveEvaluator counts the placements it judges and the ops it simulates for them") {
  for (const Semantics semantics : kBoth) {
    for (const Objective objective : {Objective::latency, Objective::throughput}) {
      on_random_problems(semantics, objective, 20, [&](const auto& problem, Random& random) {
        const auto simulator = std::make_shared<const Simulator>(problem);
        const std::int64_t ops = problem->graph().op_count();
        MoveEvaluator evaluator(simulator);
        CHECK(evaluator.work().evaluations == 0);
        evaluator.reset(Placement(static_cast<std::size_t>(ops), 0));
        CHECK(evaluator.work().evaluations == 1);
        CHECK(evaluator.work().simulated_ops >= ops);
        CHECK(evaluator.work().simulated_ops <= 2 * ops);  // twice where memory is looked at
        std::int64_t others = 0;
        for (int i = 0; i < 30; ++i) {
          const std::vector<Move> moves = any_moves(random, *problem, 3);
          const Placement kept(evaluator.placement().begin(), evaluator.placement().end());
          const SearchWork before = evaluator.work();
          const bool same = with(kept, moves) == kept;
          static_cast<void>(
              evaluator.propose(moves, i % 2 == 0 ? kCannotRun : evaluator.objective_us()));
          others += same ? 0 : 1;
          CHECK(evaluator.work().simulated_ops - before.simulated_ops <= 2 * ops);
          if (i % 3 == 0) evaluator.accept();
        }
        CHECK(evaluator.work().evaluations >= 1 + others);
        CHECK(evaluator.work().evaluations <= 31);
      });
    }
  }
}

TEST_CASE("MoveEvaluator: a workspace that memory has no room for is seen") {
  // Parameters of 1000 bytes are on device 0; an op that needs 500 while it runs comes to them.
  for (const Objective objective : {Objective::latency, Objective::throughput}) {
    for (const std::int64_t memory_bytes : {1400, 1499, 1500}) {
      CAPTURE(objective_name(objective));
      CAPTURE(memory_bytes);
      GraphBuilder builder("g");
      builder.set_param_bytes(builder.add_op("kept", "Op"), 1000);
      const OpId working = builder.add_op("working", "Op");
      std::vector<Device> devices(2);
      for (std::size_t d = 0; d < devices.size(); ++d) {
        devices[d].name = numbered("d", static_cast<int>(d));
        devices[d].kind = "k";
        devices[d].memory_bytes = memory_bytes;
      }
      ProblemOptions options;
      options.objective = objective;
      const auto problem = std::make_shared<const Problem>(
          builder.build(),
          std::make_shared<const Cluster>("two", devices,
                                          std::vector<LinkSpec>{{"*", "*", 1e9, 0, {}}}),
          std::make_shared<const Costs>(std::vector<std::vector<double>>{{1, 1}},
                                        std::vector<std::int64_t>{0, 500}, "test"),
          nullptr, options);
      MoveEvaluator evaluator(std::make_shared<const Simulator>(problem));
      evaluator.reset(Placement{0, 1});
      CHECK(evaluator.excess_bytes() == 0);
      const Move move{working, 0};
      CHECK(evaluator.propose({&move, 1}).excess_bytes == 1500 - memory_bytes);
      evaluator.accept();
      CHECK(evaluator.feasible() == (memory_bytes == 1500));
    }
  }
}

}  // namespace
}  // namespace berth::test
