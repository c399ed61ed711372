// An outcome as text and as JSON, as the command prints it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "berth/outcome.h"

namespace berth::command {

/// The object that `--json` prints.
[[nodiscard]] nlohmann::ordered_json outcome_json(const Outcome& outcome);
/// Adds the three figures of a policy that learns: own_us, best_us, start_us; whose the best is.
void add_learned(const LearnedFigures& learned, nlohmann::ordered_json& json);
/// One line of JSON text; invalid UTF-8 of names is replaced.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& json);

/// Model (by its file), machine and how the costs were made, in one line.
[[nodiscard]] std::string problem_text(const std::string& model, const Problem& problem);
/// The proven bound of the outcome, and what the proof rests on. It has a certificate.
[[nodiscard]] std::string proof_text(const Outcome& outcome);
/// "optimal", or "at most 4.1 % above optimal", by that certificate.
[[nodiscard]] std::string proven_text(const Outcome& outcome);
/// Runtime, bound, comparison with one device, devices, transfers, and why.
[[nodiscard]] std::string outcome_text(const Outcome& outcome);
/// Two lines: what the step waited for and what would help.
[[nodiscard]] std::string why_text(const Outcome& outcome);
/// Links by the time they carried something, busiest first.
[[nodiscard]] std::string links_text(const Outcome& outcome);
/// The ops and transfers of the critical path, longest first, fifteen at most.
[[nodiscard]] std::string critical_path_text(const Outcome& outcome);

}  // namespace berth::command
