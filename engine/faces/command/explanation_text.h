// Explanations as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "berth/explanation.h"

namespace berth::command {

[[nodiscard]] std::string placement_explanation_text(const Outcome& outcome);
[[nodiscard]] nlohmann::ordered_json placement_explanation_json(const Outcome& outcome);
[[nodiscard]] std::string op_explanation_text(const Outcome& outcome, const OpExplanation& op);
[[nodiscard]] nlohmann::ordered_json op_explanation_json(const Outcome& outcome,
                                                         const OpExplanation& op);

}  // namespace berth::command
