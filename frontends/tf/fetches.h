// What of a file is the step: the train op, or what else it computes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tf/graph_def.h"
#include "tf/model_file.h"
#include "tf/program.h"

namespace berth::tf_frontend {

struct Selection {
  std::vector<bool> needed;    ///< by node of the graph
  std::vector<Fetch> fetches;  ///< what was asked for, in that order
  std::vector<std::string> notes;
};

/// The nodes that `fetches` ("name", "name:port") need. Without any, in this order: the collection
/// train_op; the ops behind which all updates of an optimizer lie; the outputs of the model's
/// signatures; all ops without consumers but those that only save, restore, initialise, check or
/// summarise.
///
/// Throws Error(not_found) for a fetch that is not there, Error(invalid_graph) for an empty graph,
/// for inputs that are not there and for names given twice.
[[nodiscard]] Selection select(const Library& library, const MetaInfo& meta,
                               const std::vector<std::string>& fetches);

}  // namespace berth::tf_frontend
