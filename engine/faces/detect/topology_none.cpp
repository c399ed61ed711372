#include "detect/machine_facts.h"

namespace berth::detect {

void read_topology(MachineFacts& facts) {
  facts.notes.emplace_back(
      "built without hwloc (libhwloc-dev): hyperthreads count as cores, all sockets as one, and "
      "what GPUs share of PCIe is not known");
}

}  // namespace berth::detect
