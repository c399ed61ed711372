// Limits in made-up trees of /proc and /sys, as containers and schedulers leave them.
#include "berth/support/process_limits.h"

#include <doctest/doctest.h>

#include <string>

#include "berth/files.h"
#include "berth/types.h"
#include "support/temporary_folder.h"

namespace berth::test {
namespace {

/// A file below `root`, with its folders.
void write(const TemporaryFolder& root, const std::string& name, const std::string& text) {
  std::filesystem::create_directories((root / name).parent_path());
  write_file(root / name, text);
}

const std::string kGroups = "sys/fs/cgroup/";

TEST_CASE("cores are those of the affinity where no quota is below them") {
  const TemporaryFolder root;
  const double all = usable_cores(root.path());
  CHECK(all >= 1);
  CHECK(usable_threads(root.path()) == static_cast<int>(all));
  write(root, kGroups + "cpu.max", "max 100000\n");
  CHECK(usable_cores(root.path()) == all);
  write(root, kGroups + "cpu.max", "90000000 100000\n");
  CHECK(usable_cores(root.path()) == all);
  write(root, kGroups + "cpu.max", "70000 100000\n");
  CHECK(usable_cores(root.path()) == 0.7);
  CHECK(usable_threads(root.path()) == 1);
}

TEST_CASE("the least of the own group's limits and of those above it holds") {
  const TemporaryFolder root;
  write(root, "proc/meminfo", "MemTotal:  9000 kB\nMemAvailable:    3000 kB\n");
  write(root, "proc/self/cgroup", "0::/slurm/job_7/step_0\n");
  write(root, kGroups + "slurm/job_7/cpu.max", "50000 100000\n");
  write(root, kGroups + "slurm/job_7/memory.max", "2000000\n");
  write(root, kGroups + "slurm/job_7/step_0/memory.max", "max\n");
  write(root, kGroups + "slurm/job_8/memory.max", "1000\n");  // another's
  CHECK(usable_cores(root.path()) == 0.5);
  CHECK(usable_memory_bytes(root.path()) == 2000000);
  write(root, "proc/self/cgroup", "0::/../elsewhere\n");
  CHECK(usable_memory_bytes(root.path()) == 9000 * 1024);
}

TEST_CASE("version 1 has a tree for each controller") {
  const TemporaryFolder root;
  write(root, "proc/meminfo", "MemTotal:  9000 kB\nMemAvailable:    3000 kB\n");
  write(root, "proc/self/cgroup", "5:memory:/box\n4:cpu,cpuacct:/box\n3:cpuset:/\n0::/\n");
  write(root, kGroups + "memory/memory.limit_in_bytes", "9223372036854771712\n");
  write(root, kGroups + "cpu/cpu.cfs_quota_us", "-1\n");
  write(root, kGroups + "cpu/cpu.cfs_period_us", "100000\n");
  CHECK(usable_memory_bytes(root.path()) == 9000 * 1024);
  CHECK(usable_cores(root.path()) >= 1);
  write(root, kGroups + "memory/box/memory.limit_in_bytes", "1500000\n");
  write(root, kGroups + "memory/box/memory.usage_in_bytes", "1000000\n");
  write(root, kGroups + "memory/box/memory.stat", "inactive_file 1\ntotal_inactive_file 400000\n");
  write(root, kGroups + "cpu/box/cpu.cfs_quota_us", "25000\n");
  write(root, kGroups + "cpu/box/cpu.cfs_period_us", "100000\n");
  CHECK(usable_memory_bytes(root.path()) == 1500000);
  CHECK(free_memory_bytes(root.path()) == 900000);
  CHECK(usable_cores(root.path()) == 0.25);
  // A container that sees its own group alone has the limits at the root of what it sees.
  write(root, "proc/self/cgroup", "5:memory:/docker/3f\n");
  write(root, kGroups + "memory/memory.limit_in_bytes", "1200000\n");
  CHECK(usable_memory_bytes(root.path()) == 1200000);
}

TEST_CASE("memory that is free is the least that the machine and each limit leave") {
  const TemporaryFolder root;
  CHECK(free_memory_bytes(root.path()) == kNoLimit);  // it says nothing
  CHECK(usable_memory_bytes(root.path()) == kNoLimit);
  write(root, "proc/meminfo", "MemTotal:  9000 kB\nMemAvailable:    3000 kB\n");
  CHECK(free_memory_bytes(root.path()) == 3000 * 1024);
  write(root, kGroups + "memory.current", "1000000\n");
  write(root, kGroups + "memory.stat", "anon 500000\ninactive_file 400000\n");
  write(root, kGroups + "memory.max", "max\n");
  CHECK(free_memory_bytes(root.path()) == 3000 * 1024);
  write(root, kGroups + "memory.max", "1500000\n");
  CHECK(free_memory_bytes(root.path()) == 900000);
  write(root, "proc/self/cgroup", "0::/inner\n");
  write(root, kGroups + "inner/memory.max", "500000\n");
  write(root, kGroups + "inner/memory.current", "450000\n");
  CHECK(free_memory_bytes(root.path()) == 50000);
}

}  // namespace
}  // namespace berth::test
