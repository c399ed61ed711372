// Steps of LSTM layers that are written in elementary ops.
#pragma once

#include <cstdint>
#include <vector>

#include "berth/costs.h"
#include "berth/graph.h"

namespace berth::layers {

using CellId = std::int32_t;
inline constexpr CellId kNoCell = -1;

struct RecurrentCells {
  std::vector<OpId> gates;        ///< by cell: the Split; in topological order
  std::vector<TensorId> weights;  ///< by cell; kNoTensor if none is seen
  std::vector<CellId> of;         ///< by op
};

/// The parameter or variable that `op` reads, directly or through views; kNoTensor if there is
/// none.
[[nodiscard]] TensorId weights_of(const Graph& graph, OpId op);

/// `op_class` and `forward` by op.
[[nodiscard]] RecurrentCells find_recurrent_cells(const Graph& graph,
                                                  const std::vector<OpClass>& op_class,
                                                  const std::vector<bool>& forward);

}  // namespace berth::layers
