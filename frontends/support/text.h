// Text for messages, and names that come from files of unknown quality.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/support/text.h"

namespace berth::frontend {

/// `name` if it is valid UTF-8 without NUL characters. Otherwise every offending byte becomes
/// "\xNN", so that the name can be printed, written as JSON and quoted in a message. A name longer
/// than 4096 bytes is cut and ends in "...".
[[nodiscard]] std::string readable(std::string_view name);

/// "'a', 'b' and 3 more": at most `shown` of `names`.
[[nodiscard]] std::string list_names(const std::vector<std::string>& names, std::size_t shown = 8);

/// The note for sizes that follow from choices of the ops `choosers` when a step runs.
[[nodiscard]] std::string largest_step_note(std::int64_t tensors,
                                            const std::set<std::string>& choosers);

/// What a person is told where inputs are guessed to be weights.
[[nodiscard]] std::string guessed_parameters_note(const std::vector<std::string>& inputs);
/// For --arguments parameters where no input is one.
[[nodiscard]] std::string no_parameters_note();

}  // namespace berth::frontend
