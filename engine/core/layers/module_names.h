// Names of modules: "model.layers.3.mlp.up_proj".
#pragma once

#include <string>
#include <vector>

#include "berth/graph.h"

namespace berth {

/// "model.layers.0.mlp.weight" -> "model.layers.0.mlp"; empty for a name that an exporter made up.
[[nodiscard]] std::string module_of_parameter(const std::string& name);
/// "/model/layers.0/mlp/MatMul" -> "model.layers.0.mlp"; empty without scopes.
[[nodiscard]] std::string module_of_scope(const std::string& op_name);
/// The module that computes an op: what a frontend says, else the scope in its name.
[[nodiscard]] std::string scope_of(const Graph& graph, OpId op);
/// The parts of a module's name.
[[nodiscard]] std::vector<std::string> module_parts(const std::string& module);
/// "a.b" from parts [0, end).
[[nodiscard]] std::string joined_parts(const std::vector<std::string>& parts, std::size_t end);
/// A whole number >= 0 and nothing else; -1 for any other text.
[[nodiscard]] int number_of_part(const std::string& part);

}  // namespace berth
