// What auto reads off the idle time of a step, and how its proposals use it.
#include "auto/idleness.h"

#include <doctest/doctest.h>

#include <set>
#include <utility>

#include "auto/moves.h"
#include "plugins/small_problem.h"

using namespace berth;
using namespace berth::policies;
using namespace berth::policies::auto_policy;
using namespace berth::test;

namespace {

/// On d0 the ops 2, 1, 0 one after the other (longest first), 60 us; on d1 op 3, 5 us.
struct Idle {
  std::shared_ptr<const Problem> problem =
      small_problem({{"d0", "gpu"}, {"d1", "gpu"}}, {{{10}}, {{20}}, {{30}}, {{5}}}, {});
  Placement placement{0, 0, 0, 1};
  StepTrace trace = Simulator(problem).trace(placement);
  Units units{*problem, problem->finest_groups(), {}};
  std::vector<Gap> gaps = gaps_of(*problem, placement, trace);
};

}  // namespace

TEST_CASE("gaps are when a device has nothing to do before the step ends") {
  const Idle idle;
  REQUIRE(idle.gaps.size() == 1);
  CHECK(idle.gaps[0].device == 1);
  CHECK(idle.gaps[0].begin_us == doctest::Approx(5));
  CHECK(idle.gaps[0].us == doctest::Approx(55));
}

TEST_CASE("a gap between two ops is one too, a pause that the semantics demands is not") {
  ProblemOptions options;
  options.semantics = Semantics::placeto;
  options.device_gap_us = 7;
  // a on d0 feeds c on d1, which has done b long before; d0 then runs d.
  const auto plain =
      small_problem({{"d0", "gpu"}, {"d1", "gpu"}}, {{{50}}, {{5}}, {{10}}, {{20}}}, {{0, 2, 100}});
  const auto problem = std::make_shared<const Problem>(
      plain->shared_graph(), plain->shared_cluster(), plain->shared_costs(), nullptr, options);
  const Placement placement{0, 1, 1, 0};
  const StepTrace trace = Simulator(problem).trace(placement);
  const std::vector<Gap> gaps = gaps_of(*problem, placement, trace);
  REQUIRE(trace.op_start_us[2] == doctest::Approx(150));
  REQUIRE(gaps.size() >= 2);
  CHECK(gaps[0].device == 1);
  CHECK(gaps[0].begin_us == doctest::Approx(12));
  CHECK(gaps[0].us == doctest::Approx(138));
  for (const Gap& gap : gaps) CHECK((gap.device == 1 || gap.begin_us >= 84));
}

TEST_CASE("what waits for a busy device could fill another's gap") {
  const Idle idle;
  std::set<std::pair<OpId, DeviceId>> found;
  for (const Fill& fill :
       fills_of(*idle.problem, idle.units, idle.placement, idle.trace, idle.gaps)) {
    found.insert({idle.units.ops(fill.unit).front(), fill.to});
  }
  CHECK(found == std::set<std::pair<OpId, DeviceId>>{{0, 1}, {1, 1}});
}

TEST_CASE("what starts before the idle time is settled, and a proposer leaves it where it is") {
  const Idle idle;
  const std::vector<bool> settled = settled_units(idle.units, idle.trace, idle.gaps, 0.5);
  const auto is_settled = [&](OpId op) {
    return settled[static_cast<std::size_t>(idle.units.of(op))];
  };
  CHECK(is_settled(2));
  CHECK(is_settled(3));
  CHECK_FALSE(is_settled(0));
  CHECK_FALSE(is_settled(1));

  Proposer proposer(idle.units);
  proposer.hold(settled);
  Random random(1);
  std::set<OpId> moved;
  for (int i = 0; i < 500; ++i) {
    for (const Move& move : proposer.draw(idle.placement, 1, random)) moved.insert(move.op);
  }
  CHECK(moved == std::set<OpId>{0, 1});
  proposer.hold(std::vector<bool>(4, true));
  for (int i = 0; i < 500; ++i) {
    for (const Move& move : proposer.draw(idle.placement, 1, random)) moved.insert(move.op);
  }
  CHECK(moved == std::set<OpId>{0, 1, 2, 3});
}

TEST_CASE("fills are drawn among the proposals") {
  const Idle idle;
  Proposer proposer(idle.units);
  proposer.set_fills({{idle.units.of(0), 1}});
  Random random(1);
  int filled = 0;
  for (int i = 0; i < 500; ++i) {
    const auto moves = proposer.draw(idle.placement, 1, random);
    filled += moves.size() == 1 && moves[0].op == 0 && moves[0].to == 1 ? 1 : 0;
  }
  CHECK(filled > 50);
}
