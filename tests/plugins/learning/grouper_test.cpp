// Group features, and how hdp's grouper begins.
#include "hdp/grouper.h"

#include <torch/torch.h>

#include <cmath>
#include <memory>
#include <vector>

#include "berth/graph.h"
#include "berth/problem.h"
#include "support/random_problem.h"
#include "support/torch_doctest.h"

using namespace berth;
using namespace berth::learning;

namespace {

/// a -> b -> c, of types A, B and A; b runs on the CPU alone.
Problem small_problem() {
  GraphBuilder builder("small");
  const OpId a = builder.add_op("a", "A"), b = builder.add_op("b", "B"),
             c = builder.add_op("c", "A");
  const TensorId from_a = builder.add_output(a, {DType::f32, true, {20, 40}});
  const TensorId from_b = builder.add_output(b, {DType::f32, true, {3}});
  builder.add_input(b, from_a);
  builder.add_input(c, from_b);
  for (const OpId op : {a, c}) builder.set_cost(op, "gpu", 1);
  for (const OpId op : {a, b, c}) builder.set_cost(op, "cpu", 5);
  const auto graph = builder.build();
  const auto cluster = std::make_shared<const Cluster>(
      "pair", std::vector<Device>{{"cpu:0", "cpu"}, {"gpu:0", "gpu"}},
      std::vector<LinkSpec>{{"*", "*", 1e9, 1, {}}});
  return {graph, cluster, Costs::stated(*graph, *cluster)};
}

}  // namespace

TEST_CASE("a sequence has the types, shapes, neighbours and barred devices of its groups") {
  const Problem problem = small_problem();
  const Problem* const problems[] = {&problem};
  const Vocabulary vocabulary(problems, 1);  // A alone; B is not known
  CHECK(vocabulary.size() == 2);
  CHECK(vocabulary.of("A") == 1);
  CHECK(vocabulary.of("B") == 0);
  CHECK(vocabulary.of("never seen") == 0);
  CHECK(Vocabulary(vocabulary.text()).of("A") == 1);

  const Units units(problem, vocabulary);
  const std::vector<std::int32_t> label{3, 1, 3};  // a and c together
  const Sequence sequence = units.sequence(problem, label, 5);
  CHECK(sequence.labels == std::vector<std::int32_t>{1, 3});
  CHECK(sequence.types.equal(torch::tensor({{1.0F, 0.0F}, {0.0F, 1.0F}})));
  CHECK(sequence.shapes[1][0].item<double>() == doctest::Approx(std::log(21.0) / 10));
  CHECK(sequence.shapes[1][1].item<double>() == doctest::Approx(std::log(41.0) / 10));
  CHECK(sequence.shapes[1].count_nonzero().item<std::int64_t>() == 2);
  CHECK(sequence.inputs[0].equal(torch::tensor({0.0F, 0.0F, 0.0F, 1.0F, 0.0F})));
  CHECK(sequence.outputs[0].equal(torch::tensor({0.0F, 0.0F, 0.0F, 1.0F, 0.0F})));
  CHECK(sequence.barred.equal(torch::tensor({{false, true}, {false, false}})));
  const std::int64_t devices[] = {0, 1};
  CHECK(units.expand(problem, sequence, label, devices) == GroupPlacement{1, 0, 1});
}

TEST_CASE("a unit that cannot run where its group is goes where it takes least time") {
  const Problem problem = small_problem();
  const Problem* const problems[] = {&problem};
  const Units units(problem, Vocabulary(problems, 9));
  const std::vector<std::int32_t> label{0, 0, 0};
  const Sequence sequence = units.sequence(problem, label, 2);
  CHECK_FALSE(sequence.barred.any().item<bool>());  // most of the group can run on either device
  const std::int64_t devices[] = {1};
  CHECK(units.expand(problem, sequence, label, devices) == GroupPlacement{1, 0, 1});
}

TEST_CASE("the grouper begins with a division of any graph, or as published") {
  Random random(2);
  const auto graph = test::random_graph(random, {.ops = 200, .edge_chance = 0.5, .reach = 3});
  const auto cluster = test::random_cluster(random, {.devices = 2});
  const Problem problem(graph, cluster, test::random_costs(random, *graph, *cluster, 10, 0));
  const Problem* const problems[] = {&problem};
  const Vocabulary vocabulary(problems, 20);
  const Units units(problem, vocabulary);
  constexpr std::int64_t kGroups = 8;
  const auto division = coarsen(*graph, problem.costs(), kGroups);
  REQUIRE(division->count() == kGroups);
  // The mean chance of a unit's own group of the division.
  const auto chance = [&](double prior) {
    Parameters parameters;
    const hdp::FeedForwardGrouper grouper(vocabulary, 64, kGroups, prior, parameters, random);
    const torch::Tensor pi = grouper.log_policy(grouper.features(problem, units)).exp();
    CHECK(pi.sizes() == at::IntArrayRef{units.count(), kGroups});
    CHECK(torch::allclose(pi.sum(1), torch::ones({units.count()})));
    double sum = 0;
    for (GroupId unit = 0; unit < problem.groups().count(); ++unit) {
      sum += pi[unit][division->of(problem.groups().members(unit).front())].item<double>();
    }
    return sum / static_cast<double>(units.count());
  };
  CHECK(chance(0) < 0.2);
  CHECK(chance(8) > 0.95);
}
