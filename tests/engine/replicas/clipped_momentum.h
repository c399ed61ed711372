// A training step with large gradients.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/costs.h"
#include "berth/graph.h"
#include "berth/replicas.h"

namespace berth::test {

/// Four weights of different sizes with momentum, their gradients clipped by a norm of all.
inline SizedModel clipped_momentum(const Cluster& cluster, std::int64_t batch) {
  GraphBuilder builder("momentum", "tf");
  const auto op = [&](const std::string& name, const char* type, std::vector<TensorId> inputs,
                      std::vector<std::int64_t> shape, const std::string& colocation = {}) {
    const OpId made = builder.add_op(name, type);
    for (const TensorId input : inputs) builder.add_input(made, input);
    if (!colocation.empty()) builder.set_colocation(made, colocation);
    if (std::string_view(type) == "VariableV2") builder.set_param_bytes(made, 4 * shape[0]);
    TensorInfo info;
    info.dtype = DType::f32;
    info.has_shape = true;
    info.shape = std::move(shape);
    return builder.add_output(made, info);
  };
  const TensorId x = op("x", "Placeholder", {}, {batch, 1'000'000});
  std::vector<TensorId> variables, moments, gradients, norms;
  for (int i = 0; i < 4; ++i) {
    const std::string name = "w" + std::to_string(i);
    const std::int64_t size = 1'000'000 * (i + 1);
    variables.push_back(op(name, "VariableV2", {}, {size}, name));
    moments.push_back(op(name + "/moment", "VariableV2", {}, {size}, name));
    const TensorId y = op(name + "/product", "Mul", {x, variables.back()}, {batch, size});
    gradients.push_back(op(name + "/gradient", "Sum", {y}, {size}));
    norms.push_back(op(name + "/norm", "L2Loss", {gradients.back()}, {}));
  }
  const TensorId norm = op("norm", "AddN", norms, {});
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const std::string name = "w" + std::to_string(i);
    const std::int64_t size = 1'000'000 * static_cast<std::int64_t>(i + 1);
    const TensorId clipped = op(name + "/clipped", "Mul", {gradients[i], norm}, {size});
    op(name + "/update", "ApplyMomentum", {variables[i], moments[i], clipped}, {size}, name);
  }
  auto graph = builder.build();
  auto costs = Costs::roofline(*graph, cluster);
  return {std::move(graph), std::move(costs)};
}

}  // namespace berth::test
