#include "heft/earliest_finish.h"

#include <algorithm>

#include "common/list_scheduling.h"

namespace berth::policies::heft {
namespace {

/// Ops placed between two looks at the clock.
constexpr std::size_t kStride = 256;

/// When `group` would be done on `device`, its ops one after the other from `first` on.
double finish_us(const Problem& problem, const Schedule& schedule, GroupId group, OpId first,
                 DeviceId device) {
  const double first_us = schedule.start_us(first, device, schedule.ready_us(first, device));
  double now_us = first_us + schedule.busy_us(first, device);
  const auto members = problem.groups().members(group);
  if (members.size() == 1) return now_us;
  for (const OpId op : members) {
    if (op == first) continue;
    now_us = std::max(now_us, schedule.ready_us(op, device)) + schedule.busy_us(op, device);
  }
  return now_us;
}

}  // namespace

Schedule schedule_by_earliest_finish(const Problem& problem, const std::vector<DeviceId>& devices,
                                     ScheduleRules rules, const PlaceContext& context) {
  Schedule schedule(problem, rules);
  const MeanTimes means(problem, devices);
  std::vector<DeviceId> candidates;
  std::size_t placed = 0;
  for (const OpId op : by_rank(problem.graph(), upward_ranks_us(problem, means))) {
    if (++placed % kStride == 0 && context.stopped()) break;
    const GroupId group = problem.groups().of(op);
    DeviceId best = schedule.device_of(group);
    if (best == kNoDevice) {
      schedule.candidates(group, devices, candidates);
      double best_us = kCannotRun;
      for (const DeviceId device : candidates) {
        const double us = finish_us(problem, schedule, group, op, device);
        if (best != kNoDevice && us >= best_us) continue;
        best = device;
        best_us = us;
      }
    }
    schedule.place(op, best);
  }
  return schedule;
}

}  // namespace berth::policies::heft
