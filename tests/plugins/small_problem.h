// Small problems written out by hand, and policies by name.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/engine.h"
#include "berth/error.h"
#include "berth/evaluator.h"
#include "berth/problem.h"
#include "support/paths.h"

namespace berth::test {

struct SmallDevice {
  std::string name;
  std::string kind;
  std::int64_t memory_bytes = kNoLimit;
  bool host = false;
  bool engine_per_link = false;
};

struct SmallOp {
  std::vector<double> us;  ///< by kind, in the order in which kinds appear among the devices
  std::int64_t param_bytes = 0;
};

struct SmallEdge {
  OpId src;
  OpId dst;
  std::int64_t bytes;
};

/// Links without latency, one byte per microsecond, unless `links` says otherwise.
inline std::shared_ptr<const Problem> small_problem(const std::vector<SmallDevice>& devices,
                                                    const std::vector<SmallOp>& ops,
                                                    const std::vector<SmallEdge>& edges,
                                                    std::vector<LinkSpec> links = {}) {
  std::vector<Device> described;
  for (const SmallDevice& small : devices) {
    Device device;
    device.name = small.name;
    device.kind = small.kind;
    device.memory_bytes = small.memory_bytes;
    device.host = small.host;
    device.engine_per_link = small.engine_per_link;
    described.push_back(device);
  }
  if (links.empty()) links.push_back({"*", "*", 1e6, 0, {}});
  const auto cluster = std::make_shared<const Cluster>("small", described, links);

  GraphBuilder builder("small");
  std::vector<std::vector<double>> us(static_cast<std::size_t>(cluster->kind_count()));
  for (std::size_t i = 0; i < ops.size(); ++i) {
    builder.add_op("op" + std::to_string(i), "Op");
    builder.set_param_bytes(static_cast<OpId>(i), ops[i].param_bytes);
    for (std::size_t kind = 0; kind < us.size(); ++kind) us[kind].push_back(ops[i].us.at(kind));
  }
  for (const SmallEdge& edge : edges) {
    TensorInfo info;
    info.bytes = edge.bytes;
    builder.add_input(edge.dst, builder.add_output(edge.src, info));
  }
  return std::make_shared<const Problem>(
      builder.build(), cluster,
      std::make_shared<const Costs>(std::move(us), std::vector<std::int64_t>(), "test"));
}

/// The answer of the policy plugin `name`.
inline Placement placed(const std::string& name, const std::shared_ptr<const Problem>& problem,
                        const OptionTexts& options = {}, std::uint64_t seed = 1) {
  Engine engine({test::plugin_folder()});
  const auto policy = engine.make_policy(name, options);
  const auto evaluator = make_simulation_evaluator(problem, 1);
  PlaceContext context;
  context.seed = seed;
  Placement placement = policy->place(*evaluator, context).placement;
  problem->validate(placement);
  return placement;
}

/// What the policy complains of; "no error" where it does not.
inline std::string complaint_of(const std::string& name,
                                const std::shared_ptr<const Problem>& problem, ErrorCode code,
                                const OptionTexts& options = {}) {
  try {
    static_cast<void>(placed(name, problem, options));
  } catch (const Error& error) {
    return error.code() == code ? error.what() : "another code: " + std::string(error.what());
  }
  return "no error";
}

}  // namespace berth::test
