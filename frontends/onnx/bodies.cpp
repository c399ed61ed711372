#include "onnx/bodies.h"

#include <algorithm>
#include <optional>

#include "onnx/sequences.h"

namespace berth::onnx_frontend {

bool is_control_flow(const Node& node) {
  return node.domain.empty() && !node.bodies.empty();
}

std::int64_t listed(const NodeContext& op, std::string_view name, std::size_t i) {
  const auto values = op.listed(name);
  return values && i < values->size() ? (*values)[i] : 0;
}

namespace {

std::int64_t unsized_in_bodies(const Program& program, const Node& node, bool every_branch) {
  std::optional<std::int64_t> unsized;
  for (const auto& body : node.bodies) {
    if (!may_run(program, node, *body)) continue;
    const std::int64_t own = unsized_values(program, *body, every_branch);
    const bool is_branch = !every_branch && is_control_flow(node) && node.type() == "If";
    unsized = is_branch ? std::min(unsized.value_or(own), own) : unsized.value_or(0) + own;
  }
  return unsized.value_or(0);
}

}  // namespace

std::int64_t unsized_inside(const Program& program, const Node& node) {
  return unsized_in_bodies(program, node, /*every_branch=*/false);
}

std::int64_t unsized_values(const Program& program, const Body& body, bool every_branch) {
  std::int64_t unsized = 0;
  for (const Node& node : body.nodes) {
    for (const ValueId id : node.outputs) {
      if (id == kNoValue) continue;
      const Type& type = program.value(id).type;
      const bool sized = type.ranked && product(type.dims) != kUnknownDim;
      if (!type.other && !sized) ++unsized;
    }
    unsized += unsized_in_bodies(program, node, every_branch);
  }
  return unsized;
}

std::set<std::string> types_inside(const Program& program, const Node& op) {
  std::set<std::string> types;
  for (const auto& body : op.bodies) {
    if (!may_run(program, op, *body)) continue;
    for (const Node& node : body->nodes) {
      if (node.bodies.empty()) types.insert(node.full_type());
      types.merge(types_inside(program, node));
    }
  }
  return types;
}

bool may_run(const Program& program, const Node& op, const Body& body) {
  if (!is_control_flow(op) || op.type() != "If") return true;
  if (op.inputs.empty() || op.inputs[0] == kNoValue) return true;
  const Type& condition = program.value(op.inputs[0]).type;
  const auto chosen = condition.content_size() == 1 ? condition.element(0) : std::nullopt;
  return !chosen || op.body(*chosen != 0 ? "then_branch" : "else_branch") == &body;
}

bool searches(const Node& node) {
  return !node.bodies.empty() && !is_control_flow(node);
}

std::int64_t tokens_made(const NodeContext& op) {
  constexpr std::size_t kLength = 1, kDecoderIds = 10;
  const auto longest = op.integers(kLength);
  if (!longest || longest->size() != 1) return kUnknownDim;
  const bool encodes = op.node.body("encoder") != nullptr;
  std::int64_t begun = 1;  // the token with which a decoder behind an encoder starts
  if (!encodes || op.has(kDecoderIds)) {
    const Dims* const ids = op.shape(encodes ? kDecoderIds : 0);
    begun = ids != nullptr && ids->size() == 2 ? ids->back() : kUnknownDim;
  }
  if (begun == kUnknownDim || longest->front() <= begun) return kUnknownDim;
  return longest->front() - begun;
}

double beams_beside(const Program& program, const Node& op, const Body& body) {
  constexpr std::size_t kBeams = 3;
  if (!searches(op) || !op.type().ends_with("BeamSearch") || op.inputs.size() <= kBeams) return 1;
  if (op.body("decoder") != &body || body.inputs.empty() || op.inputs[kBeams] == kNoValue) return 1;
  const auto front = [&](ValueId id) {
    const Type& type = program.value(id).type;
    return type.ranked && !type.dims.empty() ? type.dims.front() : kUnknownDim;
  };
  const Type& beams = program.value(op.inputs[kBeams]).type;
  const auto count = beams.content_size() == 1 ? beams.element(0) : std::nullopt;
  const bool has_batch = front(body.inputs.front()) == front(op.inputs.front());
  return count && has_batch ? static_cast<double>(std::max<std::int64_t>(*count, 1)) : 1;
}

double trip_count(const Program& program, const Node& op, const Body& body) {
  if (searches(op)) return body.trips == kUnknownDim ? 1 : static_cast<double>(body.trips);
  if (op.type() == "Loop") {
    const std::int64_t trips = op.bodies.front()->trips;
    return trips == kUnknownDim ? 1 : static_cast<double>(trips);
  }
  if (op.type() == "SequenceMap" && !op.inputs.empty() && op.inputs[0] != kNoValue) {
    const auto* const held = elements_of(program.value(op.inputs[0]).type);
    if (held != nullptr) return static_cast<double>(held->size());
  }
  if (op.type() == "Scan" && !op.inputs.empty() && op.inputs.back() != kNoValue) {
    // The last input is one of those that are cut into one piece per iteration.
    const Type& type = program.value(op.inputs.back()).type;
    const NodeContext context(op, program);
    const auto scanned = static_cast<std::size_t>(context.attributes.integer("num_scan_inputs", 1));
    const bool old = op.opset < 9;
    const std::int64_t at = old ? 1 : listed(context, "scan_input_axes", scanned - 1);
    const auto axis = ops::normal_axis(at, type.dims.size());
    if (axis && type.dims[*axis] != kUnknownDim) return static_cast<double>(type.dims[*axis]);
  }
  return 1;
}

}  // namespace berth::onnx_frontend
