// How the gradients of replicas become one: emitter.cpp says in which ops.
#include <algorithm>

#include "replicas/emitter.h"
#include "replicas/folded.h"

namespace berth {
namespace {

std::int64_t part_of(std::int64_t bytes, std::size_t parts) {
  const auto count = static_cast<std::int64_t>(parts);
  return (bytes + count - 1) / count;
}

}  // namespace

std::vector<double> ReplicaEmitter::ends_us() const {
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

std::vector<std::vector<Training::Gradient>> ReplicaEmitter::fill_buckets() const {
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

void ReplicaEmitter::reduce() {
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
    if (!others.empty()) nodes_.empty() ? ring(others) : two_levels(others);
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

OpId ReplicaEmitter::add(std::size_t r, const std::string& name, const char* type,
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

TensorId ReplicaEmitter::give(OpId op, std::int64_t bytes) {
  TensorInfo info;
  info.dtype = DType::f32;
  info.bytes = bytes;
  return builder_.add_output(op, info);
}

void ReplicaEmitter::pass_on(const std::string& name, const std::vector<std::size_t>& ring,
                             const std::vector<OpId>& join, std::size_t place, TensorId part,
                             std::int64_t bytes, const char* type,
                             const Training::Gradient& gradient) {
  const std::size_t k = ring.size();
  builder_.add_input(join[ring[place % k]], part);
  for (std::size_t s = 1; s < k; ++s) {
    const std::size_t r = ring[(place + s) % k];
    builder_.add_input(join[r], part);
    if (s + 1 == k) break;
    const OpId op = add(r, cat(name, "_", place, "_", s), type, gradient, 0);
    builder_.add_input(op, part);
    part = give(op, bytes);
  }
}

void ReplicaEmitter::reduce_to_owners(const std::vector<Training::Gradient>& bucket,
                                      std::int32_t number) {
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
      reduced_[to][at(gradient.tensor)] = builder_.add_output(own, info_of(graph, gradient.tensor));
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

void ReplicaEmitter::hand_on(std::size_t from, const std::vector<OpId>& updates, std::size_t place,
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
    pass_on(cat("pass_", level), ring_, take, place, give(given, bytes), bytes, "AllGather",
            gradient);
}

OpId ReplicaEmitter::sum_around(const std::string& name, const std::vector<std::size_t>& ring,
                                std::size_t place, const std::vector<TensorId>& parts,
                                std::int64_t bytes, const Training::Gradient& gradient) {
  const std::size_t k = ring.size();
  TensorId sum = parts[ring[(place + 1) % k]];
  OpId last = kNoOp;
  for (std::size_t s = 1; s < k; ++s) {
    const std::size_t r = ring[(place + 1 + s) % k];
    if (last != kNoOp) sum = give(last, bytes);
    last = add(r, cat(name, "_", s), "AllReduce", gradient, bytes);
    builder_.add_input(last, sum);
    builder_.add_input(last, parts[r]);
  }
  return last;
}

std::vector<std::vector<TensorId>> ReplicaEmitter::pack(
    const std::vector<Training::Gradient>& bucket, std::size_t parts, std::int64_t bytes) {
  const std::size_t k = plan_.replicas.size();
  std::vector<std::vector<TensorId>> packed(parts, std::vector<TensorId>(k));
  for (std::size_t r = 0; r < k; ++r) {
    const OpId op = add(r, "pack", "AllReduce", bucket.front(), 0);
    for (const auto& gradient : bucket) {
      builder_.add_input(op, tensors_[r][at(gradient.tensor)]);
    }
    for (std::size_t part = 0; part < parts; ++part) packed[part][r] = give(op, bytes);
  }
  return packed;
}

std::vector<OpId> ReplicaEmitter::join(const std::vector<Training::Gradient>& bucket) {
  std::vector<OpId> joins;
  for (std::size_t r = 0; r < plan_.replicas.size(); ++r) {
    joins.push_back(add(r, "join", "AllReduce", bucket.front(), 0));
    for (const auto& gradient : bucket) {
      reduced_[r][at(gradient.tensor)] =
          builder_.add_output(joins[r], info_of(*whole_.graph, gradient.tensor));
    }
  }
  return joins;
}

std::int64_t ReplicaEmitter::bytes_of(const std::vector<Training::Gradient>& bucket) const {
  std::int64_t bytes = 0;
  for (const auto& gradient : bucket) bytes += whole_.graph->bytes(gradient.tensor);
  return bytes;
}

void ReplicaEmitter::ring(const std::vector<Training::Gradient>& bucket) {
  const std::size_t k = plan_.replicas.size();
  const std::int64_t chunk = part_of(bytes_of(bucket), k);
  const auto& first = bucket.front();
  const auto packed = pack(bucket, k, chunk);
  const std::vector<OpId> joins = join(bucket);
  for (std::size_t c = 0; c < k; ++c) {
    const OpId sum = sum_around(cat("sum_", c), ring_, c, packed[c], chunk, first);
    pass_on("pass", ring_, joins, c, give(sum, chunk), chunk, "AllReduce", first);
  }
  ++step_.buckets;
}

void ReplicaEmitter::two_levels(const std::vector<Training::Gradient>& bucket) {
  const std::size_t k = plan_.replicas.size(), count = nodes_.size(), each = nodes_.front().size();
  const std::int64_t part = part_of(bytes_of(bucket), each), chunk = part_of(part, count);
  const auto& first = bucket.front();
  const auto packed = pack(bucket, each, part);
  const std::vector<OpId> joins = join(bucket);
  for (std::size_t c = 0; c < each; ++c) {
    std::vector<std::size_t> column;  // who has the sum of this part, of each node
    std::vector<OpId> own(k, kNoOp);
    std::vector<std::vector<TensorId>> chunks(count, std::vector<TensorId>(k, kNoTensor));
    for (const auto& node : nodes_) {
      const std::size_t r = node[c];
      column.push_back(r);
      const OpId sum = sum_around(cat("sum_", c), node, c, packed[c], part, first);
      for (auto& of_chunk : chunks) of_chunk[r] = give(sum, chunk);
      own[r] = add(r, "own", "AllReduce", first, 0);
    }
    for (std::size_t d = 0; d < count; ++d) {
      const OpId sum = sum_around(cat("across_", d), column, d, chunks[d], chunk, first);
      pass_on("pass_across", column, own, d, give(sum, chunk), chunk, "AllReduce", first);
    }
    for (const auto& node : nodes_) {
      pass_on("pass", node, joins, c, give(own[node[c]], part), part, "AllReduce", first);
    }
  }
  ++step_.buckets;
}

void ReplicaEmitter::gather(const Training::Gradient& gradient) {
  const std::size_t k = plan_.replicas.size();
  std::vector<OpId> join(k);
  for (std::size_t r = 0; r < k; ++r) {
    join[r] = add(r, "join", "AllGather", gradient, 0);
    reduced_[r][at(gradient.tensor)] =
        builder_.add_output(join[r], info_of(*whole_.graph, gradient.tensor));
  }
  for (std::size_t place = 0; place < k; ++place) {
    const std::size_t own = ring_[place];
    pass_on("pass", ring_, join, place, tensors_[own][at(gradient.tensor)],
            models_[own].graph->bytes(gradient.tensor), "AllGather", gradient);
  }
  ++step_.buckets;
}

void ReplicaEmitter::fold_reduction() {
  const auto k = static_cast<std::int64_t>(plan_.replicas.size());
  reduced_.assign(1, std::vector<TensorId>(at(whole_.graph->tensor_count()), kNoTensor));
  // A host has the ops of all replicas.
  for (KindId kind = 0; kind < cluster_.kind_count(); ++kind) {
    const auto& own = plan_.replicas.front().devices;
    const bool is_own = std::any_of(
        own.begin(), own.end(), [&](DeviceId device) { return cluster_.kind_of(device) == kind; });
    for (double& us : us_[at(kind)]) us *= is_own ? 1 : static_cast<double>(k);
  }
  us_.emplace_back(at(step_.ops_each), kCannotRun);
  const auto add_own = [&](const char* name, const Training::Gradient& first,
                           std::int64_t summed_bytes) {
    const OpId op = add(0, name, "AllReduce", first, summed_bytes);
    us_.back().push_back(kCannotRun);
    return op;
  };
  // Rows go round the flat ring once, and whole: k - 1 rounds.
  const double slower = nodes_.empty()
                            ? 1
                            : ring_link(plan_, 0, cluster_).bandwidth_bytes_per_s /
                                  flat_ring_link(plan_, 0, cluster_).bandwidth_bytes_per_s;
  for (const auto& bucket : buckets_) {
    const bool sparse = bucket.front().sparse;
    const SizedModel& sized = sparse ? models_[0] : whole_;
    std::int64_t bytes = 0;
    for (const auto& gradient : bucket) bytes += sized.graph->bytes(gradient.tensor);
    const OpId pack = add_own("pack", bucket.front(), 0);
    const double rows = slower * static_cast<double>(bytes * k / 2);
    const TensorId sent = give(pack, sparse ? static_cast<std::int64_t>(rows) : bytes);
    const OpId reduction = builder_.add_op(
        cat("reducer_", at(step_.buckets) % reducer_count(plan_), "/", step_.buckets), "AllReduce");
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

}  // namespace berth
