#include <algorithm>

#include "berth/sdk/environment.h"
#include "berth/support/index.h"

namespace berth {
PartialSchedule::PartialSchedule(const Problem& problem)
    : problem_(problem),
      put_(at(problem.groups().count())),
      free_us_(at(problem.cluster().device_count()), 0.0),
      load_us_(free_us_) {}

void PartialSchedule::put(GroupId group, DeviceId device) {
  put_[at(group)] = {device, end_us(group, device)};
  free_us_[at(device)] = put_[at(group)].end_us;
  load_us_[at(device)] += problem_.group_cost_us(group, device);
}

double PartialSchedule::ready_us(GroupId group, DeviceId device) const {
  double ready = 0;
  for (const Groups::Edge& edge : problem_.groups().in_edges(group)) {
    const Put& src = put_[at(edge.src)];
    if (src.device == kNoDevice) continue;
    const double transfer_us =
        src.device == device ? 0
                             : problem_.cluster().route(src.device, device).transfer_us(edge.bytes);
    ready = std::max(ready, src.end_us + transfer_us);
  }
  return ready;
}

double PartialSchedule::end_us(GroupId group, DeviceId device) const {
  return std::max(free_us_[at(device)], ready_us(group, device)) +
         problem_.group_cost_us(group, device);
}

double PartialSchedule::free_us(DeviceId device) const {
  return free_us_[at(device)];
}

double PartialSchedule::load_us(DeviceId device) const {
  return load_us_[at(device)];
}

}  // namespace berth
