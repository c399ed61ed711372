/// @file
/// Replicas: a training step of which several groups of devices each compute a share of the batch.
///
/// The graph of k replicas is a graph as any other: problem, simulator, bounds and policies know nothing
/// of replicas.
///
///     const Training training = study_training(whole, smaller, 64);
///     const Replicated step = replicate(training, models, cluster, plan);
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/cluster.h"
#include "berth/costs.h"
#include "berth/export.h"
#include "berth/graph.h"
#include "berth/placement.h"
#include "berth/types.h"

namespace berth {

/// A model at one size of the batch.
struct SizedModel {
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<const Costs> costs;
};

/// Facts about a training graph: which numbers replicas must share. Found by comparing the graph
/// at two sizes of the batch, so that no op needs knowledge of its own.
struct Training {
  /// A gradient, or whatever else a replica knows of its own share alone and an update needs: the
  /// moving averages of batch normalisation, too. The whole batch's is the mean over the replicas,
  /// each by its share, or their sum.
  struct Gradient {
    TensorId tensor = kNoTensor;
    bool sparse = false;  ///< rows of a table, or their numbers: gathered, not summed
    /// It is of a sum over the samples: the replicas' are added as they are. False: of a mean, in which each
    /// counts by its share.
    bool of_sum = false;
    OpId update = kNoOp;  ///< the first op that changes state with it
  };
  std::vector<Gradient> gradients;  ///< in the graph's order of their producers
  /// Indexed by op: it reads gradients as all replicas together give them.
  std::vector<bool> reads_reduced;
  /// Indexed by op: it computes on what was gathered, with the sizes of the whole batch in every replica.
  std::vector<bool> whole;
  /// Indexed by op: it changes state with what depends on the samples.
  std::vector<bool> updates;
  /// Ops that make one of all samples, or set samples against each other along the batch's axis, from which a way leads back to the samples and then to an update, as
  /// statistics of batch normalisation and the sum in a softmax over the batch: each replica has its own of them,
  /// and no gradients of replicas add up to those of the whole batch.
  std::vector<OpId> meetings;
  /// Ops on such a way of which the graph does not tell whether samples meet in them: rows picked by what a tensor
  /// holds, bodies of loops, types that Berth does not know.
  std::vector<OpId> possible_meetings;
  /// For a plan that shares updates, indexed by op: the replica that computes it for all, -1 = each for
  /// itself. Empty where no updates are shared.
  std::vector<std::int32_t> owner;
  std::int64_t batch = 0;
  std::int64_t gradient_bytes = 0;  ///< summed ones
  std::int64_t gathered_bytes = 0;  ///< sparse ones, of the whole batch
};

/// `whole` is the model at `batch`, `smaller` the same at less. Throws Error(unsupported) saying why
/// for a graph without gradients that reach an update, and where the two differ in more than sizes.
[[nodiscard]] BERTH_EXPORT Training study_training(const Graph& whole, const Graph& smaller,
                                                   std::int64_t batch);

/// The devices that compute which share of the batch.
struct BERTH_EXPORT ReplicaPlan {
  struct Replica {
    std::vector<DeviceId> devices;  ///< one, or several among which the replica's ops are placed
    std::int64_t share = 0;         ///< samples of a step, >= 1
    friend bool operator==(const Replica&, const Replica&) = default;
  };
  std::vector<Replica> replicas;
  /// Gradients are reduced in buckets of at least this size, as they become ready; each by itself
  /// where replicas have several devices.
  std::int64_t bucket_bytes = 8'000'000;
  /// One replica reduces the gradients of a variable, updates it, and hands its values to the others; the
  /// optimizer's other state is that replica's alone.
  bool share_updates = false;

  friend bool operator==(const ReplicaPlan&, const ReplicaPlan&) = default;
  /// "gpu:0=32,gpu:1+gpu:2=32,bucket=8000000,updates=shared".
  [[nodiscard]] std::string text(const Cluster& cluster) const;
};

/// Reads ReplicaPlan::text. The shares are checked: they add up to `batch`. Throws
/// Error(invalid_argument) naming the part and the fix.
[[nodiscard]] BERTH_EXPORT ReplicaPlan parse_replica_plan(std::string_view text,
                                                          const Cluster& cluster,
                                                          std::int64_t batch);

/// The graph of a plan.
struct Replicated {
  SizedModel model;
  OpId ops_each =
      0;  ///< op `i` of replica `r` is r * ops_each + i; behind them the reduction's ops
  /// The replica whose devices it is for, of each op behind those of the replicas.
  std::vector<std::int32_t> reduction_replica;
  std::int32_t buckets = 0;
  std::vector<std::int32_t> owner;  ///< of Training
};

/// Emits the graph: each replica the whole step at its share (`models[r]`), the gradients reduced by
/// rings of ops over the links, in buckets; sparse ones gathered. `whole` is the model at the whole
/// batch. Ops are named "replica_0/..." and "replica_0/reduce/...". With one replica it is the plain step.
/// An op that another replica computes, of shared updates, stays in the graph and takes no time.
/// Throws Error(unsupported) for shared updates of a graph whose states are results, and what
/// GraphBuilder::build throws.
[[nodiscard]] BERTH_EXPORT Replicated replicate(const Training& training, const SizedModel& whole,
                                                std::span<const SizedModel> models,
                                                const Cluster& cluster, const ReplicaPlan& plan);

/// The placement of every replica as `first` has the ops of one: a device of the first replica becomes
/// that at the same position in the others. Devices outside of it (hosts) stay.
[[nodiscard]] BERTH_EXPORT Placement mirrored(const Replicated& step, const ReplicaPlan& plan,
                                              const Placement& first);

/// Time of a ring that reduces `bytes` among `devices`, with nothing else on the links: 2 (k - 1)
/// rounds, each a k-th of the bytes over the slowest link on the way, k - 1 of them with a sum
/// (Patarasuk and Yuan, J. Parallel Distrib. Comput. 2009). 0 for one device.
[[nodiscard]] BERTH_EXPORT double ring_us(std::int64_t bytes, std::span<const DeviceId> devices,
                                          const Cluster& cluster);
/// The order of these devices, the first one first, in which the slowest link of a ring is fastest.
[[nodiscard]] BERTH_EXPORT std::vector<std::size_t> ring_order(std::span<const DeviceId> devices,
                                                               const Cluster& cluster);

/// No plan of this model on this machine takes a shorter step, whichever its replicas, shares and
/// placements.
struct ReplicaBound {
  double us = 0;
  std::string basis;  ///< "work of the whole batch over all devices"
};
/// The larger of two figures: the work of the batch, spread over all devices in any parts, and what a
/// plan of several replicas has to send or a plan of one takes at least (`plain_us`, a bound of the plain
/// problem). A sample's work is taken at the least that it is in either size of the model, of which it is
/// assumed that no other size has less: more samples at once fill a device better.
[[nodiscard]] BERTH_EXPORT ReplicaBound bound_replicas(const Training& training,
                                                       const SizedModel& whole,
                                                       const SizedModel& smaller,
                                                       std::int64_t smaller_batch,
                                                       const Cluster& cluster, double plain_us);

}  // namespace berth
