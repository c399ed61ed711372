// The registry of work rules: the work of an op of a given dialect and type.
//
// A new op type is a row in its dialect's table (onnx_work.cpp, tf_work.cpp). A new dialect is a
// table of its own and a line in find_rule. Rules share the counts of formulas.h.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "berth/graph.h"
#include "costs/op_view.h"

namespace berth::costs {

/// The result of a rule. NaN in `work.flops` or `work.bytes` = the shapes are not known.
struct Estimate {
  Work work;
  /// Memory held while the op runs, besides its inputs and outputs.
  double workspace_bytes = 0;
};

struct WorkRule {
  Estimate (*estimate)(const OpView& op, const WorkRule& rule);
  OpClass op_class;
  /// Per element, for rules of that kind; otherwise unused.
  double flops = 0;
};

using RuleTable = std::unordered_map<std::string, WorkRule>;

/// Types as the ONNX frontend writes them: "Conv" in the default domain, else domain, dot, type.
[[nodiscard]] const RuleTable& onnx_rules();
/// Types as TensorFlow writes them.
[[nodiscard]] const RuleTable& tf_rules();

/// Null if the type has no rule.
[[nodiscard]] const WorkRule* find_rule(std::string_view dialect, const std::string& type);

/// The op's work as stated or by its rule, finite whatever the graph says. An op without a rule or
/// with unknown shapes gets OpClass::other and the bytes that are known.
[[nodiscard]] Estimate estimate_work(const Graph& graph, OpId op);

}  // namespace berth::costs
