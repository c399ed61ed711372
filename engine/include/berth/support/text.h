/// @file
/// Building messages.
#pragma once

#include <algorithm>
#include <numeric>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

/// The parts one after the other, as operator<< writes them.
template <typename... Parts>
[[nodiscard]] std::string cat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

/// "a, b, c"; at most `limit` items, then "... (12 more)".
[[nodiscard]] inline std::string join(const std::vector<std::string>& items,
                                      std::size_t limit = 20) {
  std::string out;
  for (std::size_t i = 0; i < items.size() && i < limit; ++i) {
    if (i > 0) out += ", ";
    out += items[i];
  }
  if (items.size() > limit) out += cat(", ... (", items.size() - limit, " more)");
  return out;
}

/// The names in a list such as "topo,heft": what stands between the commas, empty ones left out.
[[nodiscard]] inline std::vector<std::string> split_names(std::string_view list) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) names.emplace_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

namespace detail {

/// Letters to insert, remove, replace or swap with their neighbour until one is the other, each letter at
/// most once: the optimal string alignment.
[[nodiscard]] inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substituted});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace detail

/// The item of `known` nearest to `name` by edit distance where it is near enough to be a likely
/// misspelling, else empty.
[[nodiscard]] inline std::string closest_name(std::string_view name,
                                              const std::vector<std::string>& known) {
  // Long names (op names of a model) are not worth a quadratic comparison with each other.
  constexpr std::size_t kLongest = 64;
  constexpr std::size_t kMostNames = 1000;
  if (name.size() > kLongest || known.size() > kMostNames) return {};
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : known) {
    if (candidate.size() > kLongest) continue;
    const std::size_t distance = detail::edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

/// "; did you mean 'topo'? Known: random, single, topo." for messages about an unknown name; at
/// most `limit` are listed.
[[nodiscard]] inline std::string known_names(std::string_view name, std::vector<std::string> known,
                                             std::size_t limit = 20) {
  std::sort(known.begin(), known.end());
  const std::string near = closest_name(name, known);
  std::string out = near.empty() ? "." : cat("; did you mean '", near, "'?");
  return out + " Known: " + (known.empty() ? std::string("none") : join(known, limit)) + ".";
}

}  // namespace berth
