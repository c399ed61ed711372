// What auto knows of a network's parts that repeat and of its layers, and how its proposals use it.
#include "auto/structure.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "auto/moves.h"
#include "plugins/small_problem.h"

using namespace berth;
using namespace berth::policies;
using namespace berth::policies::auto_policy;
using namespace berth::test;

namespace {

constexpr OpId kLayers = 60;

/// Layers one after the other, of a long op and a short one each: ops 2 i and 2 i + 1.
std::shared_ptr<const Problem> stack() {
  std::vector<SmallOp> ops;
  std::vector<SmallEdge> edges;
  for (OpId layer = 0; layer < kLayers; ++layer) {
    ops.push_back({{10}});
    ops.push_back({{1}});
    edges.push_back({2 * layer, 2 * layer + 1, 100});
    if (layer + 1 < kLayers) edges.push_back({2 * layer + 1, 2 * layer + 2, 50});
  }
  return small_problem({{"d0", "gpu"}, {"d1", "gpu"}}, ops, edges);
}

}  // namespace

TEST_CASE("layers are alike as long as what they look at is") {
  const std::vector<Colours> colours = colours_of(*stack());
  REQUIRE(colours.size() > 1);
  for (const Colours& colour : colours) {
    CHECK(colour[kLayers] == colour[kLayers + 2]);  // in the middle
    CHECK(colour[kLayers] != colour[kLayers + 1]);  // a long op and a short one
  }
  // The op itself is like those of all layers; from further away the ends of the stack are seen.
  CHECK(colours.front()[2] == colours.front()[kLayers]);
  CHECK(colours.back()[2] != colours.back()[kLayers]);
  // What is told apart stays so.
  for (std::size_t i = 0; i + 1 < colours.size(); ++i) {
    for (std::size_t a = 0; a < colours[i].size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (colours[i][a] != colours[i][b]) CHECK(colours[i + 1][a] != colours[i + 1][b]);
      }
    }
  }
}

TEST_CASE("a unit is alike where its longest op is") {
  const auto problem = stack();
  // Every layer is a unit, but the first two are one.
  std::vector<GroupId> unit_of;
  for (OpId op = 0; op < 2 * kLayers; ++op) unit_of.push_back(std::max(0, op / 2 - 1));
  const auto groups = std::make_shared<const Groups>(problem->graph(), unit_of);
  const Units units(*problem, groups, {}, {colours_of(*problem), nullptr});
  REQUIRE_FALSE(units.alike().empty());
  CHECK(units.alike().front().members(units.alike().front().of(0)).size() == kLayers - 1);
  CHECK(Units(*problem, groups, {}).alike().empty());
}

TEST_CASE("a proposal moves what is alike together") {
  const auto problem = stack();
  const Units units(*problem, problem->finest_groups(), {}, {colours_of(*problem), nullptr});
  Proposer proposer(units);
  // The first half of the layers is on d0; there are no regions of long ops alone.
  Placement placement(2 * kLayers, 1);
  std::fill(placement.begin(), placement.begin() + kLayers, 0);
  Random random(1);
  bool long_ops_alone = false;
  for (int i = 0; i < 20000 && !long_ops_alone; ++i) {
    std::set<OpId> moved;
    for (const Move& move : proposer.draw(placement, 0.1, random)) moved.insert(move.op);
    long_ops_alone =
        moved.size() > 4 && std::all_of(moved.begin(), moved.end(), [&](OpId op) {
          return op % 2 == 0 && placement[static_cast<std::size_t>(op)] ==
                                    placement[static_cast<std::size_t>(*moved.begin())];
        });
  }
  CHECK(long_ops_alone);
}

namespace {

constexpr OpId kSteps = 5;

/// A loop of two layers, unrolled: in every step each layer multiplies by its weights (ops 0 and 1),
/// then applies a function. `op(layer, step, 0)` multiplies, `op(layer, step, 1)` does the other.
struct Unrolled {
  static OpId op(OpId layer, OpId step, OpId what) { return 2 + 4 * step + 2 * layer + what; }

  std::shared_ptr<const Problem> problem = [] {
    std::vector<SmallOp> ops{{{1}, 4000}, {{1}, 3000}};
    std::vector<SmallEdge> edges;
    for (OpId step = 0; step < kSteps; ++step) {
      for (OpId layer = 0; layer < 2; ++layer) {
        ops.push_back({{10}});
        ops.push_back({{2}});
        edges.push_back({layer, op(layer, step, 0), layer == 0 ? 4000 : 3000});
        edges.push_back({op(layer, step, 0), op(layer, step, 1), 70});
        if (layer > 0) edges.push_back({op(0, step, 1), op(1, step, 0), 50});
        if (step > 0) edges.push_back({op(layer, step - 1, 1), op(layer, step, 0), 60});
      }
    }
    return small_problem({{"d0", "gpu"}, {"d1", "gpu"}}, ops, edges);
  }();
};

}  // namespace

TEST_CASE("a layer is what shares weights, in all steps of a loop") {
  const Unrolled loop;
  const auto layers = layers_of(*loop.problem);
  REQUIRE(layers != nullptr);
  CHECK(layers->count() == 2);
  CHECK(layers->of(0) != layers->of(1));
  for (OpId step = 0; step < kSteps; ++step) {
    for (const OpId what : {0, 1}) {
      CHECK(layers->of(Unrolled::op(0, step, what)) == layers->of(0));
      CHECK(layers->of(Unrolled::op(1, step, what)) == layers->of(1));
    }
  }
}

TEST_CASE("where fewer than two parts have weights there are no layers") {
  CHECK(layers_of(*stack()) == nullptr);
  CHECK(layers_of(*small_problem({{"d0", "gpu"}}, {{{1}, 100}, {{1}}}, {{0, 1, 100}})) == nullptr);
}

TEST_CASE("weights that several ops read make a layer of them") {
  GraphBuilder builder("shared");
  for (const char* name : {"a", "b", "c", "d"}) builder.add_op(name, "Op");
  TensorInfo info;
  for (const auto& [bytes, readers] :
       {std::pair{1000, std::vector<OpId>{0, 3}}, std::pair{500, std::vector<OpId>{1, 2}}}) {
    info.bytes = bytes;
    const TensorId tensor = builder.add_parameter(info);
    for (const OpId reader : readers) builder.add_input(reader, tensor);
  }
  const auto graph = builder.build();
  const auto plain = small_problem({{"d0", "x"}}, {{{1}}, {{1}}, {{1}}, {{1}}}, {});
  const auto layers = layers_of(Problem(graph, plain->shared_cluster(), plain->shared_costs()));
  REQUIRE(layers != nullptr);
  CHECK(layers->count() == 2);
  CHECK(layers->of(0) == layers->of(3));
  CHECK(layers->of(1) == layers->of(2));
  CHECK(layers->of(0) != layers->of(1));
}

TEST_CASE("a proposal moves a layer that is spread over devices to one of them") {
  const Unrolled loop;
  const Problem& problem = *loop.problem;
  const Units units(problem, problem.finest_groups(), {}, structure_of(problem));
  REQUIRE(units.levels().size() == 1);
  Proposer proposer(units);
  Placement start;
  for (OpId op = 0; op < problem.graph().op_count(); ++op) start.push_back(op % 3 == 0 ? 1 : 0);
  const auto layers = layers_of(problem);
  Random random(1);
  bool gathered = false;
  for (int i = 0; i < 20000 && !gathered; ++i) {
    Placement placement = start;
    for (const Move& move : proposer.draw(start, 0.05, random)) {
      placement[static_cast<std::size_t>(move.op)] = move.to;
    }
    const auto members = layers->members(0);
    gathered = std::all_of(members.begin(), members.end(), [&](OpId op) {
      return placement[static_cast<std::size_t>(op)] == placement[0];
    });
  }
  CHECK(gathered);
}
