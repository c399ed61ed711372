// Rules in one line, and a small graph on a small machine to state them about.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/constraints.h"
#include "berth/problem.h"

namespace berth::test {

using Kind = ConstraintRule::Kind;

inline OpSelector named(std::string name) {
  return {.name = std::move(name), .regex = {}, .type = {}, .requested_device = {}};
}
inline OpSelector like(std::string regex) {
  return {.name = {}, .regex = std::move(regex), .type = {}, .requested_device = {}};
}
inline OpSelector typed(std::string type) {
  return {.name = {}, .regex = {}, .type = std::move(type), .requested_device = {}};
}
inline OpSelector asking(std::string device) {
  return {.name = {}, .regex = {}, .type = {}, .requested_device = std::move(device)};
}

inline ConstraintRule rule(Kind kind, std::vector<OpSelector> ops,
                           std::vector<std::string> devices = {}) {
  ConstraintRule made;
  made.kind = kind;
  made.ops = std::move(ops);
  made.devices = std::move(devices);
  return made;
}
inline ConstraintRule pin(OpSelector ops, std::vector<std::string> devices) {
  return rule(Kind::pin, {std::move(ops)}, std::move(devices));
}
inline ConstraintRule forbid(OpSelector ops, std::vector<std::string> devices) {
  return rule(Kind::forbid, {std::move(ops)}, std::move(devices));
}
inline ConstraintRule colocate(std::vector<OpSelector> ops) {
  return rule(Kind::colocate, std::move(ops));
}
inline ConstraintRule separate(std::vector<OpSelector> ops) {
  return rule(Kind::separate, std::move(ops));
}

/// A chain in/x -> a/1 -> a/2 -> b/1 -> b/2 -> out of types In, A, A, B, B, Out, each output 100
/// bytes; b/1 and b/2 are co-located by the model ("pair"); `in/x` asks for "/device:CPU:0" and
/// `out` for "gpu:1". Devices cpu:0 (kind host, no limit), gpu:0 and gpu:1 (kind gpu, 1000 bytes),
/// links of one byte per microsecond. Ops take 1 us on gpu and 3 us on host; type B runs on gpu
/// alone.
struct Chain {
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<const Cluster> cluster;
  std::shared_ptr<const Costs> costs;

  static constexpr DeviceId kCpu = 0, kGpu0 = 1, kGpu1 = 2;
  static constexpr OpId kIn = 0, kA1 = 1, kA2 = 2, kB1 = 3, kB2 = 4, kOut = 5;

  Chain() {
    GraphBuilder builder("chain");
    const std::pair<const char*, const char*> ops[] = {
        {"in/x", "In"}, {"a/1", "A"}, {"a/2", "A"}, {"b/1", "B"}, {"b/2", "B"}, {"out", "Out"}};
    TensorInfo tensor;
    tensor.bytes = 100;
    TensorId last = kNoTensor;
    for (const auto& [name, type] : ops) {
      const OpId op = builder.add_op(name, type);
      if (last != kNoTensor) builder.add_input(op, last);
      last = builder.add_output(op, tensor);
    }
    builder.set_colocation(kB1, "pair");
    builder.set_colocation(kB2, "pair");
    builder.set_requested_device(kIn, "/job:worker/device:CPU:0");
    builder.set_requested_device(kOut, "gpu:1");
    graph = builder.build();

    std::vector<Device> devices(3);
    devices[0].name = "cpu:0";
    devices[0].kind = "host";
    devices[0].host = true;
    for (int i = 0; i < 2; ++i) {
      devices[1 + i].name = "gpu:" + std::to_string(i);
      devices[1 + i].kind = "gpu";
      devices[1 + i].memory_bytes = 1000;
    }
    cluster = std::make_shared<const Cluster>("small", devices,
                                              std::vector<LinkSpec>{{"*", "*", 1e6, 0, {}}});
    std::vector<std::vector<double>> us(2, std::vector<double>(6, 3));
    us[1].assign(6, 1);
    us[0][kB1] = us[0][kB2] = kCannotRun;
    costs = std::make_shared<const Costs>(us, std::vector<std::int64_t>(), "test");
  }

  std::shared_ptr<const Constraints> constraints(std::vector<ConstraintRule> rules) const {
    return std::make_shared<const Constraints>(*graph, *cluster, *costs, std::move(rules));
  }
  [[nodiscard]] std::shared_ptr<const Problem> problem(
      std::vector<ConstraintRule> rules, std::shared_ptr<const Groups> groups = nullptr,
      ProblemOptions options = {}) const {
    return std::make_shared<const Problem>(graph, cluster, costs, std::move(groups), options,
                                           constraints(std::move(rules)));
  }
};

}  // namespace berth::test
