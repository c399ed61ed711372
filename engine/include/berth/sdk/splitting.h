/// @file
/// A frontend that writes a model in parts, one per device.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "berth/cluster.h"
#include "berth/export.h"
#include "berth/graph.h"
#include "berth/placement.h"
#include "berth/types.h"

namespace berth {

/// A part of a model.
struct ModelPart {
  std::string file;  ///< in the folder
  DeviceId device = kNoDevice;
  std::vector<std::string> inputs, outputs;  ///< tensors of the model, by name
};

/// Extension of a Frontend: it writes parts. [thread-compatible]
class BERTH_EXPORT ModelSplitter {
 public:
  virtual ~ModelSplitter();

  /// Writes the model in parts that run one after the other, in the order of the result: what one gives
  /// and another takes are outputs and inputs of theirs. A device has as few parts as its ops' order
  /// allows, one where no tensor comes back to it. The folder must be there; files of the parts'
  /// names are replaced. Throws Error(unsupported) naming what cannot be cut, and the fix;
  /// Error(io); Error(invalid_argument) where `graph` is not of this model.
  [[nodiscard]] virtual std::vector<ModelPart> split(const std::filesystem::path& model,
                                                     const Graph& graph, const Cluster& cluster,
                                                     const Placement& placement,
                                                     const std::filesystem::path& folder) = 0;
};

}  // namespace berth
