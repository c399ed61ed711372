// No heap allocation once a move evaluator is warm.
#include <doctest/doctest.h>

#include "berth/sdk/moves.h"
#include "support/allocations.h"
#include "support/tangled_problem.h"

namespace berth::test {
namespace {

TEST_CASE("a warm move evaluator allocates nothing") {
  for (const Semantics semantics : {Semantics::placeto, Semantics::dataflow}) {
    for (const Objective objective : {Objective::latency, Objective::throughput}) {
      for (const int devices : {3, 20}) {
        Random random(static_cast<std::uint64_t>(devices));
        TangledShape shape;
        shape.ops = 300;
        shape.devices = devices;
        const auto problem = tangled_problem(random, semantics, objective, shape);
        MoveEvaluator moves(std::make_shared<const Simulator>(problem));
        long before = 0;
        for (int round = 0; round < 2; ++round) {
          Random again(1);  // the second round repeats the first
          before = allocations;
          const auto ops = static_cast<std::uint64_t>(problem->graph().op_count());
          const long outside = allocations;
          const Placement placement = any_placement(again, *problem);
          before += allocations - outside;
          moves.reset(placement);
          for (int i = 0; i < 200; ++i) {
            const Move two[] = {
                {static_cast<OpId>(again.below(ops)), static_cast<DeviceId>(again.below(3))},
                {static_cast<OpId>(again.below(ops)), static_cast<DeviceId>(again.below(3))}};
            (void)moves.propose(two, i % 3 == 0 ? moves.objective_us() : kCannotRun);
            if (i % 4 == 0) moves.accept();
          }
        }
        CHECK(allocations == before);
      }
    }
  }
}

}  // namespace
}  // namespace berth::test
