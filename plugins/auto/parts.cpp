#include "auto/parts.h"

#include <set>
#include <string>
#include <utility>

namespace berth::policies::auto_policy {

Part part_of_machine(const Problem& problem, DeviceId divisor) {
  const Cluster& cluster = problem.cluster();
  std::vector<DeviceId> wanted(at(cluster.kind_count()), 0);
  for (DeviceId d = 0; d < cluster.device_count(); ++d) ++wanted[at(cluster.kind_of(d))];
  for (DeviceId& count : wanted) count = (count + divisor - 1) / divisor;
  Part part;
  std::vector<Device> devices;
  std::set<std::string> names{"*"};
  for (DeviceId d = 0; d < cluster.device_count(); ++d) {
    const Device& device = cluster.device(d);
    if (!device.host && wanted[at(cluster.kind_of(d))]-- <= 0) continue;
    part.devices.push_back(d);
    devices.push_back(device);
    names.insert(device.name);
  }
  std::vector<LinkSpec> links;
  for (const LinkSpec& link : cluster.links()) {
    if (names.contains(link.src) && names.contains(link.dst)) links.push_back(link);
  }
  // The first device of every kind is kept, so kinds have the numbers that the costs know.
  part.problem = std::make_shared<const Problem>(
      problem.shared_graph(),
      std::make_shared<const Cluster>(cluster.name(), std::move(devices), links),
      problem.shared_costs(), problem.shared_groups(), problem.options());
  return part;
}

}  // namespace berth::policies::auto_policy
