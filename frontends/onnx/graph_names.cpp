#include "onnx/graph_names.h"

#include <unordered_map>
#include <unordered_set>

#include "support/text.h"

namespace berth::onnx_frontend {
namespace {

class Names {
 public:
  // `name`, or with a number behind it that makes it unique.
  std::string unique(const std::string& name) {
    if (taken_.insert(name).second) return name;
    for (std::int64_t& number = next_.try_emplace(name, 2).first->second;; ++number) {
      std::string numbered = cat(name, "_", number);
      if (taken_.insert(numbered).second) return numbered;
    }
  }

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, std::int64_t> next_;
};

}  // namespace

GraphNames name_ops(const Program& program) {
  GraphNames result;
  Names names;
  std::unordered_set<std::string> repeated;
  const auto& nodes = program.main.nodes;
  result.nodes.resize(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].proto->name().empty()) continue;
    result.nodes[i] = names.unique(nodes[i].name);
    if (result.nodes[i] != nodes[i].name && repeated.insert(nodes[i].name).second) {
      result.repeated.push_back(nodes[i].name);
    }
  }
  for (const ValueId id : program.main.inputs) {
    result.inputs.push_back(names.unique(frontend::readable(program.value(id).name)));
  }
  for (const ValueId id : program.returned_constants) {
    result.constants.push_back(names.unique(frontend::readable(program.value(id).name)));
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].proto->name().empty()) result.nodes[i] = names.unique(nodes[i].name);
  }
  return result;
}

}  // namespace berth::onnx_frontend
