#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "berth/error.h"
#include "berth/groups.h"
#include "support/random_problem.h"

using namespace berth;
using namespace berth::test;

namespace {

std::shared_ptr<const Costs> uniform_costs(const Graph& graph, double us) {
  return std::make_shared<const Costs>(std::vector<std::vector<double>>{std::vector<double>(
                                           static_cast<std::size_t>(graph.op_count()), us)},
                                       std::vector<std::int64_t>(), "test");
}

/// A chain whose i-th edge carries `bytes[i]`.
std::shared_ptr<const Graph> chain(const std::vector<std::int64_t>& bytes) {
  GraphBuilder builder("chain");
  for (std::size_t i = 0; i <= bytes.size(); ++i) builder.add_op("op" + std::to_string(i), "Op");
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    TensorInfo info;
    info.bytes = bytes[i];
    builder.add_input(static_cast<OpId>(i + 1), builder.add_output(static_cast<OpId>(i), info));
  }
  return builder.build();
}

/// Whether what was merged runs on the same kinds.
bool kinds_agree(const Groups& groups, const Costs& costs, const Groups& finest) {
  const auto kinds = [&](std::span<const OpId> ops) {
    std::vector<bool> able;
    for (KindId kind = 0; kind < costs.kind_count(); ++kind) {
      able.push_back(
          std::all_of(ops.begin(), ops.end(), [&](OpId op) { return costs.can_run(op, kind); }));
    }
    return able;
  };
  for (GroupId unit = 0; unit < finest.count(); ++unit) {
    const auto ops = finest.members(unit);
    if (kinds(ops) != kinds(groups.members(groups.of(ops.front())))) return false;
  }
  return true;
}

bool colocation_kept(const Groups& groups, const Groups& finest) {
  for (GroupId group = 0; group < finest.count(); ++group) {
    for (const OpId op : finest.members(group)) {
      if (groups.of(op) != groups.of(finest.members(group).front())) return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("coarsen: a chain is cut at its lightest edges") {
  const auto graph = chain({9, 1, 8, 7, 2, 6});
  const auto groups = coarsen(*graph, *uniform_costs(*graph, 10), 3);
  CHECK(std::vector<GroupId>(groups->map().begin(), groups->map().end()) ==
        std::vector<GroupId>{0, 0, 1, 1, 1, 2, 2});
}

TEST_CASE("coarsen: a heavy edge that would close a cycle waits") {
  // a -> b -> c and a heavy a -> c: merging a and c first would put b on both sides.
  GraphBuilder builder("triangle");
  for (const char* name : {"a", "b", "c", "d"}) builder.add_op(name, "Op");
  TensorInfo heavy, light;
  heavy.bytes = 100;
  light.bytes = 1;
  const TensorId big = builder.add_output(0, heavy);
  const TensorId small = builder.add_output(0, light);
  const TensorId next = builder.add_output(1, light);
  const TensorId last = builder.add_output(2, light);
  builder.add_input(2, big);
  builder.add_input(1, small);
  builder.add_input(2, next);
  builder.add_input(3, last);
  const auto graph = builder.build();
  const auto groups = coarsen(*graph, *uniform_costs(*graph, 0), 2);
  CHECK(groups->count() == 2);
  CHECK(groups->acyclic());
  CHECK(groups->of(0) == groups->of(2));
  CHECK(groups->of(1) == groups->of(0));
}

TEST_CASE("coarsen: sizes stay within twice the mean while something else can merge") {
  const auto graph = chain(std::vector<std::int64_t>(63, 5));
  const auto groups = coarsen(*graph, *uniform_costs(*graph, 3), 8);
  CHECK(groups->count() == 8);
  for (GroupId group = 0; group < groups->count(); ++group) {
    CHECK(groups->members(group).size() <= 16);
  }
}

TEST_CASE("coarsen: the count and its errors") {
  const auto graph = chain({1, 2, 3});
  const auto costs = uniform_costs(*graph, 1);
  CHECK(coarsen(*graph, *costs, 1)->count() == 1);
  CHECK(coarsen(*graph, *costs, 4)->count() == 4);
  CHECK(coarsen(*graph, *costs, std::numeric_limits<GroupId>::max())->count() == 4);
  CHECK_THROWS_WITH_AS(static_cast<void>(coarsen(*graph, *costs, 0)),
                       "cannot coarsen graph 'chain' to 0 groups; ask for at least 1", Error);
  CHECK_THROWS_AS(static_cast<void>(coarsen(*graph, *uniform_costs(*chain({1}), 1), 2)), Error);
}

TEST_CASE("coarsen: groups that alternate between kinds are gathered kind by kind") {
  // Two independent chains, interleaved in the graph's order; each runs on a kind of its own.
  GraphBuilder builder("two");
  std::vector<std::vector<double>> us(2);
  for (OpId op = 0; op < 20; ++op) {
    builder.add_op("op" + std::to_string(op), "Op");
    builder.add_output(op, {});
    us[0].push_back(op % 2 == 0 ? 1 : kCannotRun);
    us[1].push_back(op % 2 == 0 ? kCannotRun : 1);
  }
  for (OpId op = 2; op < 20; ++op) builder.add_control_edge(op - 2, op);
  const auto graph = builder.build();
  const Costs costs(us, {}, "test");
  const auto groups = coarsen(*graph, costs, 1);
  CHECK(groups->count() == 2);
  CHECK(groups->acyclic());
  CHECK(kinds_agree(*groups, costs, *colocation_groups(*graph)));
}

TEST_CASE("coarsen: what a host alone can run keeps nothing else there") {
  // A chain of ops for a device and its host, every tenth of which the host alone can run.
  const auto graph = chain(std::vector<std::int64_t>(99, 1));
  std::vector<std::vector<double>> us(2, std::vector<double>(100, 1));
  for (std::size_t op = 5; op < 100; op += 10) us[0][op] = kCannotRun;
  const Costs costs(us, {}, "test");
  for (const GroupId count : {1, 2, 30}) {
    CAPTURE(count);
    const auto groups = coarsen(*graph, costs, count);
    CHECK(groups->acyclic());
    CHECK(groups->count() >= 21);  // cut before and after each of the ten
    CHECK(groups->count() <= std::max(count, 21));
    CHECK(kinds_agree(*groups, costs, *colocation_groups(*graph)));
  }
}

TEST_CASE("coarsen: properties on random graphs") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const bool colocated = seed % 3 == 0;
    const bool choosy = seed % 2 == 0;
    const auto graph = random_graph(random, {.ops = static_cast<OpId>(2 + random.below(80)),
                                             .edge_chance = 0.02 + 0.3 * random.uniform(),
                                             .reach = static_cast<OpId>(1 + random.below(20)),
                                             .colocate_chance = colocated ? 0.3 : 0.0,
                                             .classes = 4,
                                             .max_param_bytes = seed % 5 == 0 ? 1000 : 0});
    const auto cluster = random_cluster(random, {.devices = 3, .kinds = 3});
    const auto costs = random_costs(random, *graph, *cluster, 100, choosy ? 0.3 : 0.0);
    const auto finest = colocation_groups(*graph);
    const auto count =
        static_cast<GroupId>(1 + random.below(static_cast<std::uint64_t>(graph->op_count())));
    const auto groups = coarsen(*graph, *costs, count);
    if (!choosy) CHECK(groups->count() <= count);
    CHECK(groups->count() >= std::min(count, finest->count()));
    CHECK(groups->count() <= finest->count());
    if (finest->acyclic()) CHECK(groups->acyclic());
    CHECK(kinds_agree(*groups, *costs, *finest));
    CHECK(colocation_kept(*groups, *finest));
    const auto again = coarsen(*graph, *costs, count);
    CHECK(std::equal(groups->map().begin(), groups->map().end(), again->map().begin()));
  }
}

TEST_CASE("coarsen: a large graph, also around one hub") {
  for (const bool hub : {false, true}) {
    CAPTURE(hub);
    Random random(1);
    GraphBuilder builder("large");
    const OpId ops = 30000;
    std::vector<TensorId> output;
    for (OpId op = 0; op < ops; ++op) {
      builder.add_op("op" + std::to_string(op), "Op");
      TensorInfo info;
      info.bytes = static_cast<std::int64_t>(random.below(1000000));
      output.push_back(builder.add_output(op, info));
    }
    for (OpId op = 1; op < ops; ++op) {
      const auto reach = static_cast<std::uint64_t>(std::min<OpId>(op, 200));
      builder.add_input(op, output[static_cast<std::size_t>(op - 1) - random.below(reach)]);
      builder.add_input(op, output[static_cast<std::size_t>(hub ? 0 : op - 1)]);
    }
    const auto graph = builder.build();
    const auto groups = coarsen(*graph, *uniform_costs(*graph, hub ? 0 : 1), 256);
    CHECK(groups->count() == 256);
    CHECK(groups->acyclic());
  }
}
