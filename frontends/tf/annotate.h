// Writes placements into graphs of TensorFlow.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "berth/cluster.h"
#include "berth/graph.h"
#include "berth/problem.h"
#include "tf/model_file.h"
#include "tf/program.h"

namespace berth::tf_frontend {

/// TensorFlow's names of the devices: "/device:GPU:1" for "gpu:1", and likewise for CPUs and TPUs. A
/// name with a '/' stays as it is. Otherwise the host's devices become CPUs and the others GPUs, in
/// the cluster's order with the first numbers that no other has. Empty for a neural processor.
[[nodiscard]] std::vector<std::string> tensorflow_devices(const Cluster& cluster);
/// Likewise for a file with `placement`. Throws Error(unsupported) where that has ops on a device
/// without a name, or on two of one name.
[[nodiscard]] std::vector<std::string> tensorflow_devices(const Cluster& cluster,
                                                          const Placement& placement);

/// Devices by node: of the graph's own nodes, and of those in bodies of functions.
class NodeDevices {
 public:
  /// Follows `placement` of `graph` back to the nodes of the file. Nodes of a loop go where its op
  /// is, weights where their first reader is, nodes that are not of the graph where those are that
  /// TensorFlow co-locates them with. Throws Error(invalid_argument) if no op of the graph
  /// is in the file, and Error(unsupported) for a function whose calls are placed differently.
  NodeDevices(Library& library, const Graph& graph, const Cluster& cluster,
              const Placement& placement);

  /// Empty if the node is not placed.
  [[nodiscard]] std::optional<std::string> operator()(std::string_view function,
                                                      std::string_view node) const;

 private:
  void place(const Program& program, std::size_t node, const std::string& device,
             const std::string& file);

  using ByNode = std::unordered_map<std::string_view, std::string>;
  std::unordered_map<std::string_view, ByNode> by_function_;  // "" = the graph
};

/// The file's bytes with the devices of its nodes set and every other byte kept: binary for binary
/// (only device fields and the lengths around them change), text for text.
[[nodiscard]] std::string set_devices(const ModelFile& file, const NodeDevices& devices);

}  // namespace berth::tf_frontend
