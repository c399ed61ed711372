// Emits the graph of replicas: their copies of the step, and what reduces their gradients.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "berth/replicas.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "replicas/levels.h"
#include "replicas/owners.h"

namespace berth {

/// Builds one graph, once. What it is made of outlives it.
class ReplicaEmitter {
 public:
  ReplicaEmitter(const Training& training, const SizedModel& whole,
                 std::span<const SizedModel> models, const Cluster& cluster,
                 const ReplicaPlan& plan);

  [[nodiscard]] Replicated run();

  /// The reductions of a folded step, by bucket.
  [[nodiscard]] const std::vector<OpId>& reductions() const { return reductions_; }

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
  std::vector<Costs::Joined> joined() const;
  /// The model in whose sizes the replica's op computes.
  const SizedModel& model(std::size_t replica, OpId op) const {
    return training_.whole[at(op)] ? whole_ : models_[replica];
  }

  /// Replicas of one share have the same work, which is long to find for all ops.
  const Work& work(const Graph& graph, OpId op);
  static TensorInfo info_of(const Graph& graph, TensorId tensor);
  void add_ops(std::size_t r);
  /// Takes no time and holds nothing. An update's output is the variable, which the replica has.
  void add_stand_in(std::size_t r, OpId op);
  /// The tensor as an op of the replica reads it.
  TensorId read(std::size_t r, OpId reader, TensorId tensor) const;
  void connect(std::size_t r);
  OpId op_of(std::size_t replica, OpId op) const {
    return static_cast<OpId>(replica) * step_.ops_each + op;
  }

  /// When each op ends at the earliest, on the kind of the first replica's devices.
  std::vector<double> ends_us() const;

  /// In the order of their reduction; a sparse gradient is by itself.
  std::vector<std::vector<Training::Gradient>> fill_buckets() const;

  void reduce();
  OpId add(std::size_t r, const std::string& name, const char* type,
           const Training::Gradient& first, std::int64_t summed_bytes);
  TensorId give(OpId op, std::int64_t bytes);

  /// From `place` around a ring of replicas: every one joins the part (`join` is by replica) and hands it on, but for
  /// the last.
  void pass_on(const std::string& name, const std::vector<std::size_t>& ring,
               const std::vector<OpId>& join, std::size_t place, TensorId part, std::int64_t bytes,
               const char* type, const Training::Gradient& gradient);
  /// Sums the parts of a ring's replicas; `parts` is by replica. The op that is last, at `place`, gives nothing yet.
  OpId sum_around(const std::string& name, const std::vector<std::size_t>& ring, std::size_t place,
                  const std::vector<TensorId>& parts, std::int64_t bytes,
                  const Training::Gradient& gradient);
  /// The bucket in parts of `bytes` each: by part, then replica.
  std::vector<std::vector<TensorId>> pack(const std::vector<Training::Gradient>& bucket,
                                          std::size_t parts, std::int64_t bytes);
  /// The ops that give each replica the bucket's gradients, reduced.
  std::vector<OpId> join(const std::vector<Training::Gradient>& bucket);
  std::int64_t bytes_of(const std::vector<Training::Gradient>& bucket) const;

  /// The gradients of a bucket by owner go to their owners; what the updates give goes to all.
  void reduce_to_owners(const std::vector<Training::Gradient>& bucket, std::int32_t number);
  /// Bucket and level: updates that are handed round together.
  std::pair<std::int32_t, std::int32_t> handed_with(OpId update) const {
    return {owners_.bucket[at(update)], levels_[at(update)]};
  }
  /// New values from their owner to all.
  void hand_on(std::size_t from, const std::vector<OpId>& updates, std::size_t place,
               const std::vector<OpId>& take, std::int32_t level,
               const Training::Gradient& gradient);

  void ring(const std::vector<Training::Gradient>& bucket);
  void two_levels(const std::vector<Training::Gradient>& bucket);
  void gather(const Training::Gradient& gradient);
  /// A collective is one op, on the kind of device behind the cluster's.
  void fold_reduction();

  /// The constants and states of every replica.
  std::shared_ptr<const Graph> with_roles(const Graph& graph) const;

  const Training& training_;
  const SizedModel& whole_;
  std::span<const SizedModel> models_;
  const Cluster& cluster_;
  const ReplicaPlan& plan_;
  std::size_t copies_;  // replicas that are emitted: all, or of a folded step one
  bool one_device_ = true;
  std::vector<std::size_t> ring_;  // replicas in the order of the ring
  ReplicaNodes nodes_;             // empty where they are one ring
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

}  // namespace berth
