// Columns of a step: runs of ops that follow each other from its begin to its end.
#pragma once

#include <memory>

#include "berth/problem.h"

namespace berth::policies::auto_policy {

/// Chains as groups: every op follows its heaviest input that no other op follows yet; among inputs as heavy, the one
/// whose readers share most of their inputs with it. Null where the chains are fewer than the devices or too short to be columns.
[[nodiscard]] std::shared_ptr<const Groups> chains_of(const Problem& problem);

}  // namespace berth::policies::auto_policy
