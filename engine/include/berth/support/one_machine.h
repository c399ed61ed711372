/// @file
/// The one-machine problem, whose preemptive form bounds what a device or a link can do.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

namespace berth {

/// A piece of work for one machine: not before `head_us`, then `us` of the machine, then `tail_us`
/// until all can be over.
struct MachineJob {
  double head_us;
  double us;
  double tail_us;
};

/// The least time in which one machine that may interrupt jobs ends them all, tails included
/// (Jackson's preemptive schedule: at any time the available job with the longest tail; see
/// Carlier, "The one-machine sequencing problem", 1982). Sorts `jobs` by head; n log n.
[[nodiscard]] inline double one_machine_us(std::vector<MachineJob>& jobs) {
  std::sort(jobs.begin(), jobs.end(),
            [](const MachineJob& a, const MachineJob& b) { return a.head_us < b.head_us; });
  struct Left {
    double tail_us;
    double us;
  };
  const auto shorter_tail = [](const Left& a, const Left& b) { return a.tail_us < b.tail_us; };
  std::vector<Left> available;  // a heap
  double now_us = 0;
  double end_us = 0;
  std::size_t next = 0;
  while (next < jobs.size() || !available.empty()) {
    if (available.empty()) now_us = std::max(now_us, jobs[next].head_us);
    for (; next < jobs.size() && jobs[next].head_us <= now_us; ++next) {
      available.push_back({jobs[next].tail_us, jobs[next].us});
      std::push_heap(available.begin(), available.end(), shorter_tail);
    }
    const double until_us =
        next < jobs.size() ? jobs[next].head_us : std::numeric_limits<double>::infinity();
    Left& job = available.front();
    if (now_us + job.us > until_us) {
      job.us -= until_us - now_us;
      now_us = until_us;
      continue;
    }
    now_us += job.us;
    end_us = std::max(end_us, now_us + job.tail_us);
    std::pop_heap(available.begin(), available.end(), shorter_tail);
    available.pop_back();
  }
  return end_us;
}

}  // namespace berth
