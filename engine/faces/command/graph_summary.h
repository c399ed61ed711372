#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "berth/costs.h"
#include "berth/graph.h"

namespace berth::command {

/// A graph in figures. Work is that of op_work, for one step.
struct GraphSummary {
  struct Type {
    std::string name;
    OpClass op_class = OpClass::other;  ///< of its first op with a rule
    std::int64_t ops = 0;
    double flops = 0;
    double bytes = 0;
    std::int64_t without_rule = 0;  ///< ops costed by their bytes, for want of anything better
  };
  /// A tensor from outside: the output of an op that stands for a model's input.
  struct Input {
    std::string name;
    DType dtype = DType::unknown;
    bool has_shape = false;
    std::vector<std::int64_t> shape;  ///< kUnknownDim where dynamic

    [[nodiscard]] bool dynamic() const;
  };

  std::int64_t param_bytes = 0;   ///< of the model as it is stored, each parameter counted once
  OpId folded = 0;                ///< constants of the step
  std::int64_t folded_bytes = 0;  ///< of what they make, each counted once
  std::vector<Type> types;        ///< by FLOPs, then bytes, then name
  std::vector<Input> inputs;
  double flops = 0;
  double bytes = 0;
  std::int64_t depth = 0;  ///< ops on the longest path
  std::int64_t width = 0;  ///< most ops at one distance from the sources
  std::int64_t tensors_without_size = 0;
  std::int64_t ops_without_rule = 0;  ///< and without a stated cost
  double bytes_without_rule = 0;      ///< that they move
  std::int64_t ops_with_stated_cost = 0;
};

[[nodiscard]] GraphSummary summarize(const Graph& graph);

}  // namespace berth::command
