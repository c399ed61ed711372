#include "measure/host_state.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <sstream>
#include <system_error>

#include "berth/support/text.h"

namespace berth {
namespace {

/// Times of cores are counted in hundredths of a second: shorter measurements have no share.
constexpr double kShortest_s = 0.3;
/// The share of the cores' time that other programs take on any idle machine.
constexpr double kQuiet = 0.05;
/// Shares of the cores' time that others take, and that all take, where a step waits for its core.
constexpr double kOthers = 0.2;
constexpr double kFull = 0.9;

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

/// The number after `key` at the start of a line, or in a file of a number where the key is empty.
std::int64_t number_in(const std::filesystem::path& path, const std::string& key = "") {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string word;
    std::int64_t number = 0;
    if (!key.empty() && !(words >> word && word == key)) continue;
    if (words >> number) return number;
  }
  return 0;
}

/// Counts of one line of `proc/stat`: user, nice, system, irq, softirq and steal; not idle and iowait. Guests
/// are part of user.
double busy_s(std::istringstream& fields) {
  double busy = 0, value = 0;
  for (int i = 0; i < 8 && fields >> value; ++i) {
    if (i != 3 && i != 4) busy += value;
  }
  return busy / static_cast<double>(std::max(1L, sysconf(_SC_CLK_TCK)));
}

void read_cores(const std::filesystem::path& root, HostState& state) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  state.cores = CPU_COUNT(&allowed);
  std::ifstream file(root / "proc/stat");
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string name;
    fields >> name;
    if (name.size() < 4 || name.compare(0, 3, "cpu") != 0) continue;  // the first line is of all
    std::istringstream digits(name.substr(3));
    int core = -1;
    if (!(digits >> core) || core < 0 || core >= CPU_SETSIZE || !CPU_ISSET(core, &allowed))
      continue;
    state.busy_s += busy_s(fields);
    state.hot_slowdowns += number_in(root / cat("sys/devices/system/cpu/cpu", core) /
                                     "thermal_throttle/core_throttle_count");
  }
}

}  // namespace

HostState read_host_state(const std::filesystem::path& root) {
  HostState state;
  read_cores(root, state);
  rusage used{};
  if (getrusage(RUSAGE_SELF, &used) == 0)
    state.own_s = seconds(used.ru_utime) + seconds(used.ru_stime);
  state.wall_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  state.held_back = number_in(root / "sys/fs/cgroup/cpu.stat", "nr_throttled");
  return state;
}

double others_share(const HostState& before, const HostState& after) {
  const double wall_s = after.wall_s - before.wall_s;
  if (wall_s < kShortest_s || after.cores == 0 || after.busy_s <= before.busy_s) return 0;
  const double others_s = after.busy_s - before.busy_s - (after.own_s - before.own_s);
  return std::max(0.0, others_s / (wall_s * after.cores));
}

bool contended(const HostState& before, const HostState& after) {
  if (others_share(before, after) < kOthers) return false;
  return after.busy_s - before.busy_s >= kFull * (after.wall_s - before.wall_s) * after.cores;
}

std::vector<std::string> disturbances(const HostState& before, const HostState& after) {
  std::vector<std::string> found;
  if (const double share = others_share(before, after); share > kQuiet) {
    found.push_back(cat("other programs used ", std::lround(100 * share), " % of ", after.cores,
                        after.cores == 1 ? " core" : " cores",
                        " while steps were measured; measure again on a quiet machine"));
  }
  if (const std::int64_t times = after.held_back - before.held_back; times > 0) {
    found.push_back(cat("a processor limit stopped the steps ", times,
                        times == 1 ? " time" : " times",
                        "; use fewer devices and threads, or raise the limit"));
  }
  if (const std::int64_t times = after.hot_slowdowns - before.hot_slowdowns; times > 0) {
    found.push_back(cat("the processor was too hot and slowed down ", times,
                        times == 1 ? " time" : " times", " while steps were measured"));
  }
  return found;
}

}  // namespace berth
