// Whole variables by owner, as the optimizers of ZeRO's first stage are (Rajbhandari et al., SC 2020).
#include "replicas/owners.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "berth/support/index.h"
#include "berth/support/text.h"
#include "ops/updates.h"

namespace berth {
namespace {

constexpr std::int32_t kEverybody = Owners::kEverybody;

class Sharing {
 public:
  Sharing(const Graph& graph, const Training& training, std::int64_t most_bytes,
          std::size_t replicas)
      : graph_(graph), training_(training), most_bytes_(most_bytes), bytes_(replicas, 0) {
    owners_.of_op.assign(at(graph.op_count()), kEverybody);
    owners_.of_tensor.assign(at(graph.tensor_count()), kEverybody);
    owners_.bucket.assign(at(graph.op_count()), 0);
    bucket_of_.assign(at(graph.tensor_count()), -1);
    after_.assign(at(graph.op_count()), false);
  }

  Owners run(const std::vector<std::vector<Training::Gradient>>& buckets) {
    std::int64_t bytes = 0, count = 0;
    for (const auto& gradient : training_.gradients) {
      // An op with several updates in its body has them in every replica.
      if (gradient.sparse || graph_.bytes(gradient.tensor) > most_bytes_ ||
          ops::changes_variable_within(graph_, gradient.update)) {
        owner_.emplace(variable_of(gradient), kEverybody);
        continue;
      }
      bytes += graph_.bytes(gradient.tensor);
      ++count;
    }
    // Updates of small variables take their launches.
    each_bytes_ = bytes / std::max<std::int64_t>(1, count);
    for (std::size_t b = 0; b < buckets.size(); ++b) share(b, buckets[b]);
    forwards();
    backwards();
    return std::move(owners_);
  }

 private:
  std::string variable_of(const Training::Gradient& gradient) const {
    const std::string& colocation = graph_.colocation(gradient.update);
    return colocation.empty() ? cat("#", gradient.update) : colocation;
  }

  /// The largest first, to the replica that has least of this bucket, then of all.
  void share(std::size_t bucket, std::vector<Training::Gradient> gradients) {
    std::stable_sort(gradients.begin(), gradients.end(), [&](const auto& a, const auto& b) {
      return graph_.bytes(a.tensor) > graph_.bytes(b.tensor);
    });
    std::vector<std::int64_t> here(bytes_.size(), 0);
    for (const auto& gradient : gradients) {
      bucket_of_[at(gradient.tensor)] = static_cast<std::int32_t>(bucket);
      std::size_t least = 0;
      for (std::size_t r = 1; r < bytes_.size(); ++r) {
        if (std::pair(here[r], bytes_[r]) < std::pair(here[least], bytes_[least])) least = r;
      }
      const auto [known, added] =
          owner_.emplace(variable_of(gradient), static_cast<std::int32_t>(least));
      owners_.of_tensor[at(gradient.tensor)] = known->second;
      if (known->second == kEverybody) continue;
      const std::int64_t bytes = each_bytes_ + graph_.bytes(gradient.tensor);
      here[at(known->second)] += bytes;
      bytes_[at(known->second)] += bytes;
    }
  }

  /// From the reduced gradients to the updates.
  void forwards() {
    for (const OpId op : graph_.topological_order()) {
      std::set<std::int32_t> from;
      std::int32_t last = 0;
      bool after = training_.reads_reduced[at(op)];
      for (const TensorId tensor : graph_.inputs(op)) {
        if (tensor == kNoTensor) continue;
        const bool gradient = training_.reads_reduced[at(op)] && bucket_of_[at(tensor)] >= 0;
        const OpId producer = graph_.producer(tensor);
        const bool follows = producer != kNoOp && after_[at(producer)];
        if (!gradient && !follows) continue;
        after = true;
        const std::int32_t owner =
            gradient ? owners_.of_tensor[at(tensor)] : owners_.of_op[at(producer)];
        if (owner == kEverybody) continue;
        from.insert(owner);
        last = std::max(last, gradient ? bucket_of_[at(tensor)] : owners_.bucket[at(producer)]);
      }
      after_[at(op)] = after;
      if (from.size() != 1 || ops::changes_variable_within(graph_, op)) continue;
      owners_.of_op[at(op)] = *from.begin();
      owners_.bucket[at(op)] = last;
    }
  }

  /// Moments and learning rates that an owner alone reads are its own.
  void backwards() {
    std::vector<bool> reduced(at(graph_.op_count()), false);
    for (const auto& gradient : training_.gradients) {
      if (const OpId op = graph_.producer(gradient.tensor); op != kNoOp) reduced[at(op)] = true;
    }
    const auto order = graph_.topological_order();
    for (auto op = order.rbegin(); op != order.rend(); ++op) {
      if (after_[at(*op)] || reduced[at(*op)] || graph_.is_input(*op) || graph_.is_constant(*op) ||
          graph_.outputs(*op).empty()) {
        continue;
      }
      std::set<std::int32_t> readers;
      for (const Edge& edge : graph_.out_edges(*op)) readers.insert(owners_.of_op[at(edge.dst)]);
      if (readers.size() == 1) owners_.of_op[at(*op)] = *readers.begin();
    }
  }

  const Graph& graph_;
  const Training& training_;
  std::int64_t most_bytes_;
  std::int64_t each_bytes_ = 0;  // that an update counts beside its own
  Owners owners_;
  std::map<std::string, std::int32_t> owner_;  // by variable
  std::vector<std::int64_t> bytes_;            // by owner
  std::vector<std::int32_t> bucket_of_;        // by tensor
  std::vector<bool> after_;                    // by op: it follows from reduced gradients
};

}  // namespace

bool can_share_updates(const Graph& graph) {
  return graph.dialect() == "tf" && graph.states().empty();
}

Owners share_updates(const Graph& graph, const Training& training,
                     const std::vector<std::vector<Training::Gradient>>& buckets,
                     std::int64_t most_bytes, std::size_t replicas) {
  return Sharing(graph, training, most_bytes, replicas).run(buckets);
}

std::vector<std::int32_t> update_levels(const Graph& graph, const Training& training) {
  std::vector<std::int32_t> level(at(graph.op_count()), 0);
  for (const OpId op : graph.topological_order()) {
    for (const Edge& edge : graph.in_edges(op)) {
      const std::int32_t behind = training.updates[at(edge.src)] ? 1 : 0;
      level[at(op)] = std::max(level[at(op)], level[at(edge.src)] + behind);
    }
  }
  return level;
}

std::int64_t handed_bytes(const Graph& graph, const Owners& owners, OpId update) {
  std::int64_t bytes = 0;
  for (const TensorId tensor : graph.inputs(update)) {
    const OpId producer = tensor == kNoTensor ? kNoOp : graph.producer(tensor);
    if (producer == kNoOp || graph.is_constant(producer) || !graph.inputs(producer).empty() ||
        owners.of_op[at(producer)] != kEverybody) {
      continue;
    }
    bytes += std::max(graph.bytes(tensor), graph.stated_param_bytes(producer));
  }
  return bytes;
}

}  // namespace berth
