#include "tf/colocation.h"

#include <string>
#include <unordered_map>

#include "berth/support/disjoint_sets.h"
#include "tf/handles.h"

namespace berth::tf_frontend {
namespace {

bool starts_with(std::string_view text, std::string_view front) {
  return text.substr(0, front.size()) == front;
}

/// Ops whose first inputs are references to variables.
bool takes_reference(std::string_view op) {
  if (op == "ScatterNd" || op == "ScatterNdNonAliasingAdd") return false;
  return op == "Assign" || op == "AssignAdd" || op == "AssignSub" || starts_with(op, "Apply") ||
         starts_with(op, "SparseApply") || starts_with(op, "Scatter") || op == "CountUpTo" ||
         op == "IsVariableInitialized" || op == "DestroyTemporaryVariable" || op == "RefIdentity" ||
         op == "RefEnter" || op == "RefExit" || op == "RefMerge" || op == "RefSwitch" ||
         op == "RefNextIteration";
}

/// Whether all that hold this value mean the same thing by it. Handles of old arrays and stacks are
/// strings; a list is a value, and a copy of it another.
bool is_shared(const Value& value) {
  return value.type == kResource || (value.type == kString && value.handle != nullptr);
}

bool is_reference_variable(std::string_view op) {
  return op == "VariableV2" || op == "Variable" || op == "TemporaryVariable";
}

}  // namespace

bool gives_reference(std::string_view op) {
  return is_reference_variable(op) ||
         (takes_reference(op) && op != "CountUpTo" && op != "IsVariableInitialized" &&
          op != "DestroyTemporaryVariable");
}

std::vector<NodeId> colocation_classes(const Program& program) {
  const std::size_t count = program.nodes.size();
  DisjointSets classes(count);
  // Constraints name nodes of the call they stand in; the named one need not be needed itself.
  std::unordered_map<std::string, NodeId> by_name;
  const auto named = [&](std::string name) {
    const auto [entry, added] = by_name.try_emplace(std::move(name), kNoNode);
    if (added) entry->second = classes.add();
    return entry->second;
  };
  std::unordered_map<std::string, NodeId> by_variable;
  for (std::size_t i = 0; i < count; ++i) {
    const Node& node = program.nodes[i];
    const auto id = static_cast<NodeId>(i);
    constexpr std::string_view kLocation = "loc:@";
    for (const std::string_view text : node.attributes.texts("_class")) {
      if (!starts_with(text, kLocation)) continue;
      const std::string_view prefix = program.calls[static_cast<std::size_t>(node.call)].prefix;
      classes.merge_to_smallest(
          id, named(std::string(prefix) + std::string(text.substr(kLocation.size()))));
    }
    if (const std::string name = shared_name(node); !name.empty()) {
      classes.merge_to_smallest(id, by_variable.try_emplace(name, id).first->second);
    }
    const bool by_reference = takes_reference(node.op);
    for (const Source& input : node.inputs) {
      const Node& from = program.nodes[static_cast<std::size_t>(input.node)];
      const auto port = static_cast<std::size_t>(input.port);
      const bool resource = port < from.outputs.size() && is_shared(from.outputs[port]);
      if (resource || (by_reference && gives_reference(from.op)))
        classes.merge_to_smallest(id, input.node);
    }
  }
  if (!by_name.empty()) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto found = by_name.find(std::string(program.nodes[i].name));
      if (found != by_name.end()) classes.merge_to_smallest(static_cast<NodeId>(i), found->second);
    }
  }
  std::vector<NodeId> result = classes.names();
  result.resize(count);
  return result;
}

}  // namespace berth::tf_frontend
