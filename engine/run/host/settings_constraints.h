// Constraints as settings write them in JSON.
#pragma once

#include <vector>

#include "berth/constraints.h"
#include "files/json_reader.h"

namespace berth {

/// [{ "pin": "conv1/.*", "to": "gpu:0" }, ...]. Each rule's text is as its author wrote it. Throws
/// Error(invalid_file).
[[nodiscard]] std::vector<ConstraintRule> read_constraints(const JsonReader& list);
/// The other way round: what read_constraints makes the same rules of.
[[nodiscard]] nlohmann::ordered_json written_constraints(const std::vector<ConstraintRule>& rules);

}  // namespace berth
