// Collects everything that executing an inferred program needs besides its graph.
#pragma once

#include <memory>

#include "berth/graph.h"
#include "berth/sdk/program.h"
#include "tf/loops.h"
#include "tf/model_file.h"
#include "tf/program.h"
#include "tf/saved_values.h"

namespace berth::tf_frontend {

struct ExecutionSource {
  std::shared_ptr<const ModelFile> file;  ///< kept alive by the contents that refer to it
  Library& library;                       ///< counts the nodes of bodies
  const Program& program;
  const Loops& loops;
  std::shared_ptr<const Graph> graph;  ///< made of `program` by describe_graph
  const SavedValues& saved;
};

/// Throws Error(invalid_file) for constants that do not fit their shapes.
[[nodiscard]] std::shared_ptr<const berth::Program> make_execution(const ExecutionSource& source);

}  // namespace berth::tf_frontend
