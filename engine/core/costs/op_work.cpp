#include "costs/op_work.h"

#include <algorithm>
#include <optional>

#include "berth/costs.h"
#include "ops/tables.h"

namespace berth {
namespace costs {
namespace {

using ops::Estimate;

/// Far above any real op, and far enough below infinity that a cost made of it stays finite;
/// infinity is kCannotRun.
constexpr double kMostWork = 1e30;

/// The work by the rule of the op's type; empty if there is no rule or the shapes are not known.
std::optional<Estimate> by_rule(const Graph& graph, OpId op) {
  const ops::WorkRule* rule = ops::find_work(graph.dialect(), graph.op_type(op));
  if (rule == nullptr) return std::nullopt;
  const Estimate estimate = rule->estimate(ops::OpView(graph, op), *rule);
  // Neither unknown (NaN) nor the product of a damaged attribute (negative).
  if (!(estimate.work.flops >= 0 && estimate.work.bytes >= 0)) return std::nullopt;
  return estimate;
}

Estimate by_bytes(const Graph& graph, OpId op) {
  const ops::OpView view(graph, op);
  Estimate estimate;
  estimate.work.bytes = view.bytes_read() + view.bytes_written();
  estimate.work.dtype = view.dtype();
  return estimate;
}

}  // namespace

Estimate estimate_work(const Graph& graph, OpId op) {
  Estimate estimate;
  if (const auto& stated = graph.stated_work(op)) {
    estimate.work = *stated;
  } else if (const auto ruled = by_rule(graph, op)) {
    estimate = *ruled;
  } else {
    estimate = by_bytes(graph, op);
  }
  estimate.work.flops = std::min(estimate.work.flops, kMostWork);
  estimate.work.bytes = std::min(estimate.work.bytes, kMostWork);
  if (!(estimate.workspace_bytes >= 0)) estimate.workspace_bytes = 0;
  return estimate;
}

}  // namespace costs

Work op_work(const Graph& graph, OpId op) {
  return costs::estimate_work(graph, op).work;
}

bool has_work_rule(const Graph& graph, OpId op) {
  return graph.stated_work(op).has_value() ||
         ops::find_work(graph.dialect(), graph.op_type(op)) != nullptr;
}

}  // namespace berth
