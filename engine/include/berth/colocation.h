/// @file
/// Co-location that a model brings, and what is left of it without gradients and updates.
#pragma once

#include <memory>

#include "berth/export.h"
#include "berth/graph.h"

namespace berth {

/// The graph in which ops that wait, at last, for any from outside of their co-location class are free. A
/// variable and what reads it alone stay together; a gradient need no longer be beside its op
/// (colocate_gradients_with_ops of TensorFlow 1), nor an update beside its variable. Both lead back to
/// where the step began, so that no grouping is without cycles; Addanki et al., NeurIPS 2019, place
/// graphs without. Placements of it are not what TensorFlow runs, and an update away from its variable
/// costs nothing. Ops keep their order and all their other properties.
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Graph> free_gradients(const Graph& graph);

}  // namespace berth
