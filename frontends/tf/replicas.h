// Writes the graph of a training step's replicas.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/cluster.h"
#include "berth/graph.h"
#include "berth/placement.h"
#include "berth/replicas.h"
#include "tf/batch.h"
#include "tf/fetches.h"
#include "tf/model_file.h"
#include "tf/program.h"

namespace berth::tf_frontend {

/// All must outlive the call.
struct ReplicaSource {
  const ModelFile& file;
  const Library& library;
  const Selection& selection;  ///< of the step
  const Program& program;      ///< of the step, inferred at the whole batch
  const std::optional<FixedBatch>& fixed;
  const berth::Graph& graph;  ///< made of `program`
  const Training& training;
  const std::vector<std::int64_t>& shares;
  const Cluster& cluster;
  const Placement& placement;
};

/// A binary GraphDef, as ReplicaWriter::write_replicas says. Throws Error(unsupported) where gradients or the
/// batch are within functions or loops.
[[nodiscard]] std::string replicated_graph(const ReplicaSource& source);

}  // namespace berth::tf_frontend
