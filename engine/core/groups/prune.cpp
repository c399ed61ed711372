#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "berth/colocation.h"
#include "berth/error.h"
#include "berth/groups.h"
#include "berth/sdk/carried_states.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "groups/with_tensors.h"

namespace berth {
namespace {

/// A constant is no result.
bool is_bare_constant(const Graph& graph, OpId op) {
  const std::string& type = graph.op_type(op);
  return graph.is_constant(op) ||
         (graph.in_edges(op).empty() && (type == "Constant" || type == "Const"));
}

std::vector<OpId> results(const Graph& graph) {
  std::vector<OpId> ops;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (graph.out_edges(op).empty() && !is_bare_constant(graph, op)) ops.push_back(op);
  }
  if (!ops.empty()) return ops;
  // Nothing but constants: they are what there is.
  ops.resize(at(graph.op_count()));
  std::iota(ops.begin(), ops.end(), OpId{0});
  return ops;
}

std::vector<OpId> named_ops(const Graph& graph, std::span<const std::string> fetches,
                            std::vector<TensorId>& tensors) {
  std::unordered_map<std::string_view, TensorId> tensor_of;
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    if (graph.maker(tensor) != kNoOp && !graph.tensor_name(tensor).empty()) {
      tensor_of.emplace(graph.tensor_name(tensor), tensor);
    }
  }
  std::vector<OpId> ops;
  for (const std::string& name : fetches) {
    if (const auto op = graph.find_op(name)) {
      ops.push_back(*op);
      tensors.insert(tensors.end(), graph.outputs(*op).begin(), graph.outputs(*op).end());
    } else if (const auto tensor = tensor_of.find(name); tensor != tensor_of.end()) {
      ops.push_back(graph.maker(tensor->second));
      tensors.push_back(tensor->second);
    } else {
      std::vector<std::string> known;
      for (const OpId result : results(graph)) known.push_back(graph.op_name(result));
      throw Error(ErrorCode::not_found, cat("graph '", graph.name(), "' has no op or output '",
                                            name, "'; its results are ", join(known)));
    }
  }
  return ops;
}

std::vector<bool> needed_by(const Graph& graph, std::vector<OpId> pending) {
  std::vector<bool> needed(at(graph.op_count()), false);
  for (const OpId op : pending) needed[at(op)] = true;
  while (!pending.empty()) {
    const OpId op = pending.back();
    pending.pop_back();
    const auto need = [&](OpId other) {
      if (other == kNoOp || needed[at(other)]) return;
      needed[at(other)] = true;
      pending.push_back(other);
    };
    for (const Edge& edge : graph.in_edges(op)) need(edge.src);
    for (const TensorId tensor : graph.inputs(op)) {
      if (tensor != kNoTensor) need(graph.maker(tensor));
    }
  }
  return needed;
}

/// Copies ops of one graph into a builder.
class Copy {
 public:
  /// `freed` [ops] lose their co-location; empty = none does.
  Copy(const Graph& graph, std::vector<bool> needed, std::vector<TensorId> fetched,
       std::vector<bool> freed = {})
      : graph_(graph),
        needed_(std::move(needed)),
        fetched_(std::move(fetched)),
        freed_(std::move(freed)),
        builder_(graph.name(), graph.dialect()),
        new_tensor_(at(graph.tensor_count()), kNoTensor) {}

  /// Ops behind all others bring these states back to their inputs.
  void carry(std::span<const Graph::State> states) { carried_ = states; }
  /// Tensors that the copy has with another type or size. It outlives the copying.
  void change(const std::map<TensorId, TensorInfo>& changed) { changed_ = &changed; }

  std::shared_ptr<const Graph> build() {
    std::vector<OpId> new_op(at(graph_.op_count()), kNoOp);
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      if (!needed_[at(op)]) continue;
      new_op[at(op)] = builder_.add_op(graph_.op_name(op), graph_.op_type(op));
      copy_properties(op, new_op[at(op)]);
    }
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      if (!needed_[at(op)]) continue;
      for (const TensorId tensor : graph_.inputs(op)) {
        builder_.add_input(new_op[at(op)], input(tensor));
      }
      for (const Edge& edge : graph_.in_edges(op)) {
        if (edge.tensor == kNoTensor) {
          builder_.add_control_edge(new_op[at(edge.src)], new_op[at(op)]);
        }
      }
    }
    for (const Graph::State& state : carried_) add_carrier(state, new_op[at(state.input)]);
    name_results();
    auto built = builder_.build();
    if (graph_.constant_count() > 0) {
      std::vector<Graph::Constant> roles;
      for (OpId op = 0; op < graph_.op_count(); ++op) {
        if (needed_[at(op)]) roles.push_back(graph_.constant_role(op));
      }
      roles.resize(at(built->op_count()), Graph::Constant::no);
      built = built->with_constants(roles);
    }
    std::vector<Graph::State> states;
    for (const Graph::State& state : graph_.states()) {
      const TensorId result = new_tensor_[at(state.result)];
      const OpId input = new_op[at(state.input)];
      const bool carried = std::find(carried_.begin(), carried_.end(), state) != carried_.end();
      if (result != kNoTensor && input != kNoOp && !carried) states.push_back({result, input});
    }
    return states.empty() ? built : built->with_states(states);
  }

 private:
  TensorInfo tensor_info(TensorId tensor) const {
    if (changed_ != nullptr) {
      if (const auto entry = changed_->find(tensor); entry != changed_->end()) return entry->second;
    }
    const auto shape = graph_.shape(tensor);
    return {graph_.dtype(tensor),
            graph_.has_shape(tensor),
            {shape.begin(), shape.end()},
            graph_.bytes_known(tensor) ? graph_.bytes(tensor) : kUnknownBytes};
  }

  void copy_properties(OpId op, OpId copy) {
    for (const TensorId tensor : graph_.outputs(op)) {
      new_tensor_[at(tensor)] =
          builder_.add_output(copy, tensor_info(tensor), graph_.tensor_name(tensor));
    }
    builder_.set_param_bytes(copy, graph_.stated_param_bytes(op));
    if (graph_.stated_pure(op)) builder_.set_pure(copy);
    if (freed_.empty() || !freed_[at(op)]) builder_.set_colocation(copy, graph_.colocation(op));
    builder_.set_requested_device(copy, graph_.requested_device(op));
    for (const auto& [name, value] : graph_.attributes(op)) {
      builder_.set_attribute(copy, std::string(name), *value);
    }
    if (graph_.stated_work(op)) builder_.set_work(copy, *graph_.stated_work(op));
    for (const Graph::StatedCost& cost : graph_.stated_costs(op)) {
      builder_.set_cost(copy, cost.kind, cost.us);
    }
  }

  /// Takes no time, and waits for the result where the input is.
  void add_carrier(const Graph::State& state, OpId input) {
    const std::string name = cat("state of ", graph_.op_name(state.input));
    const OpId carrier = builder_.add_op(name, std::string(kCarrierType));
    builder_.add_input(carrier, new_tensor_[at(state.result)]);
    Work none;
    none.op_class = OpClass::none;
    none.launches = 0;
    builder_.set_work(carrier, none);
    builder_.set_colocation(carrier, name);
    builder_.set_colocation(input, name);
  }

  /// What is fetched, else what the graph names. Carriers read results, which thus need their names.
  void name_results() {
    const bool named = graph_.names_results() || !carried_.empty();
    const bool all = fetched_.empty();
    for (TensorId tensor = 0; all && named && tensor < graph_.tensor_count(); ++tensor) {
      if (graph_.is_result(tensor)) fetched_.push_back(tensor);
    }
    for (const TensorId tensor : fetched_) {
      if (new_tensor_[at(tensor)] != kNoTensor) builder_.add_result(new_tensor_[at(tensor)]);
    }
    if (graph_.names_results()) builder_.name_results();
  }

  TensorId input(TensorId tensor) {
    if (tensor == kNoTensor) return kNoTensor;
    TensorId& copy = new_tensor_[at(tensor)];
    if (copy == kNoTensor) {
      copy = builder_.add_parameter(tensor_info(tensor), graph_.tensor_name(tensor));
    }
    return copy;
  }

  const Graph& graph_;
  std::vector<bool> needed_;
  std::vector<TensorId> fetched_;
  std::vector<bool> freed_;
  std::span<const Graph::State> carried_;
  const std::map<TensorId, TensorInfo>* changed_ = nullptr;
  GraphBuilder builder_;
  std::vector<TensorId> new_tensor_;
};

}  // namespace

std::shared_ptr<const Graph> prune(const Graph& graph, std::span<const std::string> fetches) {
  std::vector<TensorId> fetched;
  std::vector<OpId> roots = fetches.empty() ? results(graph) : named_ops(graph, fetches, fetched);
  return Copy(graph, needed_by(graph, std::move(roots)), std::move(fetched)).build();
}

std::shared_ptr<const Graph> free_gradients(const Graph& graph) {
  std::vector<bool> freed(at(graph.op_count()));
  for (const OpId op : graph.topological_order()) {
    const auto edges = graph.in_edges(op);
    freed[at(op)] = std::any_of(edges.begin(), edges.end(), [&](const Edge& edge) {
      return freed[at(edge.src)] || graph.colocation(edge.src) != graph.colocation(op);
    });
  }
  return Copy(graph, std::vector<bool>(at(graph.op_count()), true), {}, std::move(freed)).build();
}

std::shared_ptr<const Graph> carry_states(const Graph& graph,
                                          std::span<const Graph::State> states) {
  std::vector<bool> freed(at(graph.op_count()), false);
  for (const Graph::State& state : states) freed[at(state.input)] = true;
  Copy copy(graph, std::vector<bool>(at(graph.op_count()), true), {}, std::move(freed));
  copy.carry(states);
  return copy.build();
}

std::shared_ptr<const Graph> with_tensors(const Graph& graph,
                                          const std::map<TensorId, TensorInfo>& changed) {
  Copy copy(graph, std::vector<bool>(at(graph.op_count()), true), {});
  copy.change(changed);
  return copy.build();
}

}  // namespace berth
