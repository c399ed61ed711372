// A graph and a machine for readers of other tools' measurements.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "berth/cluster.h"
#include "berth/graph.h"

namespace berth::test {

/// The graph 'two': MatMuls of 1000 x 1000 in a row, with these names.
inline std::shared_ptr<const Graph> two_matmuls(const std::vector<std::string>& names) {
  GraphBuilder builder("two", "onnx");
  TensorInfo info;
  info.dtype = DType::f32;
  info.has_shape = true;
  info.shape = {1000, 1000};
  info.bytes = 4'000'000;
  TensorId last = kNoTensor;
  for (const std::string& name : names) {
    const OpId op = builder.add_op(name, "MatMul");
    builder.add_input(op, last != kNoTensor ? last : builder.add_parameter(info, "x"));
    builder.add_input(op, builder.add_parameter(info, name + ".weight"));
    last = builder.add_output(op, info);
  }
  return builder.build();
}

/// A host and a GPU of the same figures, so that the roofline model's costs are equal.
inline std::shared_ptr<const Cluster> host_and_gpu() {
  std::vector<Device> devices = {{"cpu:0", "cpu"}, {"gpu:0", "gpu"}};
  for (Device& device : devices) device.flops = device.memory_bandwidth = 1e12;
  devices[0].host = true;
  return std::make_shared<const Cluster>("machine", devices,
                                         std::vector<LinkSpec>{{"*", "*", 1e9, 1}});
}

}  // namespace berth::test
