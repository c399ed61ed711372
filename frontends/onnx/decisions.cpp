#include "onnx/decisions.h"

#include <algorithm>

#include "onnx/bodies.h"
#include "support/text.h"

namespace berth::onnx_frontend {
namespace {

/// Whether what the node gives is its first input in another form.
bool hands_on(const Node& node) {
  const std::string& type = node.type();
  return node.domain.empty() && (type == "Cast" || type == "Identity" || type == "Reshape" ||
                                 type == "Squeeze" || type == "Unsqueeze");
}

/// The number that the program is fed, and which a node reads there; kNoValue where it reads another.
ValueId fed_number(const Program& program, const Node& node, std::size_t input) {
  ValueId id = input < node.inputs.size() ? node.inputs[input] : kNoValue;
  while (id != kNoValue && program.value(id).origin == Value::Origin::node) {
    const Value& value = program.value(id);
    if (value.body != program.main.id) return kNoValue;
    const Node& maker = program.main.nodes[static_cast<std::size_t>(value.producer)];
    if (!hands_on(maker)) return kNoValue;
    id = maker.inputs.front();
  }
  if (id == kNoValue) return kNoValue;
  const auto& inputs = program.main.inputs;
  const Type& type = program.value(id).type;
  const bool is_fed = std::find(inputs.begin(), inputs.end(), id) != inputs.end();
  return is_fed && type.ranked && product(type.dims) == 1 ? id : kNoValue;
}

void find_in(const Program& program, const Body& body, Decisions& decisions) {
  for (const Node& node : body.nodes) {
    if (is_control_flow(node) && node.type() == "Loop") {
      const double trips = trip_count(program, node, *node.bodies.front());
      if (const ValueId count = fed_number(program, node, 0); count != kNoValue) {
        double& number = decisions.numbers.try_emplace(count, trips).first->second;
        number = std::max(number, trips);
      }
      if (const ValueId begins = fed_number(program, node, 1); begins != kNoValue) {
        decisions.numbers.try_emplace(begins, trips > 0 ? 1 : 0);
      }
    } else if (is_control_flow(node) && node.type() == "If") {
      const ValueId condition = fed_number(program, node, 0);
      if (condition != kNoValue) {
        decisions.drawn.push_back(cat("'", frontend::readable(program.value(condition).name),
                                      "' of '", frontend::readable(node.name), "' (If)"));
      }
    }
    for (const auto& inner : node.bodies) find_in(program, *inner, decisions);
  }
}

}  // namespace

Decisions find_decisions(const Program& program) {
  Decisions decisions;
  find_in(program, program.main, decisions);
  return decisions;
}

std::string drawn_note(const Decisions& decisions) {
  if (decisions.drawn.empty()) return "";
  return cat(
      "inputs that choose a branch are drawn, so that another than the planned one may run: ",
      join(decisions.drawn, 4),
      "; export the model with the condition as a constant to measure one branch");
}

}  // namespace berth::onnx_frontend
