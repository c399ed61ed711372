// A machine's facts as a cluster.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "berth/cluster.h"
#include "detect/machine_facts.h"

namespace berth::detect {

struct DetectedMachine {
  std::shared_ptr<const Cluster> cluster;
  std::vector<std::string> device_sources;  ///< of each device's figures
  std::vector<std::string> link_sources;    ///< of each of cluster->links()
  std::vector<std::string> notes;           ///< figures that are missing or stand for others
};

/// The host, all sockets as one device, then the GPUs, as in the built-in machines.
[[nodiscard]] DetectedMachine machine_of(const MachineFacts& facts);

/// berth.cluster/1 with the sources of its figures.
[[nodiscard]] std::string cluster_json(const DetectedMachine& machine);

}  // namespace berth::detect
