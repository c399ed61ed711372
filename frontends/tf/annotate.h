// Writing placements into graphs of TensorFlow.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "berth/cluster.h"
#include "berth/graph.h"
#include "berth/problem.h"
#include "tf/model_file.h"
#include "tf/program.h"

namespace berth::tf_frontend {

/// A device as TensorFlow names it: "/device:GPU:1" of "gpu:1" (and likewise of other kinds
/// followed by a number); a name with a '/' as it is; otherwise the host's devices are CPUs and the
/// others GPUs, numbered in the cluster's order.
[[nodiscard]] std::string tensorflow_device(const Cluster& cluster, DeviceId device);

/// Devices by node: of the graph's own nodes, and of those in bodies of functions.
class NodeDevices {
 public:
  /// Follows `placement` of `graph` back to the nodes of the file. Nodes of a loop go where its op
  /// is, weights where their first reader is. Throws Error(invalid_argument) where no op of the
  /// graph is in the file, Error(unsupported) for a function whose calls are placed differently.
  NodeDevices(Library& library, const Graph& graph, const Cluster& cluster,
              const Placement& placement);

  /// Empty where the node is not placed.
  [[nodiscard]] std::optional<std::string> operator()(std::string_view function,
                                                      std::string_view node) const;

 private:
  void place(const Program& program, std::size_t node, const std::string& device,
             const std::string& file);

  using ByNode = std::unordered_map<std::string_view, std::string>;
  std::unordered_map<std::string_view, ByNode> by_function_;  // "" = the graph
};

/// The file's bytes with the device of its nodes set, every other byte kept: binary for binary
/// (device is the only field touched; lengths around it follow), text for text.
[[nodiscard]] std::string set_devices(const ModelFile& file, const NodeDevices& devices);

}  // namespace berth::tf_frontend
