#include "detect/visible_gpus.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace berth::detect {
namespace {

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::optional<std::size_t> by_uuid(std::string_view beginning,
                                   const std::vector<std::string>& uuids) {
  const auto fits = [&](const std::string& uuid) { return uuid.starts_with(beginning); };
  const auto found = std::find_if(uuids.begin(), uuids.end(), fits);
  if (found == uuids.end() || std::find_if(found + 1, uuids.end(), fits) != uuids.end()) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(found - uuids.begin());
}

/// CUDA reads the digits that an entry begins with, whatever follows.
std::optional<std::size_t> by_number(std::string_view entry, std::size_t count) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), number);
  return error == std::errc() && number < count ? std::optional(number) : std::nullopt;
}

}  // namespace

std::vector<VisibleGpu> visible_gpus(std::string_view mask, const std::vector<std::string>& uuids) {
  std::vector<VisibleGpu> visible;
  for (std::size_t begin = 0; begin <= mask.size();) {
    const std::size_t end = std::min(mask.find(',', begin), mask.size());
    const std::string_view entry = trimmed(mask.substr(begin, end - begin));
    const auto gpu =
        entry.starts_with("GPU-") ? by_uuid(entry, uuids) : by_number(entry, uuids.size());
    if (!gpu) break;
    const auto same = [&](const VisibleGpu& before) { return before.gpu == *gpu; };
    if (std::any_of(visible.begin(), visible.end(), same)) return {};
    visible.push_back({*gpu, std::string(entry)});
    begin = end + 1;
  }
  return visible;
}

}  // namespace berth::detect
