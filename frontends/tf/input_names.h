// Inputs as callers of a signature name them: 'ids' for the placeholder 'serving_default_ids'.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "berth/frontend.h"
#include "tf/graph_def.h"
#include "tf/model_file.h"

namespace berth::tf_frontend {

/// The names of the inputs that a step needs. A node's own name goes before a signature's.
class InputNames {
 public:
  /// `needed` is indexed by node of the graph.
  InputNames(const MetaInfo& meta, const GraphDef& graph, const std::vector<bool>& needed);

  /// The options with nodes in the place of callers' names, in shapes ("ids") and dimensions ("ids/1").
  [[nodiscard]] LoadOptions in_nodes(LoadOptions options) const;
  /// "serving_default_ids/1" with the caller's name in front: "ids/1 (serving_default_ids/1)".
  [[nodiscard]] std::string shown(const std::string& name) const;

 private:
  std::multimap<std::string, std::string> nodes_;  // by callers' names
  std::map<std::string, std::string> callers_;     // by node
};

}  // namespace berth::tf_frontend
