// Ops that change variables, in a graph and in the functions that it calls.
#pragma once

#include <string_view>
#include <unordered_map>

#include "tf/graph_def.h"
#include "tf/program.h"

namespace berth::tf_frontend {

/// The op of an optimizer that changes a variable by a gradient.
[[nodiscard]] bool is_update(std::string_view op);
/// Any that changes a variable: these, assignments, and scatters into its rows.
[[nodiscard]] bool changes_variable(std::string_view op);

/// Whether nodes train: whether they, or what functions do that they call, are updates of an optimizer. One spelled out
/// in plain ops subtracts from its variables.
class TrainingCalls {
 public:
  explicit TrainingCalls(const Library& library) : library_(library) {}
  [[nodiscard]] bool trains(const NodeDef& node);

 private:
  [[nodiscard]] bool trains(std::string_view function);

  const Library& library_;
  std::unordered_map<std::string_view, bool> known_;  // by function
};

}  // namespace berth::tf_frontend
