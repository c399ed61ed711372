#include "costs/op_work.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/costs.h"
#include "berth/sdk/ops/views.h"
#include "ops/fused.h"
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
  if (ops::is_fused(graph, op)) return ops::work::nothing(ops::OpView(graph, op), *rule);
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

/// Whether the largest of the op's parameters is stored in 8 bits or fewer.
bool has_narrow_weights(const Graph& graph, OpId op) {
  TensorId largest = kNoTensor;
  for (const TensorId tensor : graph.parameters(op)) {
    if (largest == kNoTensor || graph.bytes(tensor) > graph.bytes(largest)) largest = tensor;
  }
  const int bits = largest == kNoTensor ? 0 : dtype_bits(graph.dtype(largest));
  return bits > 0 && bits <= 8;
}

}  // namespace

Estimate estimate_work(const Graph& graph, OpId op) {
  Estimate estimate;
  if (const auto& stated = graph.stated_work(op)) {
    estimate.work = *stated;
  } else if (const auto ruled = by_rule(graph, op)) {
    estimate = *ruled;
    estimate.work.narrow_weights =
        estimate.work.op_class == OpClass::matmul && has_narrow_weights(graph, op);
  } else {
    estimate = by_bytes(graph, op);
  }
  estimate.work.flops = std::min(estimate.work.flops, kMostWork);
  estimate.work.bytes = std::min(estimate.work.bytes, kMostWork);
  double& workspace = estimate.work.workspace_bytes;
  workspace = workspace >= 0 ? std::min(workspace, kMostWork) : 0;
  return estimate;
}

}  // namespace costs

Work op_work(const Graph& graph, OpId op) {
  return costs::estimate_work(graph, op).work;
}

Work work_in_turn(const Graph& graph, std::span<const OpId> ops) {
  Work sum{0, 0, OpClass::none, DType::f32, 0};
  double held = 0, most = 0, largest = -1;
  bool has_products = false;
  std::unordered_map<TensorId, std::size_t> last_use;
  // Backwards: a view's inputs are in use as long as what it gives, unless that leaves the body.
  for (std::size_t i = ops.size(); i-- > 0;) {
    std::size_t over = i;
    if (ops::is_view(graph, ops[i])) {
      for (const TensorId tensor : graph.outputs(ops[i])) {
        const auto last = last_use.find(tensor);
        if (last != last_use.end() && !graph.is_result(tensor)) over = std::max(over, last->second);
      }
    }
    for (const TensorId tensor : graph.inputs(ops[i])) {
      if (tensor == kNoTensor) continue;
      std::size_t& last = last_use[tensor];
      last = std::max(last, over);
    }
  }
  // Tensors that are made here and given up again, by the op that reads them last.
  std::vector<double> given_up(ops.size(), 0);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const OpId op = ops[i];
    if (graph.is_constant(op)) continue;
    const Work work = op_work(graph, op);
    sum.flops += work.flops;
    sum.bytes += work.bytes;
    sum.launches += work.launches;
    if (work.flops + work.bytes > largest) {
      largest = work.flops + work.bytes;
      sum.op_class = work.op_class;
      sum.dtype = work.dtype;
      sum.products = work.products;
      sum.narrow_weights = work.narrow_weights;
    }
    // Sizes of one product say nothing of several.
    if (work.flops > 0 && std::exchange(has_products, true)) sum.products = {};
    if (graph.is_input(op)) continue;
    const bool view = ops::is_view(graph, op);
    for (const TensorId tensor : graph.outputs(op)) {
      if (view || graph.is_result(tensor)) continue;
      const auto bytes = static_cast<double>(graph.bytes(tensor));
      const auto last = last_use.find(tensor);
      held += bytes;
      given_up[last == last_use.end() ? i : last->second] += bytes;
    }
    most = std::max(most, held + work.workspace_bytes);
    held -= given_up[i];
  }
  sum.workspace_bytes = most;
  return sum;
}

bool has_work_rule(const Graph& graph, OpId op) {
  return graph.stated_work(op).has_value() ||
         ops::find_work(graph.dialect(), graph.op_type(op)) != nullptr;
}

}  // namespace berth
