#include <doctest/doctest.h>

#include <vector>

#include "berth/evaluator.h"
#include "support/expect_error.h"
#include "support/tangled_problem.h"

namespace berth::test {
namespace {

bool equal(const Evaluation& a, const Evaluation& b) {
  return a.objective_us == b.objective_us && a.runtime_us == b.runtime_us &&
         a.max_load_us == b.max_load_us && a.feasible == b.feasible &&
         a.worst_device == b.worst_device && a.excess_bytes == b.excess_bytes &&
         a.peak_bytes == b.peak_bytes && a.busy_us == b.busy_us;
}

TEST_CASE("a batch gives what its placements give one by one, on any number of threads") {
  for (const Semantics semantics : {Semantics::placeto, Semantics::dataflow}) {
    for (const Objective objective : {Objective::latency, Objective::throughput}) {
      Random random(5);
      const auto problem = tangled_problem(random, semantics, objective, {200, 4});
      std::vector<Placement> placements;
      for (int i = 0; i < 64; ++i) placements.push_back(any_placement(random, *problem));
      const auto single = make_simulation_evaluator(problem, 1);
      std::vector<Evaluation> expected;
      for (const Placement& placement : placements) expected.push_back(single->evaluate(placement));
      CHECK(single->evaluations() == 64);
      for (const int threads : {0, 1, 2, 3}) {
        CAPTURE(threads);
        const auto evaluator = make_simulation_evaluator(problem, threads);
        std::vector<Evaluation> evaluations(placements.size());
        for (int round = 0; round < 2; ++round) {
          evaluator->evaluate(placements, evaluations);
          bool all_equal = true;
          for (std::size_t i = 0; i < expected.size(); ++i) {
            all_equal = all_equal && equal(evaluations[i], expected[i]);
          }
          CHECK(all_equal);
        }
        CHECK(evaluator->evaluations() == 128);
      }
    }
  }
}

TEST_CASE("a batch with an invalid placement is refused as a whole") {
  Random random(6);
  const auto problem = tangled_problem(random, Semantics::dataflow, Objective::latency, {10, 2});
  const auto evaluator = make_simulation_evaluator(problem);
  std::vector<Placement> placements(3, Placement(10, 0));
  placements[2][4] = 2;
  std::vector<Evaluation> evaluations(3);
  expect_error(ErrorCode::invalid_argument, {problem->graph().op_name(4)},
               [&] { evaluator->evaluate(placements, evaluations); });
  CHECK(evaluations[0].runtime_us == 0);
  // Of several, the first is told of, whichever is looked at first.
  placements[1][7] = -1;
  expect_error(ErrorCode::invalid_argument, {problem->graph().op_name(7)},
               [&] { evaluator->evaluate(placements, evaluations); });
  placements[1][7] = 0;
  CHECK(evaluator->evaluations() == 0);
  placements[2].pop_back();
  CHECK_THROWS_AS(evaluator->evaluate(placements, evaluations), Error);
  placements.pop_back();
  expect_error(ErrorCode::invalid_argument, {"3 evaluations", "2 placements"},
               [&] { evaluator->evaluate(placements, evaluations); });
  evaluator->evaluate(std::span<const Placement>(), std::span<Evaluation>());
  CHECK(evaluator->evaluations() == 0);
}

TEST_CASE("a negative number of threads is refused") {
  Random random(7);
  const auto problem = tangled_problem(random, Semantics::dataflow, Objective::latency, {10, 2});
  expect_error(ErrorCode::invalid_argument, {"-1 threads"},
               [&] { (void)make_simulation_evaluator(problem, -1); });
  expect_error(ErrorCode::invalid_argument, {"no problem"},
               [&] { (void)make_simulation_evaluator(nullptr); });
  expect_error(ErrorCode::invalid_argument, {"no problem"}, [&] { Simulator simulator(nullptr); });
}

}  // namespace
}  // namespace berth::test
