// Ops in which samples of one batch meet, so that a replica has another number than one device with all of them.
#pragma once

#include <cstdint>
#include <vector>

#include "berth/graph.h"

namespace berth {

/// The facts that a study of two batches has, all of the larger one; lists are by op and by tensor.
struct SampleFacts {
  const Graph& graph;
  const Graph& smaller;
  std::int64_t batch;
  double batch_times;                       ///< by which the batch is larger than that of `smaller`
  const std::vector<bool>& scaled;          ///< by tensor: its size depends on the batch
  const std::vector<bool>& reads_whole;     ///< by op: on what was gathered
  const std::vector<bool>& of_samples;      ///< by op: depends on what the samples are
  const std::vector<bool>& reaches_update;  ///< by op
};

struct Meetings {
  std::vector<OpId> sure, possible;  ///< see Training; in the graph's order
};
[[nodiscard]] Meetings find_meetings(const SampleFacts& facts);

}  // namespace berth
