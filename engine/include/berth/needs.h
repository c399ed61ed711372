/// @file
/// Needs of a placement by device, for those who are told that it does not fit.
#pragma once

#include <string>

#include "berth/export.h"
#include "berth/outcome.h"

namespace berth {

/// A clause for each device with a limit that holds something: "gpu:0 needs 26.4 GiB of 8.5 GiB
/// (model.embed_tokens, model.layers.0 to 14)". The blocks are named where the graph has any (blocks.h).
/// Empty where no such device holds anything.
[[nodiscard]] BERTH_EXPORT std::string needs_text(const Outcome& outcome);

}  // namespace berth
