// Values of an enumeration by the names users give them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "berth/error.h"
#include "berth/support/text.h"

namespace berth {

/// The one of `values` that `text` gives this name. Throws Error(invalid_argument) "no <what>
/// '<name>'" with the known names.
template <typename Enum, std::size_t count>
[[nodiscard]] Enum value_by_name(const char* what, std::string_view name,
                                 const Enum (&values)[count],
                                 std::string_view (*text)(Enum) noexcept) {
  std::vector<std::string> known;
  for (const Enum value : values) {
    if (text(value) == name) return value;
    known.emplace_back(text(value));
  }
  throw Error(ErrorCode::invalid_argument,
              cat("no ", what, " '", name, "'", known_names(name, std::move(known))));
}

}  // namespace berth
