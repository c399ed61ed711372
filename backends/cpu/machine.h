// The processor this runs on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace berth::cpu {

struct Machine {
  std::string processor;   ///< as the system calls it
  std::vector<int> cores;  ///< those this process may use, as many as its quota keeps busy
  double core_flops = 0;  ///< nominal peak of one core in f32, of the time that the quota leaves it
  std::int64_t memory_bytes = 0;  ///< that this process may use
};

/// The machine as the system reports it; nominal figures for what it does not report.
[[nodiscard]] Machine this_machine();

/// The cores that share the last cache with `core`, as the system lists them; empty where it does not say.
[[nodiscard]] std::string shared_cache(int core);

}  // namespace berth::cpu
