#include "cpu/machine.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

#include "berth/support/cpuinfo.h"
#include "berth/support/process_limits.h"

namespace berth::cpu {

Machine this_machine() {
  Machine machine;
  machine.processor = processor_name(cpuinfo);
  if (machine.processor.empty()) machine.processor = "unknown processor";
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &allowed)) machine.cores.push_back(core);
    }
  }
  if (machine.cores.empty()) machine.cores.push_back(0);
  const std::string mhz = cpuinfo("cpu MHz");
  const double hertz = mhz.empty() ? 2e9 : std::strtod(mhz.c_str(), nullptr) * 1e6;
  // Threads beyond the quota would wait for one another's time.
  const auto busy = static_cast<std::size_t>(usable_threads());
  if (machine.cores.size() > busy) machine.cores.resize(busy);
  const double share = std::min(1.0, usable_cores() / static_cast<double>(machine.cores.size()));
  machine.core_flops = share * hertz * vector_units(cpuinfo).f32_per_cycle;
  machine.memory_bytes = usable_memory_bytes();
  return machine;
}

std::string shared_cache(int core) {
  std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(core) +
                     "/cache/index3/shared_cpu_list");
  std::string cores;
  std::getline(file, cores);
  return cores;
}

}  // namespace berth::cpu
