// The state of the processor around a measurement: whose time it spent, and whether it was slowed down.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace berth {

/// Counters since the machine started; 0 where it does not tell them.
struct HostState {
  int cores = 0;                   ///< that this process may use
  double busy_s = 0;               ///< of those cores, whoever used them
  double own_s = 0;                ///< of this process, all its threads
  double wall_s = 0;               ///< any origin
  std::int64_t held_back = 0;      ///< periods in which a processor limit stopped the processes
  std::int64_t hot_slowdowns = 0;  ///< of those cores
};

/// `root` holds `proc` and `sys`; "/" except in tests. Never throws: what cannot be read is 0.
[[nodiscard]] HostState read_host_state(const std::filesystem::path& root = "/");

/// The share of the cores' time that other programs took between two states; 0 where that is not known, or
/// where the time was too short to tell.
[[nodiscard]] double others_share(const HostState& before, const HostState& after);

/// Whether other programs competed for the cores between two states: they took a fifth or more, and little
/// was left. Then most samples of an op are longer than the op.
[[nodiscard]] bool contended(const HostState& before, const HostState& after);

/// Disturbances of a measurement between two states, in words for a user; empty where there are none.
[[nodiscard]] std::vector<std::string> disturbances(const HostState& before,
                                                    const HostState& after);

}  // namespace berth
