#include "tf/assigned_shapes.h"

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "berth/error.h"
#include "support/text.h"
#include "tf/handles.h"

namespace berth::tf_frontend {
namespace {

/// By the name of an op that assigns: the variable it assigns to.
using Assignments = std::unordered_map<std::string_view, std::string_view>;

bool leaves_shape_open(const Library& library, const NodeDef& node) {
  if (!is_variable(node.op)) return false;
  const Attributes attributes(node.attrs, nullptr, library.source);
  Value shape;
  attributes.shape("shape", shape);
  // In the first kind of variables an empty shape says nothing.
  return !shape.ranked || !shape.fully_known() || (node.op == "Variable" && shape.dims.empty());
}

Assignments assignments_to_open_variables(const Library& library, const Selection& selection) {
  std::unordered_set<std::string_view> open;  // those of the step may begin as others
  bool in_step = false;
  const auto& nodes = library.graph.nodes();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!leaves_shape_open(library, nodes[i])) continue;
    open.insert(nodes[i].name);
    in_step = in_step || selection.needed[i];
  }
  Assignments assignments;
  if (!in_step) return assignments;
  const Producers producers(library);
  for (const NodeDef& node : nodes) {
    if (node.op != "Assign" && node.op != "AssignVariableOp") continue;
    const NodeDef* const variable = producers.input(node, 0);
    if (variable == nullptr || !open.contains(variable->name)) continue;
    assignments.emplace(node.name, variable->name);
  }
  return assignments;
}

/// Leaves of `shape` what `other` has too.
void agree(Value& shape, const Value& other) {
  if (shape.dims.size() != other.dims.size()) {
    shape.ranked = false;
    shape.dims.clear();
    return;
  }
  for (std::size_t i = 0; i < shape.dims.size(); ++i) {
    if (shape.dims[i] != other.dims[i]) shape.dims[i] = kUnknownDim;
  }
}

std::map<std::string_view, Value> shapes_assigned(const Program& program,
                                                  const Assignments& assignments) {
  std::map<std::string_view, Value> shapes;
  for (const Node& node : program.nodes) {
    const auto found = assignments.find(node.name);
    if (found == assignments.end() || node.inputs.size() < 2) continue;
    const Source& from = node.inputs[1];
    const auto& outputs = program.nodes[static_cast<std::size_t>(from.node)].outputs;
    const auto port = static_cast<std::size_t>(from.port);
    // A restored value says nothing.
    if (port >= outputs.size() || !outputs[port].ranked) continue;
    Value shape;
    shape.set_shape(outputs[port].dims);
    const auto [known, is_new] = shapes.emplace(found->second, shape);
    if (!is_new) agree(known->second, shape);
  }
  return shapes;
}

}  // namespace

std::map<std::string_view, Value> assigned_shapes(const InferenceContext& context,
                                                  const Selection& selection,
                                                  const LoadOptions& options) {
  Library& library = context.library;
  const Assignments assignments = assignments_to_open_variables(library, selection);
  std::map<std::string_view, Value> shapes;
  if (assignments.empty()) return shapes;
  std::vector<std::string> names;
  for (const auto& [assignment, variable] : assignments) names.emplace_back(assignment);
  const int left = library.nodes_left;
  try {
    const Selection writes = select(library, {}, names);
    // The value of one variable may be made of another's.
    constexpr int kMostRounds = 4;
    for (int round = 0; round < kMostRounds; ++round) {
      library.nodes_left = left;
      Program program = make_program(library, writes.needed, writes.fetches);
      Bindings bindings(options, library.source.file);
      InferenceContext own{library, bindings, context.rules, context.experts};
      own.empty_shapes_say_nothing = context.empty_shapes_say_nothing;
      own.assigned = shapes;
      static_cast<void>(infer(own, program));
      const std::size_t before = shapes.size();
      shapes = shapes_assigned(program, assignments);
      if (shapes.size() == before) break;
    }
  } catch (const Error&) {
    // Parts of the file that are none of the step need not be sound.
  }
  library.nodes_left = left;
  return shapes;
}

void complete_variable(Node& variable, const Value& assigned) {
  if (variable.outputs.empty()) return;
  Value& value = variable.outputs[0];
  if (variable.op != kVariableOp) {
    merge_shape(value, assigned);
    return;
  }
  if (value.handle == nullptr) return;
  Value shape;
  shape.ranked = value.handle->ranked;
  shape.dims = value.handle->dims;
  merge_shape(shape, assigned);
  value.handle->ranked = shape.ranked;
  value.handle->dims = std::move(shape.dims);
}

}  // namespace berth::tf_frontend
