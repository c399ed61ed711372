// What executing a placement says of it as an evaluation.
#include <memory>
#include <vector>

#include "scripted.h"
#include "support/expect_error.h"

namespace berth::test {
namespace {

struct Bench {
  explicit Bench(ScriptedSession::Step step, std::int64_t memory_bytes = 1000)
      : session(std::make_shared<ScriptedSession>(chain_program(), std::move(step))) {
    const auto cluster = scripted_cluster({2}, memory_bytes);
    const auto graph = session->program().graph;
    problem = std::make_shared<const Problem>(graph, cluster, Costs::roofline(*graph, *cluster));
    evaluator = make_measuring_evaluator(problem, session, {.warm_up = 1, .repeats = 3});
  }

  std::shared_ptr<ScriptedSession> session;
  std::shared_ptr<const Problem> problem;
  std::unique_ptr<Evaluator> evaluator;
};

StepResult took(double us, std::vector<std::int64_t> peak_bytes) {
  StepResult result;
  result.runtime_us = us;
  result.peak_bytes = std::move(peak_bytes);
  result.busy_us = {us, 0};
  return result;
}

TEST_CASE("an evaluation is the median of the steps that count, and every placement is executed") {
  // The step that warms up, and three that count, of which one waits for another program.
  const std::vector<double> runtimes_us = {1e6, 100, 90, 5000};
  std::size_t step = 0;
  Bench bench([&](const Placement& placement, const StepOptions&) {
    const double us = runtimes_us[step++ % 4];
    return took(placement[1] == 0 ? us : 7, {10, 20});
  });
  std::vector<Evaluation> out(2);
  const std::vector<Placement> placements = {{0, 0, 0}, {0, 1, 0}};
  bench.evaluator->evaluate(placements, out);
  CHECK(out[0].runtime_us == 100);
  CHECK(out[0].objective_us == 100);
  CHECK(out[1].objective_us == 7);
  CHECK(out[0].feasible);
  CHECK(out[0].peak_bytes == std::vector<std::int64_t>{10, 20});
  CHECK(bench.evaluator->evaluations() == 2);
  CHECK(bench.session->steps == 8);
}

TEST_CASE("memory is judged by the peaks that were measured") {
  Bench bench([](const Placement& placement, const StepOptions&) {
    return took(5, {placement[0] == 0 ? 1000 : 1001, 1300});
  });
  const Evaluation found = bench.evaluator->evaluate(Placement{1, 1, 1});
  CHECK_FALSE(found.feasible);
  CHECK(found.worst_device == 1);
  CHECK(found.excess_bytes == 300);
}

TEST_CASE("where memory runs out the runtime is the one that the costs predict") {
  Bench bench([](const Placement&, const StepOptions&) -> StepResult {
    throw Error(ErrorCode::out_of_memory, "no room");
  });
  const Evaluation found = bench.evaluator->evaluate(Placement{0, 0, 0});
  const Evaluation predicted =
      make_simulation_evaluator(bench.problem, 1)->evaluate(Placement{0, 0, 0});
  CHECK(predicted.feasible);
  CHECK_FALSE(found.feasible);
  CHECK(found.excess_bytes > 0);
  CHECK(found.runtime_us == predicted.runtime_us);
}

TEST_CASE("what a step throws comes out, and problems that cannot be measured are refused") {
  Bench bench([](const Placement&, const StepOptions&) -> StepResult {
    throw Error(ErrorCode::execution, "it failed");
  });
  expect_error(ErrorCode::execution, {"it failed"}, [&] {
    static_cast<void>(bench.evaluator->evaluate(Placement{0, 0, 0}));
  });
  const auto& problem = *bench.problem;
  ProblemOptions throughput;
  throughput.objective = Objective::throughput;
  expect_error(ErrorCode::unsupported, {"latency"}, [&] {
    static_cast<void>(make_measuring_evaluator(
        std::make_shared<const Problem>(problem.shared_graph(), scripted_cluster({2}),
                                        Costs::roofline(problem.graph(), problem.cluster()),
                                        nullptr, throughput),
        bench.session));
  });
  const auto other = chain_program()->graph;
  expect_error(ErrorCode::invalid_argument, {"graph"}, [&] {
    static_cast<void>(make_measuring_evaluator(
        std::make_shared<const Problem>(other, scripted_cluster({2}),
                                        Costs::roofline(*other, problem.cluster())),
        bench.session));
  });
}

}  // namespace
}  // namespace berth::test
