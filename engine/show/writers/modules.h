// The modules of the network that a graph was exported from, by the names of its parameters.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "berth/cluster.h"
#include "berth/graph.h"
#include "berth/placement.h"

namespace berth::writers {

/// A module that holds parameters of its own: "model.layers.0.mlp.up_proj".
struct Module {
  std::int64_t bytes = 0;       ///< of its parameters
  std::map<DeviceId, OpId> on;  ///< the devices that read them, each with an op that does
  [[nodiscard]] bool split() const { return on.size() > 1; }
  [[nodiscard]] DeviceId device() const { return on.begin()->first; }
};

/// Modules by name, without the part that names the parameter itself. Exporters keep the names of
/// parameters; those that they compute ("onnx::MatMul_12") count for the scope of the op that reads
/// them. Throws Error(unsupported) where no parameter has the name of a module.
[[nodiscard]] std::map<std::string, Module> modules_of(const Graph& graph,
                                                       const Placement& placement);

/// The parts of a module's name.
[[nodiscard]] std::vector<std::string> parts_of(const std::string& module);

/// The layers of a decoder: what stands in a module's name before a number, "model.layers" say, for
/// the list with the most parameters. kNoLayerNumber: the module is in none of them.
inline constexpr int kNoLayerNumber = -1;
struct DecoderLayers {
  std::string list;
  int count = 0;
  /// The number in a module's name; the text behind it goes to `rest`.
  [[nodiscard]] int number(const std::string& module, std::string& rest) const;
};
/// Throws Error(unsupported) where no module is in a numbered list.
[[nodiscard]] DecoderLayers decoder_layers(const std::map<std::string, Module>& modules);

/// The device with most of the parameters of each layer, and whether another has some.
struct LayerPlan {
  std::vector<DeviceId> device;
  std::vector<bool> rounded;
};
[[nodiscard]] LayerPlan layer_plan(const std::map<std::string, Module>& modules,
                                   const DecoderLayers& layers);

/// The number of a device among those that are no host; -1 for a host.
[[nodiscard]] int accelerator_number(const Cluster& cluster, DeviceId device);

}  // namespace berth::writers
