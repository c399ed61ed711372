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

/// A training step whose replicas are written. All must outlive the call.
struct ReplicaSource {
  const ModelFile& file;
  const Library& library;
  const Selection& selection;  ///< of the step
  const Program& program;      ///< of the step, inferred at the whole batch
  const std::optional<FixedBatch>& fixed;
  const berth::Graph& graph;  ///< made of `program`
  const Training& training;
};

/// Its replicas and where they are. All must outlive the call.
struct PlacedReplicas {
  const std::vector<std::int64_t>& shares;
  const Cluster& cluster;
  const Placement& placement;
};

/// Throws Error(unsupported), with the fix, where gradients or the batch are within functions or loops: no replicas
/// of such a step can be written.
void check_replicas(const ReplicaSource& source);

/// A binary GraphDef, as ReplicaWriter::write_replicas says. Throws what check_replicas does.
[[nodiscard]] std::string replicated_graph(const ReplicaSource& source,
                                           const PlacedReplicas& placed);

}  // namespace berth::tf_frontend
