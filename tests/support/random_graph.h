// Random graphs for property tests; every choice is drawn from the given generator.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "berth/graph.h"
#include "berth/sdk/random.h"

namespace berth::test {

struct RandomGraphShape {
  OpId ops = 12;
  double edge_chance = 0.3;     ///< of each ordered pair within `reach`
  OpId reach = 1 << 30;         ///< an op consumes only from this many ops before it
  double control_chance = 0.1;  ///< that an edge is a control edge
  double colocate_chance = 0;   ///< that an op joins one of `classes` co-location classes
  int classes = 2;
  std::int64_t max_bytes = 1000000;
  std::int64_t max_param_bytes = 0;
  double shared_parameter_chance = 0;  ///< that an op also reads one of two shared parameters
};

/// Ops named "op0", "op1", ... in an order that is topological, with one output each.
inline std::shared_ptr<const Graph> random_graph(Random& random, const RandomGraphShape& shape) {
  GraphBuilder builder("random");
  std::vector<TensorId> output;
  const auto bytes = [&](std::int64_t max) {
    // A zero now and then: empty tensors are legal.
    return max == 0 || random.uniform() < 0.1
               ? 0
               : static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(max)));
  };
  const auto sized = [](std::int64_t size) {
    TensorInfo info;
    info.bytes = size;
    return info;
  };
  for (OpId op = 0; op < shape.ops; ++op) {
    builder.add_op("op" + std::to_string(op), "Op");
    output.push_back(builder.add_output(op, sized(bytes(shape.max_bytes))));
  }
  const TensorId shared[] = {builder.add_parameter(sized(bytes(shape.max_param_bytes))),
                             builder.add_parameter(sized(bytes(shape.max_param_bytes)))};
  for (OpId op = 0; op < shape.ops; ++op) {
    for (OpId src = std::max<OpId>(0, op - shape.reach); src < op; ++src) {
      if (random.uniform() >= shape.edge_chance) continue;
      if (random.uniform() < shape.control_chance) {
        builder.add_control_edge(src, op);
      } else {
        builder.add_input(op, output[static_cast<std::size_t>(src)]);
      }
    }
    if (random.uniform() < shape.colocate_chance) {
      builder.set_colocation(
          op, "class" + std::to_string(random.below(static_cast<std::uint64_t>(shape.classes))));
    }
    if (shape.max_param_bytes > 0) builder.set_param_bytes(op, bytes(shape.max_param_bytes));
    if (random.uniform() < shape.shared_parameter_chance) {
      builder.add_input(op, shared[random.below(2)]);
    }
  }
  return builder.build();
}

}  // namespace berth::test
