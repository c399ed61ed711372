// Building messages.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

/// Concatenates anything an ostream takes.
template <typename... Parts>
[[nodiscard]] std::string cat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

/// "a, b, c"; at most `limit` items, then "... (12 more)".
[[nodiscard]] std::string join(const std::vector<std::string>& items, std::size_t limit = 20);

/// The item of `known` nearest to `name` by edit distance where it is near enough to be a likely
/// misspelling, else empty.
[[nodiscard]] std::string closest_name(std::string_view name,
                                       const std::vector<std::string>& known);

/// "; did you mean 'topo'? Known: random, single, topo" for messages about an unknown name; at most
/// `limit` are listed.
[[nodiscard]] std::string known_names(std::string_view name, std::vector<std::string> known,
                                      std::size_t limit = 20);

/// Sum of sizes; false on overflow (and `sum` is left alone).
[[nodiscard]] inline bool add_bytes(std::int64_t& sum, std::int64_t bytes) noexcept {
  return !__builtin_add_overflow(sum, bytes, &sum);
}

}  // namespace berth
