// Updates of variables within bodies, such as those of tf.cond where all gradients are finite.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "berth/graph.h"

namespace berth {

/// Whether a body of TensorFlow's op changes variables by what it is given, and is given nothing of the batch's size: it
/// is an update then, and gradients among its inputs are reduced before it. `scaled` is by tensor.
[[nodiscard]] bool updates_in_body(const Graph& graph, OpId op, const std::vector<bool>& scaled);

/// The reason why a graph has no updates, where bodies that change variables read samples. Otherwise empty.
[[nodiscard]] std::string updates_with_samples(const Graph& graph, const std::vector<bool>& scaled);

/// Facts that are known once the gradients are; lists are by op, or by tensor.
struct BodyFacts {
  const Graph& graph;
  const std::vector<bool>& scaled;      ///< by tensor
  const std::vector<bool>& of_samples;  ///< by op
  const std::vector<bool>& updates;     ///< by op
  const std::vector<bool>& whole;       ///< by op: the same in each replica, of what was gathered
  const std::vector<bool>& reads_reduced;  ///< by op
  const std::map<TensorId, OpId>&
      reduced;  ///< gradients whose size is not of the batch, with their updates
};

/// Replicas have the same variables only as long as they take the same branch with the same numbers. So all that a body
/// with updates is given, its condition with it, has to be made of reduced gradients, or of no samples: the
/// reason where one is not. Otherwise empty. A number of samples, such as a loss, is reduced as a gradient is; whether all
/// are finite is asked of reduced gradients, which are finite where all parts are, but for a sum that overflows:
/// that is the same in every replica, too.
[[nodiscard]] std::string own_to_body_update(const BodyFacts& facts);

}  // namespace berth
