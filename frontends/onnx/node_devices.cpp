#include "onnx/node_devices.h"

#include <optional>
#include <string>

#include "berth/error.h"
#include "berth/sdk/carried_states.h"
#include "berth/support/text.h"
#include "onnx/graph_names.h"
#include "onnx/program.h"
#include "support/text.h"

namespace berth::onnx_frontend {
namespace {

// The devices that the ops of one node agree on, or that they do not.
struct Vote {
  DeviceId device = kNoDevice;
  bool split = false;

  void add(DeviceId other) {
    split = split || (device != kNoDevice && device != other);
    device = other;
  }
};

}  // namespace

std::vector<DeviceId> devices_of_nodes(Model& model, const Graph& graph,
                                       const Placement& placement) {
  if (placement.size() != static_cast<std::size_t>(graph.op_count())) {
    throw Error(ErrorCode::invalid_argument,
                cat("the placement has ", placement.size(), " devices and the graph ",
                    graph.op_count(), " ops"));
  }
  const Program program = make_program(model);
  const GraphNames names = name_ops(program);
  std::vector<Vote> votes(static_cast<std::size_t>(program.top_level_nodes));
  OpId found_ops = 0;
  const auto device_of = [&](const std::string& name) -> std::optional<DeviceId> {
    const auto op = graph.find_op(name);
    if (!op) return std::nullopt;
    ++found_ops;
    return placement[static_cast<std::size_t>(*op)];
  };
  const auto vote_for_constant = [&](ValueId id, DeviceId device) {
    if (id == kNoValue) return;
    const Value& value = program.value(id);
    if (value.origin == Value::Origin::constant && value.constant_node >= 0) {
      votes[static_cast<std::size_t>(value.constant_node)].add(device);
    }
  };
  for (const std::string& name : names.inputs) (void)device_of(name);
  for (std::size_t i = 0; i < names.constants.size(); ++i) {
    const auto device = device_of(names.constants[i]);
    if (device) vote_for_constant(program.returned_constants[i], *device);
  }
  for (std::size_t i = 0; i < names.nodes.size(); ++i) {
    const Node& node = program.main.nodes[i];
    const auto device = device_of(names.nodes[i]);
    if (!device) continue;  // pruned since
    votes[static_cast<std::size_t>(node.top_level)].add(*device);
    for (const ValueId id : node.inputs) vote_for_constant(id, *device);
    for (const ValueId id : node.captured) vote_for_constant(id, *device);
  }
  for (OpId op = 0; op < graph.op_count(); ++op) {
    found_ops += graph.op_type(op) == kCarrierType && graph.outputs(op).empty() ? 1 : 0;
  }
  if (found_ops != graph.op_count()) {
    throw Error(
        ErrorCode::invalid_argument,
        cat(model.file, ": the placement is of another graph: ", graph.op_count() - found_ops,
            " of its ops are not in this model; place this "
            "model and annotate it with the result"));
  }
  std::vector<DeviceId> devices;
  for (std::size_t i = 0; i < votes.size(); ++i) {
    const Vote& vote = votes[i];
    const onnx::NodeProto& node = model.proto->graph().node(static_cast<int>(i));
    if (vote.split && node.op_type() != "Constant") {
      throw Error(ErrorCode::unsupported,
                  cat(model.file, ": node '", frontend::readable(node.name()), "' (",
                      frontend::readable(node.op_type()),
                      ") has ops on several devices, which no node of a file can say; inline the "
                      "model's local functions first (onnx.inliner), or place its ops together"));
    }
    devices.push_back(vote.split ? kNoDevice : vote.device);
  }
  return devices;
}

}  // namespace berth::onnx_frontend
