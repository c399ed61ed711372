// The graph that contiguous splits cut: co-located ops as one node, cycles among them merged.
#pragma once

#include <cstdint>
#include <vector>

#include "berth/problem.h"

namespace berth::policies::dp {

using Node = std::int32_t;

/// Devices that are the same to a split: of one kind, with one memory.
struct SplitClass {
  std::vector<DeviceId> devices;  ///< in the cluster's order
  double memory_bytes;            ///< infinity: no limit, or none that counts
  bool host;                      ///< pays for transfers with other hosts alone
};

/// A tensor that some node other than its producer reads.
struct SplitTensor {
  Node producer;
  std::vector<Node> consumers;  ///< sorted, distinct, without the producer
};

/// A directed acyclic graph on nodes 0 .. count-1, numbered in a topological order that follows
/// paths: a node comes right before the first that needs it, so that neighbours in the graph are
/// neighbours in the numbering.
///
/// Nodes are the problem's groups, those on a common cycle merged: no contiguous split can cut a
/// cycle. Where more than `max_nodes` are left, neighbours in the numbering are merged further,
/// into nodes of about equal work. Immutable once built.
class SplitGraph {
 public:
  static constexpr std::size_t kMaxNodes = 1024;
  /// How many devices of each class a split may use gives a state; classes are merged (to the
  /// smaller memory) and devices left out, the most numerous first, until there are no more states
  /// than this.
  static constexpr std::size_t kMaxStates = 512;

  /// Groups that a host alone can run cannot be cut around: with a few such ops from the first layer to
  /// the last, all in between would be on the host. So there is a graph in which groups that the
  /// main devices cannot run are left out: they go wherever the node is, weigh nothing, and are for
  /// the caller to move. Where neighbours have to be merged they always are left out.
  enum class Restricted { kept, left_out };

  explicit SplitGraph(const Problem& problem, Restricted restricted = Restricted::kept,
                      std::size_t max_nodes = kMaxNodes);

  /// Whether a group was left out.
  [[nodiscard]] bool leaves_out() const noexcept { return leaves_out_; }

  [[nodiscard]] Node count() const noexcept { return static_cast<Node>(producers_.size()); }
  [[nodiscard]] const std::vector<SplitClass>& classes() const noexcept { return classes_; }
  /// Whether transfers take what they take here between any two devices, and not in the mean of unlike links.
  [[nodiscard]] bool links_alike() const noexcept { return links_alike_; }
  [[nodiscard]] const std::vector<SplitTensor>& tensors() const noexcept { return tensors_; }
  /// The nodes that must be in every ideal that holds `node`; sorted, distinct.
  [[nodiscard]] const std::vector<Node>& producers(Node node) const noexcept {
    return producers_[static_cast<std::size_t>(node)];
  }

  /// Compute time of a node on a device of a class; kCannotRun if it cannot run there. A node
  /// that no class can run weighs nothing on all of them.
  [[nodiscard]] double us(std::size_t of_class, Node node) const noexcept {
    return us_[of_class][static_cast<std::size_t>(node)];
  }
  /// Parameter bytes of a node; 0 where the problem does not count them. A parameter shared by
  /// several nodes counts in each.
  [[nodiscard]] double bytes(Node node) const noexcept {
    return bytes_[static_cast<std::size_t>(node)];
  }
  /// Time that receiving (or sending, once for all receivers) a tensor adds to the load of a device
  /// of a class: the mean over its routes, which is exact where they are alike. Those between a host
  /// and what is none count 0 on the host.
  [[nodiscard]] double receive_us(std::size_t of_class, std::size_t tensor) const noexcept {
    return receive_us_[of_class][tensor];
  }
  [[nodiscard]] double send_us(std::size_t of_class, std::size_t tensor) const noexcept {
    return send_us_[of_class][tensor];
  }

  /// Device per group of the problem from device per node.
  [[nodiscard]] GroupPlacement expand(const std::vector<DeviceId>& device_of_node) const;

 private:
  void collect_classes(const Problem& problem);
  void limit_states();
  /// Whether there were too many.
  bool merge_neighbours(const Problem& problem, std::size_t max_nodes);
  /// Whether the main devices (those of the largest class, hosts apart) cannot run each group.
  [[nodiscard]] std::vector<bool> restricted_groups(const Problem& problem) const;
  void weigh(const Problem& problem, const std::vector<bool>& left_out);
  void connect(const Problem& problem);
  void cost_transfers(const Problem& problem, const std::vector<std::int64_t>& tensor_bytes);

  bool leaves_out_ = false;
  std::vector<SplitClass> classes_;
  std::vector<Node> node_of_group_;
  std::vector<std::vector<Node>> producers_;
  std::vector<SplitTensor> tensors_;
  std::vector<std::vector<double>> us_;  // by class, node
  std::vector<double> bytes_;
  std::vector<std::vector<double>> receive_us_, send_us_;  // by class, tensor
  bool links_alike_ = true;
};

}  // namespace berth::policies::dp
