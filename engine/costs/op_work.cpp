#include <algorithm>
#include <cmath>

#include "berth/costs.h"
#include "costs/work_rules.h"

namespace berth {
namespace costs {
namespace {

/// Far above any real op, and far enough below infinity that a cost made of it stays finite:
/// infinity is kCannotRun.
constexpr double kMostWork = 1e30;

}  // namespace

const WorkRule* find_rule(std::string_view dialect, const std::string& type) {
  if (dialect != "onnx") return nullptr;
  const RuleTable& rules = onnx_rules();
  const auto found = rules.find(type);
  return found == rules.end() ? nullptr : &found->second;
}

Estimate estimate_work(const Graph& graph, OpId op) {
  if (const auto& stated = graph.stated_work(op)) return {*stated, 0};
  const OpView view(graph, op);
  if (const WorkRule* rule = find_rule(graph.dialect(), graph.op_type(op))) {
    Estimate estimate = rule->estimate(view, *rule);
    if (!std::isnan(estimate.work.flops) && !std::isnan(estimate.work.bytes)) {
      estimate.work.flops = std::min(estimate.work.flops, kMostWork);
      estimate.work.bytes = std::min(estimate.work.bytes, kMostWork);
      if (std::isnan(estimate.workspace_bytes)) estimate.workspace_bytes = 0;
      return estimate;
    }
  }
  Estimate unknown;
  unknown.work.bytes = std::min(view.bytes_read() + view.bytes_written(), kMostWork);
  unknown.work.dtype = view.dtype();
  return unknown;
}

}  // namespace costs

Work op_work(const Graph& graph, OpId op) {
  return costs::estimate_work(graph, op).work;
}

bool has_work_rule(const Graph& graph, OpId op) {
  return graph.stated_work(op).has_value() ||
         costs::find_rule(graph.dialect(), graph.op_type(op)) != nullptr;
}

}  // namespace berth
