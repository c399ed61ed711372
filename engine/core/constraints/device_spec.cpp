#include "constraints/device_spec.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>

namespace berth {
namespace {

bool read_number(std::string_view text, std::optional<int>& number) {
  if (text == "*") return true;
  int value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size()) return false;
  number = value;
  return true;
}

/// "gpu:1", "gpu", "*".
bool read_type(std::string_view text, DeviceSpec& spec) {
  const std::size_t colon = text.find(':');
  const std::string_view type = text.substr(0, colon);
  if (type.empty()) return false;
  if (type != "*") spec.type = type;
  return colon == text.npos || read_number(text.substr(colon + 1), spec.index);
}

bool read_part(std::string_view part, DeviceSpec& spec) {
  const auto rest_of = [&](std::string_view key) { return part.substr(key.size()); };
  if (part.starts_with("job:")) {
    if (const std::string_view job = rest_of("job:"); job != "*") spec.job = job;
    return true;
  }
  if (part.starts_with("replica:")) return read_number(rest_of("replica:"), spec.replica);
  if (part.starts_with("task:")) return read_number(rest_of("task:"), spec.task);
  return read_type(part.starts_with("device:") ? rest_of("device:") : part, spec);
}

template <typename Part>
bool agree_in(const std::optional<Part>& a, const std::optional<Part>& b) {
  return !a || !b || *a == *b;
}

}  // namespace

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::optional<DeviceSpec> parse_device_spec(std::string_view text) {
  const std::string small = lower(text);
  DeviceSpec spec;
  for (std::string_view rest = small; !rest.empty();) {
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    if (slash > 0 && !read_part(rest.substr(0, slash), spec)) return std::nullopt;
    rest.remove_prefix(std::min(slash + 1, rest.size()));
  }
  return spec;
}

bool agree(const DeviceSpec& a, const DeviceSpec& b) {
  return agree_in(a.job, b.job) && agree_in(a.replica, b.replica) && agree_in(a.task, b.task) &&
         agree_in(a.type, b.type) && agree_in(a.index, b.index);
}

}  // namespace berth
