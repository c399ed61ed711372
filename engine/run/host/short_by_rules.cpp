#include "host/short_by_rules.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "berth/support/sums.h"
#include "berth/support/text.h"
#include "constraints/rule_text.h"
#include "support/units.h"

namespace berth {
namespace {

using Devices = std::vector<bool>;

/// The devices that rules and kinds leave to a group.
Devices devices_of(const Problem& problem, GroupId group) {
  Devices devices;
  for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
    devices.push_back(problem.can_run(group, device));
  }
  return devices;
}

/// Groups that must be on these devices or on some of them, and what stays there of theirs.
struct Confined {
  std::vector<GroupId> groups;
  std::int64_t bytes = 0;
};

Confined confined_to(const std::map<Devices, Confined>& by_devices, const Devices& devices) {
  Confined all;
  for (const auto& [some, confined] : by_devices) {
    bool within = true;
    for (std::size_t i = 0; i < some.size(); ++i) within = within && (!some[i] || devices[i]);
    if (!within) continue;
    all.groups.insert(all.groups.end(), confined.groups.begin(), confined.groups.end());
    all.bytes = saturating_sum(all.bytes, confined.bytes);
  }
  return all;
}

/// The rules that keep the groups off the other devices.
std::vector<std::string> rules_against(const Problem& problem, const std::vector<GroupId>& groups,
                                       const Devices& devices) {
  const Constraints& constraints = *problem.constraints();
  std::set<std::size_t> rules;
  for (const GroupId group : groups) {
    for (std::size_t device = 0; device < devices.size(); ++device) {
      if (devices[device]) continue;
      for (const std::size_t rule : constraints.rules_against(
               problem.groups().members(group).front(), static_cast<DeviceId>(device))) {
        rules.insert(rule);
      }
    }
  }
  return shown(constraints.rules(), {rules.begin(), rules.end()});
}

}  // namespace

std::string short_by_rules_text(const Problem& problem) {
  if (problem.constraints() == nullptr) return {};
  std::map<Devices, Confined> by_devices;
  for (GroupId group = 0; group < problem.groups().count(); ++group) {
    Confined& confined = by_devices[devices_of(problem, group)];
    confined.groups.push_back(group);
    confined.bytes = saturating_sum(confined.bytes, problem.group_param_bytes(group));
  }
  for (const auto& [devices, own] : by_devices) {
    std::vector<std::string> names;
    std::int64_t room = 0;
    for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
      if (!devices[static_cast<std::size_t>(device)]) continue;
      names.push_back(problem.cluster().device(device).name);
      room = saturating_sum(room, problem.memory_bytes(device));
    }
    const Confined all = confined_to(by_devices, devices);
    if (all.bytes <= room) continue;
    const std::vector<std::string> rules = rules_against(problem, all.groups, devices);
    if (rules.empty()) continue;
    return cat(rules.size() == 1 ? "the constraint " : "the constraints ", listed(rules),
               rules.size() == 1 ? " leaves " : " leave ", format_bytes(all.bytes),
               " of parameters, inputs and results to ", join(names), ", with room for ",
               format_bytes(room));
  }
  return {};
}

}  // namespace berth
