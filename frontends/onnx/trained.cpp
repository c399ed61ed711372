#include "onnx/trained.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_map>

#include "berth/sdk/ops/states.h"

namespace berth::onnx_frontend {
namespace {

using ByName = std::unordered_map<std::string_view, ValueId>;

/// Whether two values are of one element type and shape.
bool alike(const Type& a, const Type& b) {
  return a.type == b.type && !a.other && !b.other && a.ranked && b.ranked && a.dims == b.dims;
}

/// Whether the node changes weights or buffers of their gradients that it takes.
bool changes_weights(const Node& node) {
  const std::string_view type = node.type();
  return type.find("Optimizer") != type.npos || type.starts_with("InPlaceAccumulator") ||
         node.domain == "ai.onnx.preview.training";
}

/// Names of which a value of this name is the gradient. A letter before a name says it of what the step returns alone.
std::vector<std::string_view> gradient_of(std::string_view name, bool is_result) {
  constexpr std::array<std::string_view, 4> kBehind = {"_grad", ".grad", "_gradient", ".gradient"};
  constexpr std::array<std::string_view, 4> kFront = {"grad_", "grad.", "d_", "d"};
  std::vector<std::string_view> names;
  for (const std::string_view end : kBehind) {
    if (name.ends_with(end)) names.push_back(name.substr(0, name.size() - end.size()));
  }
  for (const std::string_view begin : kFront) {
    if (is_result && name.starts_with(begin)) names.push_back(name.substr(begin.size()));
  }
  return names;
}

/// Whether values of the shapes of all arguments follow each other among the results.
bool returns_one_for_each(const Program& program, const std::vector<ValueId>& arguments) {
  constexpr std::size_t kFewest = 2;  // one result may have a weight's shape by chance
  if (arguments.size() < kFewest) return false;
  const auto& results = program.main.outputs;
  const auto found =
      std::search(results.begin(), results.end(), arguments.begin(), arguments.end(),
                  [&](ValueId result, ValueId argument) {
                    return alike(program.value(result).type, program.value(argument).type);
                  });
  return found != results.end();
}

}  // namespace

std::unordered_set<ValueId> inputs_with_next_values(const Program& program) {
  ByName inputs;
  for (const ValueId id : program.main.inputs) inputs.emplace(program.value(id).name, id);
  std::unordered_set<ValueId> found;
  for (const ValueId result : program.main.outputs) {
    const Value& value = program.value(result);
    if (value.origin != Value::Origin::node) continue;
    for (const std::string& name : ops::earlier_names(std::string(value.name))) {
      const auto input = inputs.find(name);
      if (input == inputs.end() || !alike(program.value(input->second).type, value.type)) continue;
      found.insert(input->second);
      break;
    }
  }
  return found;
}

void mark_trained(Program& program, const std::vector<ValueId>& arguments) {
  ByName weights;
  for (const ValueId id : program.main.initializers) weights.emplace(program.value(id).name, id);
  for (const ValueId id : arguments) weights.emplace(program.value(id).name, id);
  bool any = false;
  const auto mark = [&](std::string_view name, const Type& type) {
    const auto weight = weights.find(name);
    if (weight == weights.end() || !alike(program.value(weight->second).type, type)) return;
    program.value(weight->second).trained = any = true;
  };
  const std::unordered_set<ValueId> results(program.main.outputs.begin(),
                                            program.main.outputs.end());
  for (const Node& node : program.main.nodes) {
    for (const ValueId id : node.inputs) {
      if (id == kNoValue || !changes_weights(node)) continue;
      mark(program.value(id).name, program.value(id).type);
    }
    for (const ValueId id : node.outputs) {
      if (id == kNoValue) continue;
      const Value& made = program.value(id);
      const bool is_result = results.contains(id);
      for (const std::string_view name : gradient_of(made.name, is_result)) mark(name, made.type);
      if (!is_result) continue;
      for (const std::string& name : ops::earlier_names(std::string(made.name))) {
        mark(name, made.type);
      }
    }
  }
  if (any || !returns_one_for_each(program, arguments)) return;
  for (const ValueId id : arguments) program.value(id).trained = true;
}

}  // namespace berth::onnx_frontend
