// Placements of groups that need no learning.
#include <algorithm>

#include "berth/sdk/environment.h"
#include "berth/support/index.h"

namespace berth {
namespace {

/// The devices that can run `group`, in the cluster's order; a Problem has at least one.
std::vector<DeviceId> able_devices(const Problem& problem, GroupId group) {
  std::vector<DeviceId> able;
  for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
    if (problem.can_run(group, device)) able.push_back(device);
  }
  return able;
}

/// Those that compute everything they can at no more than twice the least cost.
std::vector<DeviceId> fastest_devices(const Problem& problem) {
  const DeviceId devices = problem.cluster().device_count();
  double least_us = 0;
  std::vector<double> cost_us(at(devices), 0.0);
  for (GroupId group = 0; group < problem.groups().count(); ++group) {
    double least = kCannotRun;
    for (DeviceId device = 0; device < devices; ++device) {
      least = std::min(least, problem.group_cost_us(group, device));
    }
    least_us += least;
    for (DeviceId device = 0; device < devices; ++device) {
      const double cost = problem.group_cost_us(group, device);
      cost_us[at(device)] += cost < kCannotRun ? cost : least;
    }
  }
  std::vector<DeviceId> fast;
  for (DeviceId device = 0; device < devices; ++device) {
    if (cost_us[at(device)] <= 2 * least_us) fast.push_back(device);
  }
  if (fast.empty()) fast.push_back(0);
  return fast;
}

}  // namespace

GroupPlacement zero_placement(const Problem& problem) {
  GroupPlacement placement;
  for (GroupId group = 0; group < problem.groups().count(); ++group) {
    placement.push_back(able_devices(problem, group).front());
  }
  return placement;
}

GroupPlacement random_placement(const Problem& problem, Random& random) {
  GroupPlacement placement;
  for (GroupId group = 0; group < problem.groups().count(); ++group) {
    const auto able = able_devices(problem, group);
    placement.push_back(able[random.below(able.size())]);
  }
  return placement;
}

GroupPlacement earliest_placement(const Problem& problem) {
  GroupPlacement placement;
  PartialSchedule schedule(problem);
  for (GroupId group = 0; group < problem.groups().count(); ++group) {
    DeviceId first = kNoDevice;
    double first_end_us = kCannotRun;
    for (const DeviceId device : able_devices(problem, group)) {
      const double end_us = schedule.end_us(group, device);
      if (first != kNoDevice && end_us >= first_end_us) continue;
      first = device;
      first_end_us = end_us;
    }
    schedule.put(group, first);
    placement.push_back(first);
  }
  return placement;
}

GroupPlacement group_placement(const Problem& problem, const Placement& placement) {
  GroupPlacement result = zero_placement(problem);
  for (GroupId group = 0; group < problem.groups().count(); ++group) {
    for (const OpId op : problem.groups().members(group)) {
      const DeviceId device = placement[at(op)];
      if (!problem.can_run(group, device)) continue;
      result[group] = device;
      break;
    }
  }
  return result;
}

GroupPlacement contiguous_placement(const Problem& problem) {
  GroupPlacement placement = zero_placement(problem);
  const std::vector<DeviceId> fast = fastest_devices(problem);
  for (GroupId group = 0; group < problem.groups().count(); ++group) {
    const DeviceId device = fast[at(group) * fast.size() / placement.size()];
    if (problem.can_run(group, device)) placement[group] = device;
  }
  return placement;
}

}  // namespace berth
