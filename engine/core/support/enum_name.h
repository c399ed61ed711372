// Names of the values of an enumeration, in its order, and values by the names users give them.
#pragma once

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "berth/error.h"
#include "berth/support/text.h"

namespace berth {

/// Whether there is a name for each value up to `last`: what is to be asserted of the names.
template <typename Enum, std::size_t count>
[[nodiscard]] constexpr bool ends_with(const std::string_view (&)[count], Enum last) noexcept {
  return count == static_cast<std::size_t>(last) + 1;
}

/// Whether a value that a plugin gave is one of the enumeration.
template <typename Enum, std::size_t count>
[[nodiscard]] constexpr bool has_name(const std::string_view (&)[count], Enum value) noexcept {
  return static_cast<std::size_t>(value) < count;
}

template <typename Enum, std::size_t count>
[[nodiscard]] constexpr std::string_view name_of(const std::string_view (&names)[count],
                                                 Enum value) noexcept {
  return names[static_cast<std::size_t>(value)];
}

/// The value of this name. Throws Error(invalid_argument) "<none> '<name>'" with the known names.
template <typename Enum, std::size_t count>
[[nodiscard]] Enum value_by_name(const char* none, std::string_view name,
                                 const std::string_view (&names)[count]) {
  for (std::size_t i = 0; i < count; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  throw Error(ErrorCode::invalid_argument,
              cat(none, " '", name, "'", known_names(name, {std::begin(names), std::end(names)})));
}

}  // namespace berth
