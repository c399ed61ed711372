#include <sched.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "berth/files.h"
#include "berth/support/text.h"
#include "measure/host_state.h"
#include "measure/statistics.h"
#include "scripted.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace berth::test {
namespace {

/// Steps that last `runtimes_us`, one after the other.
ScriptedSession lasting(const std::vector<double>& runtimes_us) {
  return {chain_program(), [runtimes_us, next = std::size_t{0}](
                               const Placement&, const StepOptions& options) mutable {
            StepResult result;
            result.runtime_us = runtimes_us.at(next++);
            result.peak_bytes = {static_cast<std::int64_t>(next),
                                 100 - static_cast<std::int64_t>(next)};
            if (options.trace) result.trace.runtime_us = result.runtime_us;
            return result;
          }};
}

TEST_CASE("measure: the first steps are dropped and the others described") {
  ScriptedSession session = lasting({900, 800, 3, 1, 8, 2});
  const Measurement found = measure(session, {0, 0, 0}, {.warm_up = 2, .repeats = 4});
  CHECK(session.steps == 6);
  CHECK(found.steps_us == std::vector<double>{3, 1, 8, 2});
  CHECK(found.mean_us == 3.5);
  CHECK(found.median_us == 2.5);
  CHECK(found.min_us == 1);
  CHECK(found.max_us == 8);
  CHECK(found.deviation_us == doctest::Approx(3.1091263510296048));  // over n - 1
  CHECK(found.peak_bytes == std::vector<std::int64_t>{6, 97});       // of the steps that count
  CHECK((found.step.runtime_us == 3 || found.step.runtime_us == 2));
}

TEST_CASE("measure: one step that counts has no deviation") {
  ScriptedSession session = lasting({5});
  const Measurement found = measure(session, {0, 0, 0}, {.warm_up = 0, .repeats = 1});
  CHECK(found.mean_us == 5);
  CHECK(found.median_us == 5);
  CHECK(found.deviation_us == 0);
}

TEST_CASE(
    "measure: the trace is of the step nearest to the median, and only where it is asked for") {
  const std::vector<double> runtimes_us = {50, 10, 30, 20, 90};
  ScriptedSession traced = lasting(runtimes_us);
  CHECK(measure(traced, {0, 0, 0}, {.warm_up = 0, .repeats = 5, .trace = true})
            .step.trace.runtime_us == 30);
  ScriptedSession untraced = lasting(runtimes_us);
  const Measurement found = measure(untraced, {0, 0, 0}, {.warm_up = 0, .repeats = 5});
  CHECK(found.step.runtime_us == 30);
  CHECK(found.step.trace.runtime_us == 0);
}

TEST_CASE("measure: seed and interruption reach every step, and what a step throws comes out") {
  int asked = 0;
  MeasureOptions options;
  options.seed = 7;
  options.should_stop = [&] { return ++asked == 3; };
  ScriptedSession session(chain_program(), [](const Placement&, const StepOptions& step) {
    CHECK(step.seed == 7);
    if (step.should_stop()) throw Error(ErrorCode::cancelled, "stopped");
    return StepResult{.runtime_us = 1};
  });
  expect_error(ErrorCode::cancelled, {"stopped"}, [&] {
    static_cast<void>(measure(session, {0, 0, 0}, options));
  });
  CHECK(session.steps == 3);
}

TEST_CASE("measure: whoever stops it has the figures of three steps or more") {
  for (const int steps : {2, 3, 40}) {
    CAPTURE(steps);
    ScriptedSession session(chain_program(),
                            [i = 0, steps](const Placement&, const StepOptions&) mutable {
                              if (i++ == steps) throw Error(ErrorCode::cancelled, "stopped");
                              StepResult result;
                              result.runtime_us = 10 * i;
                              result.peak_bytes = {i};
                              return result;
                            });
    const MeasureOptions options{.warm_up = 0, .repeats = 5, .precision = 0.001};
    if (steps < 3) {
      expect_error(ErrorCode::cancelled, {"stopped"}, [&] {
        static_cast<void>(measure(session, {0, 0, 0}, options));
      });
      continue;
    }
    const Measurement found = measure(session, {0, 0, 0}, options);
    CHECK(found.steps_us.size() == static_cast<std::size_t>(steps));
    CHECK(found.median_us == doctest::Approx(5 * (steps + 1)));
    CHECK(found.peak_bytes == std::vector<std::int64_t>{steps});
    const std::string note = "stopped after " + std::to_string(steps) + " steps that count";
    CHECK(std::count(found.notes.begin(), found.notes.end(), note) == 1);
  }
}

TEST_CASE("measure: steps go on until the mean is precise, and the interval is Student's") {
  // With eleven of them half of the interval is 5.01 % of the mean, with twelve 4.5 %.
  std::vector<double> runtimes_us(2000, 12.0);
  runtimes_us[0] = 10;
  runtimes_us[1] = 14;
  ScriptedSession session = lasting(runtimes_us);
  const Measurement found =
      measure(session, {0, 0, 0}, {.warm_up = 0, .repeats = 2, .precision = 0.05});
  CHECK(found.interval_us <= 0.05 * 12);
  CHECK(found.mean_us == doctest::Approx(12));
  REQUIRE(found.steps_us.size() == 12);
  CHECK(found.interval_us == doctest::Approx(2.200985 * std::sqrt(8.0 / 11) / std::sqrt(12)));
  CHECK(found.notes.empty());
}

TEST_CASE("measure: a precision that is not reached is said") {
  ScriptedSession session(chain_program(), [i = 0](const Placement&, const StepOptions&) mutable {
    StepResult result;
    result.runtime_us = i++ % 2 == 0 ? 10 : 30;
    result.peak_bytes = {1};
    return result;
  });
  const Measurement found =
      measure(session, {0, 0, 0}, {.warm_up = 0, .repeats = 2, .precision = 0.01});
  CHECK(found.steps_us.size() == kMostRepeats);
  REQUIRE(found.notes.size() == 1);
  CHECK(found.notes[0] == "the mean is known to 3.1 %, not to 1 %, after 1000 steps");
  expect_error(ErrorCode::invalid_argument, {"precision", "from 0 to less than 1"}, [&] {
    static_cast<void>(measure(session, {0, 0, 0}, {.precision = 1}));
  });
}

TEST_CASE("measure: steps that become slower are said, and noise is not") {
  const auto notes_of = [](const std::vector<double>& runtimes_us) {
    ScriptedSession session = lasting(runtimes_us);
    return measure(session, {0, 0, 0},
                   {.warm_up = 0, .repeats = static_cast<int>(runtimes_us.size())})
        .notes;
  };
  CHECK(notes_of({100, 101, 102, 103, 104, 105, 110, 111, 112}) ==
        std::vector<std::string>{
            "steps became 9.9 % slower while they were measured; give more steps for warming up"});
  CHECK(notes_of({112, 111, 110, 105, 104, 103, 102, 101, 100}) ==
        std::vector<std::string>{
            "steps became 9 % faster while they were measured; give more steps for warming up"});
  CHECK(notes_of({100, 130, 80, 120, 100, 90, 130, 85, 120}).empty());
}

/// A root with the times of one core, in hundredths of a second, and limits.
struct HostFiles {
  explicit HostFiles(const std::filesystem::path& at) : root(at) {}
  HostState write(int core, long busy, long idle, long stolen, long held_back, long hot) const {
    for (const char* folder : {"proc", "sys/fs/cgroup"}) {
      std::filesystem::create_directories(root / folder);
    }
    std::filesystem::create_directories(
        root / cat("sys/devices/system/cpu/cpu", core, "/thermal_throttle"));
    write_file(root / "proc/stat",
               cat("cpu  1 2 3 4\ncpu", core, " ", busy / 2, " 0 ", busy - busy / 2, " ", idle,
                   " 7 0 0 ", stolen, " 0 0\ncpu9999 999999 0 0 0\nintr 5\n"));
    write_file(root / "sys/fs/cgroup/cpu.stat",
               cat("usage_usec 1\nnr_throttled ", held_back, "\n"));
    write_file(
        root / cat("sys/devices/system/cpu/cpu", core) / "thermal_throttle/core_throttle_count",
        cat(hot, "\n"));
    return read_host_state(root);
  }
  std::filesystem::path root;
};

/// The cores that this process may use.
cpu_set_t own_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  REQUIRE(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  return allowed;
}

int first_of(const cpu_set_t& cores) {
  int core = 0;
  while (!CPU_ISSET(core, &cores)) ++core;
  return core;
}

TEST_CASE("measure: whose time the cores spent is read from the machine") {
  const cpu_set_t allowed = own_cores();
  const int core = first_of(allowed);
  const TemporaryFolder folder;
  const HostFiles files(folder.path());
  HostState before = files.write(core, 1000, 5000, 0, 3, 1);
  HostState after = files.write(core, 1150, 5100, 50, 3, 1);
  CHECK(after.cores == CPU_COUNT(&allowed));
  CHECK(after.busy_s - before.busy_s == doctest::Approx(2.0));  // stolen time is others' too
  CHECK(before.held_back == 3);
  CHECK(before.hot_slowdowns == 1);

  // Two seconds on a core, of which this process had one.
  before.cores = after.cores = 1;
  before.wall_s = before.own_s = 0;
  after.wall_s = 2.5;
  after.own_s = 1;
  CHECK(disturbances(before, after) ==
        std::vector<std::string>{"other programs used 40 % of 1 core while steps were measured; "
                                 "measure again on a quiet machine"});
  CHECK(others_share(before, after) == doctest::Approx(0.4));
  CHECK_FALSE(contended(before, after));  // a fifth of the time nobody wanted the core
  after.wall_s = 2.1;
  CHECK(contended(before, after));
  after.own_s = 1.95;
  CHECK_FALSE(contended(before, after));
  CHECK(disturbances(before, after).empty());
  after.held_back = 4;
  after.hot_slowdowns = 3;
  CHECK(disturbances(before, after).size() == 2);
}

TEST_CASE("measure: where most samples waited, a low one of them tells") {
  CHECK(low_decile({14, 15, 2.9, 19, 16, 2.8, 14, 17, 18, 15}) == 2.9);
  CHECK(low_decile({3, 1, 2}) == 1);
}

TEST_CASE("measure: a machine that tells nothing has no disturbances") {
  const TemporaryFolder folder;
  const HostState nothing = read_host_state(folder.path());
  CHECK(nothing.busy_s == 0);
  CHECK(disturbances(nothing, read_host_state(folder.path())).empty());
}

TEST_CASE("measure: what cannot be measured is refused") {
  ScriptedSession session = lasting({});
  for (const auto& [warm_up, repeats] : {std::pair{-1, 5}, {0, 0}, {5, -1}}) {
    expect_error(ErrorCode::invalid_argument, {"at least 0 and 1"}, [&] {
      static_cast<void>(measure(session, {0, 0, 0}, {.warm_up = warm_up, .repeats = repeats}));
    });
  }
  CHECK(session.steps == 0);
}

TEST_CASE("measure: a core that is idle, or waits for a disk, is nobody's") {
  const int core = first_of(own_cores());
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "proc");
  // user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice: proc(5).
  const auto busy_s = [&](const std::string& counts) {
    write_file(folder.path() / "proc/stat", cat("cpu", core, " ", counts, "\n"));
    return read_host_state(folder.path()).busy_s * static_cast<double>(sysconf(_SC_CLK_TCK));
  };
  CHECK(busy_s("0 0 0 700 0 0 0 0 0 0") == 0);
  CHECK(busy_s("0 0 0 0 700 0 0 0 0 0") == 0);
  CHECK(busy_s("1 2 4 700 700 8 16 32 0 0") == doctest::Approx(63));
  CHECK(busy_s("5 0 0 0 0 0 0 0 5 0") == doctest::Approx(5));  // a guest's time is in user
}

}  // namespace
}  // namespace berth::test
