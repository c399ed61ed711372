#include "graph_summary.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace berth::command {
namespace {

void add_types(const Graph& graph, GraphSummary& summary) {
  std::map<std::string, GraphSummary::Type> types;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (graph.is_constant(op)) continue;
    const Work work = op_work(graph, op);
    GraphSummary::Type& type = types[graph.op_type(op)];
    ++type.ops;
    type.flops += work.flops;
    type.bytes += work.bytes;
    if (type.op_class == OpClass::other) type.op_class = work.op_class;
    if (!graph.stated_costs(op).empty()) {
      ++summary.ops_with_stated_cost;
    } else if (!has_work_rule(graph, op)) {
      ++type.without_rule;
      ++summary.ops_without_rule;
      summary.bytes_without_rule += work.bytes;
    }
    summary.flops += work.flops;
    summary.bytes += work.bytes;
  }
  for (auto& [name, type] : types) {
    type.name = name;
    summary.types.push_back(std::move(type));
  }
  std::stable_sort(summary.types.begin(), summary.types.end(),
                   [](const GraphSummary::Type& a, const GraphSummary::Type& b) {
                     return std::tie(b.flops, b.bytes) < std::tie(a.flops, a.bytes);
                   });
}

void add_inputs(const Graph& graph, GraphSummary& summary) {
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const std::string& type = graph.op_type(op);
    if (type != "Input" && type != "Placeholder") continue;
    for (const TensorId tensor : graph.outputs(op)) {
      const auto shape = graph.shape(tensor);
      summary.inputs.push_back({graph.op_name(op),
                                graph.dtype(tensor),
                                graph.has_shape(tensor),
                                {shape.begin(), shape.end()}});
    }
  }
}

void add_extent(const Graph& graph, GraphSummary& summary) {
  std::vector<std::int64_t> level(static_cast<std::size_t>(graph.op_count()), 0);
  std::vector<std::int64_t> ops_at;
  for (const OpId op : graph.topological_order()) {
    if (graph.is_constant(op)) continue;
    std::int64_t& own = level[static_cast<std::size_t>(op)];
    for (const Edge& edge : graph.in_edges(op)) {
      own = std::max(own, level[static_cast<std::size_t>(edge.src)] + 1);
    }
    if (static_cast<std::size_t>(own) >= ops_at.size()) {
      ops_at.resize(static_cast<std::size_t>(own) + 1);
    }
    ++ops_at[static_cast<std::size_t>(own)];
  }
  summary.depth = static_cast<std::int64_t>(ops_at.size());
  if (!ops_at.empty()) summary.width = *std::max_element(ops_at.begin(), ops_at.end());
}

/// Counts the model as it is stored, whatever is computed of it when it is loaded.
void add_parameters(const Graph& graph, GraphSummary& summary) {
  std::vector<bool> counted(static_cast<std::size_t>(graph.tensor_count()), false);
  for (OpId op = 0; op < graph.op_count(); ++op) {
    summary.param_bytes += graph.stated_param_bytes(op);
    for (const TensorId tensor : graph.inputs(op)) {
      if (tensor == kNoTensor || graph.maker(tensor) != kNoOp) continue;
      const auto t = static_cast<std::size_t>(tensor);
      if (!counted[t]) summary.param_bytes += graph.bytes(tensor);
      counted[t] = true;
    }
  }
}

/// Counts all that is made when the model is loaded and resides from then on.
void add_folded(const Graph& graph, GraphSummary& summary) {
  summary.folded = graph.constant_count();
  std::vector<bool> counted(static_cast<std::size_t>(graph.tensor_count()), false);
  for (OpId op = 0; op < graph.op_count(); ++op) {
    for (const TensorId tensor : graph.parameters(op)) {
      const auto t = static_cast<std::size_t>(tensor);
      if (graph.maker(tensor) == kNoOp || counted[t]) continue;
      counted[t] = true;
      summary.folded_bytes += graph.bytes(tensor);
    }
  }
}

}  // namespace

bool GraphSummary::Input::dynamic() const {
  return !has_shape || std::find(shape.begin(), shape.end(), kUnknownDim) != shape.end();
}

GraphSummary summarize(const Graph& graph) {
  GraphSummary summary;
  add_types(graph, summary);
  add_parameters(graph, summary);
  add_folded(graph, summary);
  add_inputs(graph, summary);
  add_extent(graph, summary);
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    if (!graph.bytes_known(tensor)) ++summary.tensors_without_size;
  }
  return summary;
}

}  // namespace berth::command
