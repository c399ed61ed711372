#include "onnx/trained.h"

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

}  // namespace berth::onnx_frontend
