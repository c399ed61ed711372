// Rules as text, for messages.
#pragma once

#include <string>
#include <vector>

#include "berth/constraints.h"

namespace berth {

/// The rule as its author wrote it, else as to_text has it.
[[nodiscard]] std::string shown(const ConstraintRule& rule);

/// The same for the rules of these numbers.
[[nodiscard]] std::vector<std::string> shown(const std::vector<ConstraintRule>& rules,
                                             const std::vector<std::size_t>& which);

/// "one; another; and 3 more": rules hold commas.
[[nodiscard]] std::string listed(const std::vector<std::string>& items);

}  // namespace berth
