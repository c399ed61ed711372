#include "support/text.h"

#include <algorithm>
#include <numeric>

namespace berth {

std::string join(const std::vector<std::string>& items, std::size_t limit) {
  std::string out;
  for (std::size_t i = 0; i < items.size() && i < limit; ++i) {
    if (i > 0) out += ", ";
    out += items[i];
  }
  if (items.size() > limit) out += cat(", ... (", items.size() - limit, " more)");
  return out;
}

namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string closest_name(std::string_view name, const std::vector<std::string>& known) {
  // Long names (op names of a model) are not worth a quadratic comparison with each other.
  constexpr std::size_t kLongest = 64;
  constexpr std::size_t kMostNames = 1000;
  if (name.size() > kLongest || known.size() > kMostNames) return {};
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : known) {
    if (candidate.size() > kLongest) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string known_names(std::string_view name, std::vector<std::string> known, std::size_t limit) {
  std::sort(known.begin(), known.end());
  const std::string near = closest_name(name, known);
  std::string out = near.empty() ? "." : cat("; did you mean '", near, "'?");
  return out + " Known: " + (known.empty() ? std::string("none") : join(known, limit)) + ".";
}

}  // namespace berth
