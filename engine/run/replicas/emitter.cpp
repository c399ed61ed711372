// The graph of k replicas.
//
// Each replica is a copy of the whole step at its share of the batch. Gradients go into buckets in the
// order in which they become ready, and a bucket goes round a ring in chunks, one per replica:
//
//   pack -> chunk c: replica c+1 .. adds its own .. replica c has the sum -> passed on -> join
//
// A replica's pack, sums and join are on its own devices. Packing and joining take no time: gradients are
// written into the bucket, and scaled by their shares as they are sent.
//
// Shared updates: a bucket's chunks are the gradients of each owner, and what goes round behind the
// sums are the values that the owner's updates give:
//
//   pack -> chunk c: replica c+1 .. adds its own .. replica c has the sum -> updates -> given -> take
//
// Folded: one replica alone, and each bucket's ring is one op on a device of its own.
#include "replicas/emitter.h"

#include <algorithm>

#include "berth/error.h"
#include "berth/sdk/ops/views.h"
#include "replicas/folded.h"

namespace berth {

ReplicaEmitter::ReplicaEmitter(const Training& training, const SizedModel& whole,
                               std::span<const SizedModel> models, const Cluster& cluster,
                               const ReplicaPlan& plan)
    : training_(training),
      whole_(whole),
      models_(models),
      cluster_(cluster),
      plan_(plan),
      copies_(models.size()),
      builder_(whole.graph->name(), "berth"),
      us_(at(cluster.kind_count())) {
  step_.ops_each = whole.graph->op_count();
  gradients_.assign(at(whole.graph->tensor_count()), false);
  for (const auto& gradient : training.gradients) gradients_[at(gradient.tensor)] = true;
  std::vector<DeviceId> devices;
  for (const auto& replica : plan.replicas) {
    devices.push_back(replica.devices.front());
    one_device_ = one_device_ && replica.devices.size() == 1;
  }
  ring_ = ring_order(devices, cluster);
  nodes_ = reduction_nodes(plan, cluster);
  levels_ = update_levels(*whole.graph, training);
  buckets_ = fill_buckets();
  if (!plan.share_updates || plan.replicas.size() < 2) return;
  if (!can_share_updates(*whole.graph)) {
    throw Error(ErrorCode::unsupported,
                "replicas: updates are shared where ops change variables; here new values are "
                "results of the step: leave updates=shared out");
  }
  owners_ =
      share_updates(*whole.graph, training, buckets_, plan.bucket_bytes, plan.replicas.size());
  step_.owner = owners_.of_op;
}

Replicated ReplicaEmitter::run() {
  tensors_.resize(copies_);
  for (std::size_t r = 0; r < copies_; ++r) add_ops(r);
  if (copies_ > 1) {
    reduce();
  } else if (plan_.replicas.size() > 1) {
    fold_reduction();
  }
  for (std::size_t r = 0; r < copies_; ++r) connect(r);
  std::shared_ptr<const Graph> graph = builder_.build();
  graph = with_roles(*graph);
  step_.model.costs = std::make_shared<const Costs>(std::move(us_), std::move(workspace_),
                                                    whole_.costs->source(), joined());
  step_.model.graph = std::move(graph);
  return std::move(step_);
}

std::vector<Costs::Joined> ReplicaEmitter::joined() const {
  std::vector<Costs::Joined> pairs;
  for (std::size_t r = 0; r < copies_; ++r) {
    const OpId first = static_cast<OpId>(r) * whole_.graph->op_count();
    for (const auto& [op, with] : whole_.costs->joined()) {
      if (computed_elsewhere(r, op) || computed_elsewhere(r, with)) continue;
      pairs.push_back({first + op, first + with});
    }
  }
  return pairs;
}

const Work& ReplicaEmitter::work(const Graph& graph, OpId op) {
  std::vector<Work>& known = works_[&graph];
  for (auto next = static_cast<OpId>(known.size()); next <= op; ++next) {
    const auto stated = graph.stated_work(next);
    known.push_back(stated ? *stated : op_work(graph, next));
  }
  return known[at(op)];
}

TensorInfo ReplicaEmitter::info_of(const Graph& graph, TensorId tensor) {
  TensorInfo info;
  info.dtype = graph.dtype(tensor);
  info.has_shape = graph.has_shape(tensor);
  if (info.has_shape) {
    const auto shape = graph.shape(tensor);
    info.shape.assign(shape.begin(), shape.end());
  }
  info.bytes = graph.bytes_known(tensor) ? graph.bytes(tensor) : kUnknownBytes;
  return info;
}

void ReplicaEmitter::add_ops(std::size_t r) {
  const Graph& graph = *whole_.graph;
  tensors_[r].assign(at(graph.tensor_count()), kNoTensor);
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (computed_elsewhere(r, op)) {
      add_stand_in(r, op);
      continue;
    }
    const SizedModel& sized = model(r, op);
    const OpId made = builder_.add_op(prefix(r) + graph.op_name(op), graph.op_type(op));
    if (!graph.colocation(op).empty()) {
      builder_.set_colocation(made, prefix(r) + graph.colocation(op));
    }
    if (const auto bytes = graph.stated_param_bytes(op); bytes > 0) {
      builder_.set_param_bytes(made, bytes);
    }
    builder_.set_work(made, work(*sized.graph, op));
    if (ops::is_view(*sized.graph, op)) {
      builder_.set_attribute(made, std::string(ops::kViewAttribute), std::int64_t{1});
    }
    for (const TensorId tensor : graph.outputs(op)) {
      tensors_[r][at(tensor)] = builder_.add_output(made, info_of(*sized.graph, tensor));
      // A gradient is returned as the sum.
      const bool reduced = plan_.replicas.size() > 1 && gradients_[at(tensor)];
      if (graph.names_results() && graph.is_result(tensor) && !reduced) {
        builder_.add_result(tensors_[r][at(tensor)]);
      }
    }
    for (KindId kind = 0; kind < cluster_.kind_count(); ++kind) {
      us_[at(kind)].push_back(sized.costs->op_us(op, kind));
    }
    workspace_.push_back(sized.costs->workspace_bytes(op));
  }
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    if (graph.maker(tensor) != kNoOp) continue;
    tensors_[r][at(tensor)] = builder_.add_parameter(info_of(graph, tensor));
  }
  if (graph.names_results()) builder_.name_results();
}

void ReplicaEmitter::add_stand_in(std::size_t r, OpId op) {
  const Graph& graph = *whole_.graph;
  const OpId made = builder_.add_op(prefix(r) + graph.op_name(op), graph.op_type(op));
  if (!graph.colocation(op).empty()) {
    builder_.set_colocation(made, prefix(r) + graph.colocation(op));
  }
  builder_.set_work(made, Work{.launches = 0});
  for (const TensorId tensor : graph.outputs(op)) {
    TensorInfo info = info_of(graph, tensor);
    if (!training_.updates[at(op)]) {
      info.has_shape = false;
      info.shape.clear();
      info.bytes = 0;
    }
    tensors_[r][at(tensor)] = builder_.add_output(made, info);
    if (graph.names_results() && graph.is_result(tensor)) {
      builder_.add_result(tensors_[r][at(tensor)]);
    }
  }
  for (KindId kind = 0; kind < cluster_.kind_count(); ++kind) {
    const double us = whole_.costs->op_us(op, kind);
    us_[at(kind)].push_back(us < kCannotRun ? 0 : us);
  }
  workspace_.push_back(0);
}

TensorId ReplicaEmitter::read(std::size_t r, OpId reader, TensorId tensor) const {
  if (tensor == kNoTensor) return kNoTensor;
  if (!reduced_.empty() && training_.reads_reduced[at(reader)]) {
    const std::int32_t by =
        owners_.of_op.empty() ? Owners::kEverybody : owners_.of_tensor[at(tensor)];
    const TensorId whole = reduced_[by < 0 ? r : at(by)][at(tensor)];
    if (whole != kNoTensor) return whole;
  }
  const OpId producer = whole_.graph->producer(tensor);
  const bool elsewhere =
      producer != kNoOp && computed_elsewhere(r, producer) && !training_.updates[at(producer)];
  return tensors_[elsewhere ? at(owner(producer)) : r][at(tensor)];
}

void ReplicaEmitter::connect(std::size_t r) {
  const Graph& graph = *whole_.graph;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const OpId made = op_of(r, op);
    if (computed_elsewhere(r, op)) {
      const auto taken = takes_.find({r, handed_with(op)});
      if (training_.updates[at(op)] && taken != takes_.end()) {
        builder_.add_control_edge(taken->second, made);
      }
      continue;
    }
    for (const TensorId tensor : graph.inputs(op)) {
      builder_.add_input(made, read(r, op, tensor));
    }
    for (const Edge& edge : graph.in_edges(op)) {
      if (edge.tensor == kNoTensor) builder_.add_control_edge(op_of(r, edge.src), made);
    }
  }
}

std::shared_ptr<const Graph> ReplicaEmitter::with_roles(const Graph& graph) const {
  const Graph& plain = *whole_.graph;
  std::vector<Graph::Constant> roles(at(graph.op_count()), Graph::Constant::no);
  for (std::size_t r = 0; r < copies_; ++r) {
    for (OpId op = 0; op < plain.op_count(); ++op) {
      roles[at(op_of(r, op))] = plain.constant_role(op);
    }
  }
  std::vector<Graph::State> states;
  for (std::size_t r = 0; r < copies_; ++r) {
    for (const Graph::State& state : plain.states()) {
      states.push_back({tensors_[r][at(state.result)], op_of(r, state.input)});
    }
  }
  const auto made = graph.with_constants(roles);
  return states.empty() ? made : made->with_states(states);
}

}  // namespace berth
