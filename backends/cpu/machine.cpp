#include "cpu/machine.h"

#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "berth/support/cpuinfo.h"

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
  machine.core_flops = hertz * vector_units(cpuinfo).f32_per_cycle;
  machine.memory_bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) *
                         static_cast<std::int64_t>(sysconf(_SC_PAGE_SIZE));
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
