// A training step with large gradients.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/costs.h"
#include "berth/graph.h"
#include "berth/replicas.h"
#include "training_graph.h"

namespace berth::test {

/// Four weights of different sizes with momentum, their gradients clipped by a norm of all.
inline SizedModel clipped_momentum(const Cluster& cluster, std::int64_t batch) {
  GraphBuilder builder("momentum", "tf");
  const auto op = adder(builder);
  const auto variable = [&](const std::string& name, std::int64_t size, const std::string& with) {
    const TensorId tensor = op(name, "VariableV2", {}, {size}, DType::f32, with);
    builder.set_param_bytes(builder.op_count() - 1, 4 * size);
    return tensor;
  };
  const TensorId x = op("x", "Placeholder", {}, {batch, 1'000'000});
  std::vector<TensorId> variables, moments, gradients, norms;
  for (int i = 0; i < 4; ++i) {
    const std::string name = "w" + std::to_string(i);
    const std::int64_t size = 1'000'000 * (i + 1);
    variables.push_back(variable(name, size, name));
    moments.push_back(variable(name + "/moment", size, name));
    const TensorId y = op(name + "/product", "Mul", {x, variables.back()}, {batch, size});
    gradients.push_back(op(name + "/gradient", "Sum", {y}, {size}));
    norms.push_back(op(name + "/norm", "L2Loss", {gradients.back()}, {}));
  }
  const TensorId norm = op("norm", "AddN", norms, {});
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const std::string name = "w" + std::to_string(i);
    const std::int64_t size = 1'000'000 * static_cast<std::int64_t>(i + 1);
    const TensorId clipped = op(name + "/clipped", "Mul", {gradients[i], norm}, {size});
    op(name + "/update", "ApplyMomentum", {variables[i], moments[i], clipped}, {size}, DType::f32,
       name);
  }
  auto graph = builder.build();
  auto costs = Costs::roofline(*graph, cluster);
  return {std::move(graph), std::move(costs)};
}

}  // namespace berth::test
