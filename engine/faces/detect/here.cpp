#include "detect/here.h"

#include "berth/files.h"
#include "detect/detected_machine.h"

namespace berth::detect {
namespace {

constexpr std::string_view kHere = "here";

const std::string& this_machine() {
  static const std::string text = cluster_json(machine_of(read_machine()));
  return text;
}

void find(std::string& machine) {
  if (machine == kHere) machine = this_machine();
}

}  // namespace

std::shared_ptr<const Cluster> load_machine(const std::string& machine) {
  return load_cluster(machine == kHere ? this_machine() : machine);
}

void find_here(Settings& settings) {
  if (settings.cluster) find(*settings.cluster);
  if (!settings.clusters) return;
  for (std::string& machine : *settings.clusters) find(machine);
}

}  // namespace berth::detect
