#include "berth/support/process_limits.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "berth/support/text.h"
#include "berth/types.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

/// The number behind `key`, or in a file of one where the key is empty; nothing for "max" and where there is none.
std::optional<std::int64_t> number_in(const fs::path& path, std::string_view key = {}) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    std::istringstream words(line.substr(key.size()));
    std::int64_t number = 0;
    return words >> number ? std::optional(number) : std::nullopt;
  }
  return std::nullopt;
}

/// The folders of the control groups whose limits hold: those of both versions, from the root to the process's own.
/// Within a container the own path may be one outside of it, of which nothing is there: the limits are at the
/// root then.
std::vector<fs::path> groups_with(const std::string& controller, const fs::path& root) {
  const fs::path mount = root / "sys/fs/cgroup";
  std::vector<fs::path> groups = {mount, mount / controller};
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    // "0::/path" in version 2, "4:cpu,cpuacct:/path" in version 1.
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = split_names(line.substr(first + 1, second - first - 1));
    const bool has_it =
        std::find(controllers.begin(), controllers.end(), controller) != controllers.end();
    if (!controllers.empty() && !has_it) continue;
    fs::path group = has_it ? mount / controller : mount;
    for (const fs::path& name : fs::path(line.substr(second + 1)).relative_path()) {
      if (name == "..") break;  // above what this process sees
      groups.push_back(group /= name);
    }
  }
  return groups;
}

/// In cores; infinity where there is none.
double quota_of(const fs::path& group) {
  std::ifstream file(group / "cpu.max");
  double quota_us = 0, period_us = 0;
  if (!(file >> quota_us >> period_us)) {
    quota_us = static_cast<double>(number_in(group / "cpu.cfs_quota_us").value_or(0));
    period_us = static_cast<double>(number_in(group / "cpu.cfs_period_us").value_or(0));
  }
  return quota_us > 0 && period_us > 0 ? quota_us / period_us
                                       : std::numeric_limits<double>::infinity();
}

std::int64_t kibibytes_in(const fs::path& root, std::string_view key) {
  const auto number = number_in(root / "proc/meminfo", key);
  return number ? *number * 1024 : kNoLimit;
}

std::int64_t less(std::int64_t a, std::int64_t b) {
  return a == kNoLimit ? b : std::min(a, b);
}

std::optional<std::int64_t> memory_limit_of(const fs::path& group) {
  const auto limit = number_in(group / "memory.max");
  return limit ? limit : number_in(group / "memory.limit_in_bytes");
}

}  // namespace

double usable_cores(const fs::path& root) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  double cores = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
  for (const fs::path& group : groups_with("cpu", root)) {
    cores = std::min(cores, quota_of(group));
  }
  return cores;
}

int usable_threads(const fs::path& root) {
  return std::max(1, static_cast<int>(std::lround(usable_cores(root))));
}

std::int64_t usable_memory_bytes(const fs::path& root) {
  std::int64_t bytes = kibibytes_in(root, "MemTotal:");
  for (const fs::path& group : groups_with("memory", root)) {
    if (const auto limit = memory_limit_of(group)) bytes = less(bytes, *limit);
  }
  return bytes;
}

std::int64_t free_memory_bytes(const fs::path& root) {
  std::int64_t bytes = kibibytes_in(root, "MemAvailable:");
  for (const fs::path& group : groups_with("memory", root)) {
    const auto limit = memory_limit_of(group);
    if (!limit) continue;
    auto used = number_in(group / "memory.current");
    auto files = number_in(group / "memory.stat", "inactive_file ");
    if (!used) {
      used = number_in(group / "memory.usage_in_bytes");
      files = number_in(group / "memory.stat", "total_inactive_file ");
    }
    if (!used) continue;
    bytes = less(bytes, std::max<std::int64_t>(0, *limit - *used + files.value_or(0)));
  }
  return bytes;
}

}  // namespace berth
