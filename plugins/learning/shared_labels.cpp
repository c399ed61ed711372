#include "learning/shared_labels.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace berth::learning {
namespace {

/// Gives each of several sets of groups its number of labels: one, and the rest by their sizes.
std::vector<std::int64_t> shares_of(const std::vector<std::int64_t>& sizes, std::int64_t capacity) {
  std::vector<std::int64_t> shares(sizes.size(), 1);
  for (auto left = capacity - static_cast<std::int64_t>(sizes.size()); left > 0; --left) {
    std::size_t fullest = 0;
    for (std::size_t i = 1; i < sizes.size(); ++i) {
      if (sizes[i] * shares[fullest] > sizes[fullest] * shares[i]) fullest = i;
    }
    ++shares[fullest];
  }
  return shares;
}

}  // namespace

std::vector<std::int32_t> shared_labels(const Problem& problem, std::int64_t capacity) {
  const std::int64_t count = problem.groups().count();
  std::vector<std::int32_t> labels(static_cast<std::size_t>(count));
  std::iota(labels.begin(), labels.end(), 0);
  if (count <= capacity) return labels;
  std::map<std::vector<bool>, std::vector<GroupId>> alike;
  for (GroupId group = 0; group < count; ++group) {
    std::vector<bool> able;
    for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
      able.push_back(problem.can_run(group, device));
    }
    alike[std::move(able)].push_back(group);
  }
  if (static_cast<std::int64_t>(alike.size()) > capacity) {
    std::int64_t position = 0;
    for (const auto& [able, groups] : alike) {
      for (const GroupId group : groups) {
        labels[static_cast<std::size_t>(group)] =
            static_cast<std::int32_t>(position++ * capacity / count);
      }
    }
    return labels;
  }
  std::vector<std::int64_t> sizes;
  for (const auto& [able, groups] : alike) sizes.push_back(std::ssize(groups));
  std::vector<std::int64_t> shares = shares_of(sizes, capacity);
  std::int64_t first = 0;
  auto share = shares.begin();
  for (const auto& [able, groups] : alike) {
    for (std::int64_t i = 0; i < std::ssize(groups); ++i) {
      labels[static_cast<std::size_t>(groups[static_cast<std::size_t>(i)])] =
          static_cast<std::int32_t>(first + i * *share / std::ssize(groups));
    }
    first += *share++;
  }
  return labels;
}

}  // namespace berth::learning
