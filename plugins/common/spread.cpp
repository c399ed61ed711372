#include "common/spread.h"

namespace berth::policies {

std::vector<DeviceId> spread_devices(const Problem& problem, bool hosts) {
  std::vector<DeviceId> devices;
  for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
    if (hosts || !problem.cluster().device(device).host) devices.push_back(device);
  }
  return devices.empty() ? spread_devices(problem, /*hosts=*/true) : devices;
}

}  // namespace berth::policies
