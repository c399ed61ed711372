// One replica updates a variable, and hands its values to the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/replicas.h"

namespace berth {

/// The owners of what is behind the reduction, where updates are shared. Variables are owned whole, so that an
/// optimizer of many small ops has fewer of them on each device. Rows of tables stay everybody's, as they are
/// fewer than the table, and so do variables that would fill a bucket: a ring divides them.
struct Owners {
  static constexpr std::int32_t kEverybody = -1;
  std::vector<std::int32_t> of_op;      ///< by plain op: a replica, or kEverybody
  std::vector<std::int32_t> of_tensor;  ///< the same of gradients, by plain tensor
  std::vector<std::int32_t> bucket;  ///< by plain op that has an owner: the last that it waits for
};

/// Whether updates can be shared: variables change in place, which TensorFlow's alone do. New values that are
/// results of the step are every replica's.
[[nodiscard]] bool can_share_updates(const Graph& graph);

/// Indexed by op: how many updates are behind one another on the longest way to it. What is reduced or handed round
/// together is of one level, so that nothing in it waits for the rest: some steps update moving averages
/// before they compute gradients.
[[nodiscard]] std::vector<std::int32_t> update_levels(const Graph& graph, const Training& training);

/// `buckets`: gradients in the order of their reduction; `most_bytes`: of a variable with an owner. Ops on
/// what several replicas own, such as the sum of a global norm, are everybody's.
[[nodiscard]] Owners share_updates(const Graph& graph, const Training& training,
                                   const std::vector<std::vector<Training::Gradient>>& buckets,
                                   std::int64_t most_bytes, std::size_t replicas);

/// Bytes of the variables that an update changes and others than its owner read.
[[nodiscard]] std::int64_t handed_bytes(const Graph& graph, const Owners& owners, OpId update);

}  // namespace berth
