// Which part of a file is the step: the train op, or what else it computes.
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

/// The nodes that `fetches` ("name", "name:port") need. Without fetches, the first of these that
/// exists: the collection train_op, with what waits for its ops and changes more variables; the ops
/// behind which all updates of an optimizer are; the outputs of the one signature that updates variables as an optimizer
/// does, else of the default one, else of all; all ops without consumers, except those that only save,
/// restore, initialise, check or summarise.
///
/// Throws Error(not_found) for an unknown fetch, and Error(invalid_graph) for an empty graph, for
/// missing inputs and for names given twice.
[[nodiscard]] Selection select(const Library& library, const MetaInfo& meta,
                               const std::vector<std::string>& fetches);

}  // namespace berth::tf_frontend
