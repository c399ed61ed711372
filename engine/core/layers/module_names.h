// Names of modules: "model.layers.3.mlp.up_proj".
#pragma once

#include <set>
#include <string>
#include <vector>

#include "berth/graph.h"

namespace berth {

/// "model.layers.0.mlp.weight" -> "model.layers.0.mlp"; empty for a name that an exporter made up. The last
/// norm of a decoder has the name that the network has for it, where an exporter counts it as a layer.
[[nodiscard]] std::string module_of_parameter(const std::string& name);
/// The modules that compute ops: what a frontend says, else the scopes in their names.
class Scopes {
 public:
  explicit Scopes(const Graph& graph);
  /// "/model/layers.0/mlp/MatMul" -> "model.layers.0.mlp"; empty without scopes. An element of a sequence
  /// ("/layer1/layer1.0/Conv") has the name of its list twice there, unless parameters have it so too.
  [[nodiscard]] std::string of(OpId op) const;

 private:
  const Graph& graph_;
  std::set<std::string> modules_;  // of parameters, with all around them
};
/// The parts of a module's name.
[[nodiscard]] std::vector<std::string> module_parts(const std::string& module);
/// "a.b" from parts [0, end).
[[nodiscard]] std::string joined_parts(const std::vector<std::string>& parts, std::size_t end);
/// A whole number >= 0 and nothing else; -1 for any other text.
[[nodiscard]] int number_of_part(const std::string& part);

}  // namespace berth
