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
#include <algorithm>
#include <map>
#include <string_view>

#include "berth/error.h"
#include "berth/replicas.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "replicas/folded.h"
#include "replicas/owners.h"

namespace berth {
namespace {

class Emitter {
 public:
  Emitter(const Training& training, const SizedModel& whole, std::span<const SizedModel> models,
          const Cluster& cluster, const ReplicaPlan& plan)
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

  Replicated run() {
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

  /// The reductions of a folded step, by bucket.
  const std::vector<OpId>& reductions() const { return reductions_; }

 private:
  /// Whether another replica computes the op for this one.
  bool computed_elsewhere(std::size_t r, OpId op) const {
    return owner(op) != Owners::kEverybody && owner(op) != static_cast<std::int32_t>(r);
  }
  std::int32_t owner(OpId op) const {
    return op == kNoOp || owners_.of_op.empty() ? Owners::kEverybody : owners_.of_op[at(op)];
  }
  static std::string prefix(std::size_t replica) { return cat("replica_", replica, "/"); }
  /// The ops that the model's costs count as work of others, where a replica computes both.
  std::vector<Costs::Joined> joined() const {
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
  /// The model in whose sizes the replica's op computes.
  const SizedModel& model(std::size_t replica, OpId op) const {
    return training_.whole[at(op)] ? whole_ : models_[replica];
  }

  /// Replicas of one share have the same work, which is long to find for all ops.
  const Work& work(const Graph& graph, OpId op) {
    std::vector<Work>& known = works_[&graph];
    for (auto next = static_cast<OpId>(known.size()); next <= op; ++next) {
      const auto stated = graph.stated_work(next);
      known.push_back(stated ? *stated : op_work(graph, next));
    }
    return known[at(op)];
  }

  static TensorInfo info_of(const Graph& graph, TensorId tensor) {
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

  void add_ops(std::size_t r) {
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

  /// Takes no time and holds nothing. An update's output is the variable, which the replica has.
  void add_stand_in(std::size_t r, OpId op) {
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
  /// The tensor as an op of the replica reads it.
  TensorId read(std::size_t r, OpId reader, TensorId tensor) const {
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

  void connect(std::size_t r) {
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
  OpId op_of(std::size_t replica, OpId op) const {
    return static_cast<OpId>(replica) * step_.ops_each + op;
  }

  // --- The reduction ---------------------------------------------------------------------------

  /// When each op ends at the earliest, on the kind of the first replica's devices.
  std::vector<double> ends_us() const {
    const Graph& graph = *whole_.graph;
    const KindId kind = cluster_.kind_of(plan_.replicas.front().devices.front());
    std::vector<double> end(at(graph.op_count()), 0);
    for (const OpId op : graph.topological_order()) {
      double start = 0;
      for (const Edge& edge : graph.in_edges(op)) start = std::max(start, end[at(edge.src)]);
      const double us = whole_.costs->op_us(op, kind);
      end[at(op)] = start + (us < kCannotRun ? us : 0);
    }
    return end;
  }

  /// In the order of their reduction; a sparse gradient is by itself.
  std::vector<std::vector<Training::Gradient>> fill_buckets() const {
    const Graph& graph = *whole_.graph;
    std::vector<Training::Gradient> ready = training_.gradients;
    const std::vector<double> end = ends_us();
    const auto when = [&](const Training::Gradient& gradient) {
      const std::size_t producer = at(graph.producer(gradient.tensor));
      return std::pair(levels_[producer], end[producer]);
    };
    std::stable_sort(ready.begin(), ready.end(),
                     [&](const auto& a, const auto& b) { return when(a) < when(b); });
    std::vector<std::vector<Training::Gradient>> buckets;
    std::vector<Training::Gradient> bucket;
    std::int64_t bytes = 0;
    const auto flush = [&] {
      if (!bucket.empty()) buckets.push_back(std::move(bucket));
      bucket.clear();
      bytes = 0;
    };
    for (const auto& gradient : ready) {
      if (gradient.sparse) {
        buckets.push_back({gradient});
        continue;
      }
      if (!bucket.empty() && when(bucket.back()).first != when(gradient).first) flush();
      bucket.push_back(gradient);
      bytes += graph.bytes(gradient.tensor);
      if (!one_device_ || bytes >= plan_.bucket_bytes) flush();
    }
    flush();
    return buckets;
  }

  void reduce() {
    reduced_.assign(plan_.replicas.size(),
                    std::vector<TensorId>(at(whole_.graph->tensor_count()), kNoTensor));
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      const auto& bucket = buckets_[b];
      if (bucket.front().sparse) {
        gather(bucket.front());
        continue;
      }
      std::vector<Training::Gradient> owned, others;
      for (const auto& gradient : bucket) {
        const bool shared = !owners_.of_op.empty() && owners_.of_tensor[at(gradient.tensor)] >= 0;
        (shared ? owned : others).push_back(gradient);
      }
      if (!owned.empty()) reduce_to_owners(owned, static_cast<std::int32_t>(b));
      if (!others.empty()) ring(others);
    }
    const Graph& graph = *whole_.graph;
    for (const auto& gradient : training_.gradients) {
      if (!graph.names_results() || !graph.is_result(gradient.tensor)) continue;
      for (const auto& of_replica : reduced_) {
        if (const TensorId tensor = of_replica[at(gradient.tensor)]; tensor != kNoTensor) {
          builder_.add_result(tensor);
        }
      }
    }
  }

  OpId add(std::size_t r, const std::string& name, const char* type,
           const Training::Gradient& first, std::int64_t summed_bytes) {
    const OpId op = builder_.add_op(cat(prefix(r), "reduce/", step_.buckets, "/", name), type);
    Work work;
    work.flops = static_cast<double>(summed_bytes) / 4;
    work.bytes = 3.0 * static_cast<double>(summed_bytes);  // two are read, one is written
    work.op_class = OpClass::elementwise;
    work.launches = summed_bytes > 0 ? 1 : 0;
    builder_.set_work(op, work);
    // It is where the update is, which is what waits for it.
    const std::string& colocation = whole_.graph->colocation(first.update);
    if (!one_device_ && !colocation.empty()) builder_.set_colocation(op, prefix(r) + colocation);
    for (KindId kind = 0; kind < cluster_.kind_count(); ++kind) {
      const Device& device = cluster_.kind_device(kind);
      const bool figures = device.flops > 0 && device.memory_bandwidth > 0;
      us_[at(kind)].push_back(summed_bytes > 0 && figures ? roofline_us(work, device) : 0);
    }
    workspace_.push_back(0);
    step_.reduction_replica.push_back(static_cast<std::int32_t>(r));
    return op;
  }
  TensorId give(OpId op, std::int64_t bytes) {
    TensorInfo info;
    info.dtype = DType::f32;
    info.bytes = bytes;
    return builder_.add_output(op, info);
  }

  /// From `place` around the ring: every replica joins the part and hands it on, but for the last.
  void pass_on(const std::string& name, const std::vector<OpId>& join, std::size_t place,
               TensorId part, std::int64_t bytes, const char* type,
               const Training::Gradient& gradient) {
    const std::size_t k = join.size();
    builder_.add_input(join[ring_[place % k]], part);
    for (std::size_t s = 1; s < k; ++s) {
      const std::size_t r = ring_[(place + s) % k];
      builder_.add_input(join[r], part);
      if (s + 1 == k) break;
      const OpId op = add(r, cat(name, "_", place, "_", s), type, gradient, 0);
      builder_.add_input(op, part);
      part = give(op, bytes);
    }
  }

  /// The gradients of a bucket by owner go to their owners; what the updates give goes to all.
  void reduce_to_owners(const std::vector<Training::Gradient>& bucket, std::int32_t number) {
    const Graph& graph = *whole_.graph;
    const std::size_t k = plan_.replicas.size();
    std::vector<std::vector<Training::Gradient>> of(k);
    std::vector<std::int64_t> bytes(k, 0);
    for (const auto& gradient : bucket) {
      const std::size_t r = at(owners_.of_tensor[at(gradient.tensor)]);
      of[r].push_back(gradient);
      bytes[r] += graph.bytes(gradient.tensor);
    }
    std::vector<OpId> pack(k);
    std::vector<std::vector<TensorId>> packed(k, std::vector<TensorId>(k, kNoTensor));
    for (std::size_t r = 0; r < k; ++r) {
      pack[r] = add(r, "pack", "AllReduce", bucket.front(), 0);
      for (const auto& gradient : bucket) {
        builder_.add_input(pack[r], tensors_[r][at(gradient.tensor)]);
      }
      for (std::size_t c = 0; c < k; ++c) {
        if (!of[c].empty()) packed[r][c] = give(pack[r], bytes[c]);
      }
    }
    for (std::size_t place = 0; place < k; ++place) {
      const std::size_t to = ring_[place];
      if (of[to].empty()) continue;
      TensorId sum = packed[ring_[(place + 1) % k]][to];
      for (std::size_t s = 2; s <= k; ++s) {
        const std::size_t r = ring_[(place + s) % k];
        const OpId op = add(r, cat("sum_", to, "_", s - 1), "AllReduce", of[to].front(), bytes[to]);
        builder_.add_input(op, sum);
        builder_.add_input(op, packed[r][to]);
        sum = give(op, bytes[to]);
      }
      const OpId own = add(to, "own", "AllReduce", of[to].front(), 0);
      builder_.add_input(own, sum);
      for (const auto& gradient : of[to]) {
        reduced_[to][at(gradient.tensor)] =
            builder_.add_output(own, info_of(graph, gradient.tensor));
      }
    }
    // Keyed by the level of the updates.
    std::map<std::int32_t, std::vector<std::vector<OpId>>> updates;
    for (OpId op = 0; op < graph.op_count(); ++op) {
      if (!training_.updates[at(op)] || owner(op) == Owners::kEverybody) continue;
      const auto [bucket_of, level] = handed_with(op);
      if (bucket_of == number)
        updates.try_emplace(level, k).first->second[at(owner(op))].push_back(op);
    }
    for (const auto& [level, by_owner] : updates) {
      std::vector<OpId> take(k);
      for (std::size_t r = 0; r < k; ++r) {
        take[r] = add(r, cat("take_", level), "AllGather", bucket.front(), 0);
        takes_[{r, {number, level}}] = take[r];
      }
      for (std::size_t place = 0; place < k; ++place) {
        const std::size_t from = ring_[place];
        if (by_owner[from].empty() || of[from].empty()) continue;
        hand_on(from, by_owner[from], place, take, level, of[from].front());
      }
    }
    ++step_.buckets;
  }
  /// Bucket and level: updates that are handed round together.
  std::pair<std::int32_t, std::int32_t> handed_with(OpId update) const {
    return {owners_.bucket[at(update)], levels_[at(update)]};
  }
  /// New values from their owner to all.
  void hand_on(std::size_t from, const std::vector<OpId>& updates, std::size_t place,
               const std::vector<OpId>& take, std::int32_t level,
               const Training::Gradient& gradient) {
    const OpId given = add(from, cat("given_", level), "AllGather", gradient, 0);
    std::int64_t bytes = 0;
    for (const OpId update : updates) {
      builder_.add_control_edge(op_of(from, update), given);
      bytes += handed_bytes(*whole_.graph, owners_, update);
    }
    // An update of the owner's own state gives nothing.
    if (bytes > 0)
      pass_on(cat("pass_", level), take, place, give(given, bytes), bytes, "AllGather", gradient);
  }

  void ring(const std::vector<Training::Gradient>& bucket) {
    const std::size_t k = plan_.replicas.size();
    std::int64_t bytes = 0;
    for (const auto& gradient : bucket) bytes += whole_.graph->bytes(gradient.tensor);
    const auto parts = static_cast<std::int64_t>(k);
    const std::int64_t chunk = (bytes + parts - 1) / parts;
    const auto& first = bucket.front();
    const auto at_ring = [&](std::size_t place) { return ring_[place % k]; };
    std::vector<std::vector<TensorId>> packed(k);
    std::vector<OpId> join(k);
    for (std::size_t r = 0; r < k; ++r) {
      const OpId pack = add(r, "pack", "AllReduce", first, 0);
      for (const auto& gradient : bucket) {
        builder_.add_input(pack, tensors_[r][at(gradient.tensor)]);
      }
      for (std::size_t c = 0; c < k; ++c) packed[r].push_back(give(pack, chunk));
    }
    for (std::size_t r = 0; r < k; ++r) {
      join[r] = add(r, "join", "AllReduce", first, 0);
      for (const auto& gradient : bucket) {
        reduced_[r][at(gradient.tensor)] =
            builder_.add_output(join[r], info_of(*whole_.graph, gradient.tensor));
      }
    }
    for (std::size_t c = 0; c < k; ++c) {
      TensorId sum = packed[at_ring(c + 1)][c];
      for (std::size_t s = 1; s < k; ++s) {
        const std::size_t r = at_ring(c + 1 + s);
        const OpId op = add(r, cat("sum_", c, "_", s), "AllReduce", first, chunk);
        builder_.add_input(op, sum);
        builder_.add_input(op, packed[r][c]);
        sum = give(op, chunk);
      }
      pass_on("pass", join, c, sum, chunk, "AllReduce", first);
    }
    ++step_.buckets;
  }

  void gather(const Training::Gradient& gradient) {
    const std::size_t k = plan_.replicas.size();
    std::vector<OpId> join(k);
    for (std::size_t r = 0; r < k; ++r) {
      join[r] = add(r, "join", "AllGather", gradient, 0);
      reduced_[r][at(gradient.tensor)] =
          builder_.add_output(join[r], info_of(*whole_.graph, gradient.tensor));
    }
    for (std::size_t place = 0; place < k; ++place) {
      const std::size_t own = ring_[place];
      pass_on("pass", join, place, tensors_[own][at(gradient.tensor)],
              models_[own].graph->bytes(gradient.tensor), "AllGather", gradient);
    }
    ++step_.buckets;
  }

  /// A collective is one op, on the kind of device behind the cluster's.
  void fold_reduction() {
    const auto k = static_cast<std::int64_t>(plan_.replicas.size());
    reduced_.assign(1, std::vector<TensorId>(at(whole_.graph->tensor_count()), kNoTensor));
    // A host has the ops of all replicas.
    for (KindId kind = 0; kind < cluster_.kind_count(); ++kind) {
      const auto& own = plan_.replicas.front().devices;
      const bool is_own = std::any_of(own.begin(), own.end(), [&](DeviceId device) {
        return cluster_.kind_of(device) == kind;
      });
      for (double& us : us_[at(kind)]) us *= is_own ? 1 : static_cast<double>(k);
    }
    us_.emplace_back(at(step_.ops_each), kCannotRun);
    const auto add_own = [&](const char* name, const Training::Gradient& first,
                             std::int64_t summed_bytes) {
      const OpId op = add(0, name, "AllReduce", first, summed_bytes);
      us_.back().push_back(kCannotRun);
      return op;
    };
    for (const auto& bucket : buckets_) {
      const bool sparse = bucket.front().sparse;
      const SizedModel& sized = sparse ? models_[0] : whole_;
      std::int64_t bytes = 0;
      for (const auto& gradient : bucket) bytes += sized.graph->bytes(gradient.tensor);
      const OpId pack = add_own("pack", bucket.front(), 0);
      // Rows go round once, and whole: k - 1 rounds.
      const TensorId sent = give(pack, sparse ? bytes * k / 2 : bytes);
      const OpId reduction = builder_.add_op(
          cat("reducer_", at(step_.buckets) % reducer_count(plan_), "/", step_.buckets),
          "AllReduce");
      reductions_.push_back(reduction);
      builder_.set_work(reduction, Work{.launches = 0});
      builder_.add_input(reduction, sent);
      for (auto& of_kind : us_) of_kind.push_back(kCannotRun);
      us_.back().back() = 0;
      workspace_.push_back(0);
      const OpId join = add_own("join", bucket.front(), sparse ? 0 : bytes * (k - 1) / k);
      builder_.add_input(join, give(reduction, bytes));
      for (const auto& gradient : bucket) {
        builder_.add_input(pack, tensors_[0][at(gradient.tensor)]);
        reduced_[0][at(gradient.tensor)] =
            builder_.add_output(join, info_of(*whole_.graph, gradient.tensor));
      }
      ++step_.buckets;
    }
  }

  /// The constants and states of every replica.
  std::shared_ptr<const Graph> with_roles(const Graph& graph) const {
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

  const Training& training_;
  const SizedModel& whole_;
  std::span<const SizedModel> models_;
  const Cluster& cluster_;
  const ReplicaPlan& plan_;
  std::size_t copies_;  // replicas that are emitted: all, or of a folded step one
  bool one_device_ = true;
  std::vector<std::size_t> ring_;  // replicas in the order of the ring
  std::vector<std::vector<Training::Gradient>> buckets_;
  Owners owners_;                     // empty where no updates are shared
  std::vector<std::int32_t> levels_;  // by op
  // Keyed by replica, bucket and level.
  std::map<std::pair<std::size_t, std::pair<std::int32_t, std::int32_t>>, OpId> takes_;
  std::vector<bool> gradients_;                      // by tensor of a replica
  std::map<const Graph*, std::vector<Work>> works_;  // by op
  GraphBuilder builder_;
  std::vector<std::vector<double>> us_;
  std::vector<std::int64_t> workspace_;
  std::vector<std::vector<TensorId>> tensors_;  // by replica, then tensor
  std::vector<std::vector<TensorId>> reduced_;  // the same, where it is reduced
  std::vector<OpId> reductions_;                // of a folded step, by bucket
  Replicated step_;
};

}  // namespace

Replicated replicate(const Training& training, const SizedModel& whole,
                     std::span<const SizedModel> models, const Cluster& cluster,
                     const ReplicaPlan& plan) {
  return Emitter(training, whole, models, cluster, plan).run();
}

Folded fold(const Training& training, const SizedModel& whole, const SizedModel& one,
            const Cluster& cluster, const ReplicaPlan& plan) {
  ReplicaPlan each = plan;
  each.share_updates = false;
  Emitter emitter(training, whole, std::span(&one, 1), cluster, each);
  Replicated step = emitter.run();
  Folded folded;
  folded.model = std::move(step.model);
  folded.ops_each = step.ops_each;
  folded.cluster = with_reducers(plan, cluster);
  for (const OpId op : emitter.reductions()) {
    const auto reducer = folded.reductions.size() % reducer_count(plan);
    folded.reductions.emplace_back(op, cluster.device_count() + static_cast<DeviceId>(reducer));
  }
  return folded;
}

Placement mirrored(const Replicated& step, const ReplicaPlan& plan, const Placement& first) {
  Placement placement;
  placement.reserve(at(step.model.graph->op_count()));
  const auto& own = plan.replicas.front().devices;
  const auto device_in = [&](std::size_t r, DeviceId device) {
    const auto place = std::find(own.begin(), own.end(), device);
    if (place == own.end()) return device;
    return plan.replicas[r].devices[static_cast<std::size_t>(place - own.begin())];
  };
  for (std::size_t r = 0; r < plan.replicas.size(); ++r) {
    for (const DeviceId device : first) placement.push_back(device_in(r, device));
  }
  for (const std::int32_t r : step.reduction_replica) {
    placement.push_back(plan.replicas[static_cast<std::size_t>(r)].devices.front());
  }
  // In a class, the reduction is where the class is.
  std::map<std::string_view, DeviceId> classes;
  const Graph& graph = *step.model.graph;
  const OpId ops = step.ops_each * static_cast<OpId>(plan.replicas.size());
  for (OpId op = 0; op < ops; ++op) {
    if (!graph.colocation(op).empty()) classes.emplace(graph.colocation(op), placement[at(op)]);
  }
  for (OpId op = ops; op < graph.op_count(); ++op) {
    const auto of_class = classes.find(graph.colocation(op));
    if (of_class != classes.end()) placement[at(op)] = of_class->second;
  }
  return placement;
}

}  // namespace berth
