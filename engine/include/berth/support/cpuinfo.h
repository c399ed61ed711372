/// @file
/// The processor as Linux describes it.
#pragma once

#include <fstream>
#include <string>
#include <string_view>

namespace berth {

/// The first value of `key` in /proc/cpuinfo, such as "model name"; empty if there is none.
[[nodiscard]] inline std::string cpuinfo(std::string_view key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos) continue;
    const std::size_t value = line.find_first_not_of(" \t", colon + 1);
    return value == std::string::npos ? std::string() : line.substr(value);
  }
  return {};
}

}  // namespace berth
