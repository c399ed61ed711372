// The synthetic problem that speed is measured on: a layered graph, by default of 30,000 ops and
// about 54,000 edges, on a cluster of equal devices.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/problem.h"
#include "berth/sdk/random.h"

namespace berth::test {

struct LayeredShape {
  OpId ops = 30000;
  double edges_per_op = 1.8;  ///< at most 2.9
  OpId width = 30;            ///< ops per layer
  OpId reach = 60;            ///< an op reads from earlier layers within this many ops before it
  /// Few distinct costs (some of them 0) and sizes, and up to 3 outputs per op, as in the fixtures
  /// of the published simulator: many events at one instant. Otherwise one output per op and costs
  /// and sizes that are all different, as measured ones are.
  bool ties = false;
};

/// A value drawn from one of eight.
template <typename Value>
Value one_of(Random& random, const Value (&values)[8]) {
  return values[random.below(8)];
}

/// Every layer but the first reads at least one tensor per op; the same seed gives the same graph.
inline std::shared_ptr<const Graph> layered_graph(std::uint64_t seed,
                                                  const LayeredShape& shape = {}) {
  Random random(seed);
  GraphBuilder builder("layered");
  std::vector<std::vector<TensorId>> outputs(static_cast<std::size_t>(shape.ops));
  for (OpId op = 0; op < shape.ops; ++op) {
    const std::string digits = std::to_string(op);
    builder.add_op("op" + std::string(6 - std::min<std::size_t>(6, digits.size()), '0') + digits,
                   "Op");
    builder.set_cost(op, "",
                     shape.ties ? one_of<double>(random, {0, 0, 1, 3, 7, 20, 140, 900})
                                : 1 + 200 * random.uniform() * random.uniform());
    const std::uint64_t count = shape.ties && random.uniform() < 0.4 ? 2 + random.below(2) : 1;
    for (std::uint64_t output = 0; output < count; ++output) {
      TensorInfo info;
      info.bytes =
          shape.ties ? one_of<std::int64_t>(random, {0, 0, 4, 4096, 65536, 65536, 1 << 20, 1 << 23})
                     : static_cast<std::int64_t>(random.below(400000));
      outputs[static_cast<std::size_t>(op)].push_back(builder.add_output(op, info));
    }
  }
  std::vector<int> inputs(static_cast<std::size_t>(shape.ops), 1);
  std::fill_n(inputs.begin(), shape.width, 0);
  const auto edges = static_cast<std::int64_t>(shape.edges_per_op * shape.ops);
  for (std::int64_t more = edges - (shape.ops - shape.width); more > 0;) {
    int& count = inputs[static_cast<std::size_t>(
        shape.width +
        static_cast<OpId>(random.below(static_cast<std::uint64_t>(shape.ops - shape.width))))];
    if (count == 3) continue;
    ++count;
    --more;
  }
  for (OpId op = shape.width; op < shape.ops; ++op) {
    const OpId layer = op - op % shape.width;
    const OpId first = std::max<OpId>(0, op - shape.reach);
    std::vector<TensorId> read;
    while (static_cast<int>(read.size()) < inputs[static_cast<std::size_t>(op)]) {
      const auto src = static_cast<std::size_t>(
          first + static_cast<OpId>(random.below(static_cast<std::uint64_t>(layer - first))));
      const TensorId tensor = outputs[src][random.below(outputs[src].size())];
      if (std::find(read.begin(), read.end(), tensor) == read.end()) read.push_back(tensor);
    }
    for (const TensorId tensor : read) builder.add_input(op, tensor);
  }
  return builder.build();
}

/// Equal devices "gpu:0", ..., all connected alike with the published simulator's bandwidth.
inline std::shared_ptr<const Cluster> equal_devices(int count, double latency_us = 0) {
  std::vector<Device> devices(static_cast<std::size_t>(count));
  for (int d = 0; d < count; ++d) {
    devices[static_cast<std::size_t>(d)].name = "gpu:" + std::to_string(d);
    devices[static_cast<std::size_t>(d)].kind = "gpu";
  }
  return std::make_shared<const Cluster>(std::to_string(count) + "-equal", std::move(devices),
                                         std::vector<LinkSpec>{{"*", "*", 7.6e9, latency_us, {}}});
}

/// Device d runs the d-th part of the ops in their order.
inline Placement contiguous_placement(OpId ops, DeviceId devices) {
  Placement placement(static_cast<std::size_t>(ops));
  for (OpId op = 0; op < ops; ++op) {
    placement[static_cast<std::size_t>(op)] =
        static_cast<DeviceId>(std::int64_t{op} * devices / ops);
  }
  return placement;
}

inline Placement random_placement(Random& random, OpId ops, DeviceId devices) {
  Placement placement(static_cast<std::size_t>(ops));
  for (DeviceId& device : placement) {
    device = static_cast<DeviceId>(random.below(static_cast<std::uint64_t>(devices)));
  }
  return placement;
}

}  // namespace berth::test
