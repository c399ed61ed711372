#include "berth/sdk/separation.h"

#include <algorithm>

#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "constraints/separation_search.h"

namespace berth {

SeparationTracker::SeparationTracker(const Problem& problem, const GroupPlacement& placement)
    : devices_(at(problem.cluster().device_count())) {
  for (std::size_t s = 0; s < problem.separations().size(); ++s) {
    const auto& parts = problem.separations()[s].parts;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      for (const GroupId group : parts[part]) {
        labels_[group].emplace_back(s, static_cast<std::int32_t>(part));
        groups_.push_back(group);
      }
    }
  }
  std::sort(groups_.begin(), groups_.end());
  groups_.erase(std::unique(groups_.begin(), groups_.end()), groups_.end());
  for (const GroupId group : groups_) move(group, kNoDevice, placement[group]);
}

bool SeparationTracker::may_be_on(GroupId group, DeviceId device) const {
  if (groups_.empty()) return true;
  const auto labels = labels_.find(group);
  if (labels == labels_.end()) return true;
  for (const auto& [separation, part] : labels->second) {
    const auto present = present_.find(key(separation, device));
    if (present == present_.end()) continue;
    for (const Presence& there : present->second) {
      if (there.part != part && there.groups > 0) return false;
    }
  }
  return true;
}

void SeparationTracker::move(GroupId group, DeviceId from, DeviceId to) {
  if (groups_.empty()) return;
  const auto labels = labels_.find(group);
  if (labels == labels_.end()) return;
  for (const auto& [separation, part] : labels->second) {
    const auto count = [&, part = part](std::vector<Presence>& present, std::int32_t change) {
      const auto there = std::find_if(present.begin(), present.end(),
                                      [&](const Presence& p) { return p.part == part; });
      if (there == present.end()) {
        present.push_back({part, change});
      } else {
        there->groups += change;
      }
    };
    if (from != kNoDevice) count(present_[key(separation, from)], -1);
    if (to != kNoDevice) count(present_[key(separation, to)], 1);
  }
}

std::vector<std::pair<GroupId, DeviceId>> separated_devices(const Problem& problem,
                                                            const GroupPlacement& placement) {
  if (problem.separations().empty()) return {};
  std::vector<SeparationSearch::Parts> separations;
  for (const Problem::Separation& separation : problem.separations()) {
    separations.push_back(separation.parts);
  }
  SeparationSearch search(
      problem.cluster().device_count(), separations,
      [&](GroupId group, DeviceId device) { return problem.can_run(group, device); });
  for (const SeparationSearch::Parts& parts : separations) {
    for (const std::vector<GroupId>& part : parts) {
      for (const GroupId group : part) {
        const DeviceId device = placement[group];
        if (device != kNoDevice) search.prefer(group, device);
      }
    }
  }
  if (search.run() != SeparationSearch::Result::found) {
    throw Error(ErrorCode::infeasible,
                cat("no devices of cluster '", problem.cluster().name(), "' were found that keep ",
                    "apart what the constraints separate; separate fewer ops, pin some of them, or "
                    "add devices"));
  }
  return search.devices();
}

}  // namespace berth
