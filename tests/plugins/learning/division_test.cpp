// Where hdp's grouper begins: unrolled layers, cut into stretches.
#include "hdp/division.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "berth/graph.h"
#include "berth/problem.h"

using namespace berth;

namespace {

constexpr int kSteps = 6;

/// What is to be told apart, in a graph whose names and types tell nothing.
struct Unrolled {
  struct Op {
    int layer;
    int step;  ///< -1: a variable
    bool cpu_alone = false;
  };
  std::vector<Op> ops;
  std::shared_ptr<const Problem> problem;

  [[nodiscard]] const Op& of(GroupId unit) const {
    return ops[static_cast<std::size_t>(problem->groups().members(unit).front())];
  }
};

enum class Weights { variables, parameters };

/// Layers of two ops a step, a product with the layer's weight and what follows it, which adds a
/// small weight of the layer's own. `cpu_layer`: whose second ops run on the CPU alone.
Unrolled unrolled(int layers, Weights weights, int cpu_layer = -1) {
  GraphBuilder builder("unrolled");
  Unrolled result;
  const auto add = [&](Unrolled::Op what) {
    const OpId op = builder.add_op("n" + std::to_string(result.ops.size()), "Op");
    builder.set_cost(op, "cpu", 50);
    if (!what.cpu_alone) builder.set_cost(op, "gpu", 10);
    result.ops.push_back(what);
    return op;
  };
  const auto weight = [&](int layer, std::int64_t floats) {
    const TensorInfo info{DType::f32, true, {floats}};
    if (weights == Weights::parameters) return builder.add_parameter(info);
    const OpId op = add({layer, -1});
    builder.set_param_bytes(op, 4 * floats);
    return builder.add_output(op, info);
  };
  std::vector<TensorId> large, small;
  for (int layer = 0; layer < layers; ++layer) {
    large.push_back(weight(layer, 100000));
    small.push_back(weight(layer, 100));
  }
  std::vector<TensorId> state(static_cast<std::size_t>(layers), kNoTensor);
  for (int step = 0; step < kSteps; ++step) {
    for (int layer = 0; layer < layers; ++layer) {
      const auto l = static_cast<std::size_t>(layer);
      const OpId product = add({layer, step});
      builder.add_input(product, large[l]);
      if (step > 0) builder.add_input(product, state[l]);
      if (layer > 0) builder.add_input(product, state[l - 1]);
      const TensorId gates = builder.add_output(product, {DType::f32, true, {4000}});
      const OpId after = add({layer, step, layer == cpu_layer});
      builder.add_input(after, gates);
      builder.add_input(after, small[l]);
      state[l] = builder.add_output(after, {DType::f32, true, {1000}});
    }
  }
  const auto graph = builder.build();
  const auto cluster = std::make_shared<const Cluster>(
      "pair", std::vector<Device>{{"cpu:0", "cpu"}, {"gpu:0", "gpu"}},
      std::vector<LinkSpec>{{"*", "*", 1e9, 1, {}}});
  result.problem = std::make_shared<const Problem>(graph, cluster, Costs::stated(*graph, *cluster));
  return result;
}

std::vector<std::int32_t> balanced(const Problem& problem, std::int32_t count) {
  const auto division = coarsen(problem.graph(), problem.costs(), count);
  std::vector<std::int32_t> label;
  for (GroupId unit = 0; unit < problem.groups().count(); ++unit) {
    label.push_back(division->of(problem.groups().members(unit).front()));
  }
  return label;
}

}  // namespace

TEST_CASE("a division keeps unrolled layers apart and cuts each into stretches of its steps") {
  for (const Weights weights : {Weights::variables, Weights::parameters}) {
    for (const std::int32_t count : {2, 3, 4, 7}) {
      CAPTURE(static_cast<int>(weights));
      CAPTURE(count);
      const Unrolled graph = unrolled(2, weights);
      const auto label = hdp::divide(*graph.problem, count);
      REQUIRE(label.size() == graph.ops.size());
      std::vector<std::set<int>> layers_of(static_cast<std::size_t>(count));
      std::vector<int> last_step(static_cast<std::size_t>(count), -1);
      for (GroupId a = 0; a < graph.problem->groups().count(); ++a) {
        const std::int32_t group = label[static_cast<std::size_t>(a)];
        REQUIRE(group >= 0);
        REQUIRE(group < count);
        layers_of[static_cast<std::size_t>(group)].insert(graph.of(a).layer);
        int& last = last_step[static_cast<std::size_t>(group)];
        last = std::max(last, graph.of(a).step);
      }
      for (std::size_t group = 0; group < layers_of.size(); ++group) {
        CHECK(layers_of[group].size() == 1);
        if (group == 0) continue;
        // First all of the first layer's, each later than the one before.
        CHECK(*layers_of[group].begin() >= *layers_of[group - 1].begin());
        if (layers_of[group] == layers_of[group - 1])
          CHECK(last_step[group] > last_step[group - 1]);
      }
    }
  }
}

TEST_CASE("a division's stretches take about as long as each other") {
  const Unrolled graph = unrolled(2, Weights::parameters);
  const auto label = hdp::divide(*graph.problem, 6);
  std::vector<int> ops(6, 0);
  for (const std::int32_t group : label) ++ops[static_cast<std::size_t>(group)];
  CHECK(ops == std::vector<int>(6, 2 * 2 * kSteps / 6));
}

TEST_CASE("units of one group of a division can run on the same devices") {
  const Unrolled graph = unrolled(2, Weights::variables, /*cpu_layer=*/1);
  const Problem& problem = *graph.problem;
  const auto label = hdp::divide(problem, 6);
  for (GroupId a = 0; a < problem.groups().count(); ++a) {
    for (GroupId b = 0; b < a; ++b) {
      if (label[static_cast<std::size_t>(a)] != label[static_cast<std::size_t>(b)]) continue;
      for (DeviceId device = 0; device < 2; ++device) {
        CHECK(problem.can_run(a, device) == problem.can_run(b, device));
      }
    }
  }
}

TEST_CASE("a division is balanced where nothing is unrolled, and where groups are too few") {
  const Unrolled one = unrolled(1, Weights::variables);
  CHECK(hdp::divide(*one.problem, 4) == balanced(*one.problem, 4));
  const Unrolled three = unrolled(3, Weights::variables);
  CHECK(hdp::divide(*three.problem, 2) == balanced(*three.problem, 2));
}
