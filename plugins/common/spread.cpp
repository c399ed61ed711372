#include "common/spread.h"

#include <algorithm>

namespace berth::policies {

std::vector<DeviceId> spread_devices(const Problem& problem, bool hosts) {
  std::vector<DeviceId> devices;
  for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
    if (hosts || !problem.cluster().device(device).host) devices.push_back(device);
  }
  return devices.empty() ? spread_devices(problem, /*hosts=*/true) : devices;
}

double fastest_us(const Problem& problem, OpId op) {
  double least = kCannotRun;
  for (KindId kind = 0; kind < problem.costs().kind_count(); ++kind) {
    least = std::min(least, problem.costs().op_us(op, kind));
  }
  return least;
}

}  // namespace berth::policies
