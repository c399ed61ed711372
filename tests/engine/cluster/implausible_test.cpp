// Figures in another unit than the file's.
#include "cluster/implausible.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "berth/cluster.h"
#include "berth/machines.h"

namespace berth::test {
namespace {

/// A machine of a host and a card, changed.
template <typename Change>
Cluster changed(Change&& change) {
  const auto cluster = machine_of_words("rtx4090");
  std::vector<Device> devices{cluster->device(0), cluster->device(1)};
  std::vector<LinkSpec> links(cluster->links().begin(), cluster->links().end());
  change(devices[1], links[0]);
  return {"changed", std::move(devices), links};
}

TEST_CASE("no known device and no slot is implausible") {
  for (const KnownDevice& known : known_devices()) {
    CAPTURE(known.device.name);
    const bool sized = known.device.memory_bytes > 0;
    const auto cluster = machine_of_words(known.device.name + (sized ? "" : ":32GiB"));
    CHECK(implausible_figures(*cluster).empty());
    CHECK(implausible_memory(*cluster).empty());
  }
  CHECK(implausible_figures(*machine_of_words("rtx3060@pcie1x1")).empty());
  CHECK(implausible_memory(*machine_of_words("rtx3060+host:0")).empty());
}

TEST_CASE("a figure in the unit of data sheets is told, with the number to write") {
  const auto figures = [](auto&& change) { return implausible_figures(changed(change)); };
  const auto check = [](const std::vector<std::string>& notes, const std::string& expected) {
    REQUIRE(notes.size() == 1);
    CHECK(notes[0] == expected);
  };
  check(
      figures([](Device& gpu, LinkSpec&) { gpu.memory_bandwidth = 1008; }),
      "device 'gpu:0' has memory_bandwidth_bytes_per_s 1008, which none has: it is in bytes/s; if "
      "GB/s are meant, write 1.008e+12");
  check(
      figures([](Device& gpu, LinkSpec&) { gpu.flops = 82.6; }),
      "device 'gpu:0' has flops 82.6, which none has: it is in FLOP/s; if TFLOP/s are meant, write "
      "8.26e+13");
  check(
      figures([](Device& gpu, LinkSpec&) { gpu.flops_8 = 6.6e26; }),
      "device 'gpu:0' has flops_8 6.6e+26, which none has: it is in FLOP/s; write it in that unit");
  check(figures([](Device& gpu, LinkSpec&) { gpu.op_overhead_us = 350000; }),
        "device 'gpu:0' has op_overhead_us 350000, which none has: it is in us; if ns are meant, "
        "write 350");
  check(
      figures([](Device&, LinkSpec& link) { link.bandwidth_bytes_per_s = 25; }),
      "link gpu:0 -> cpu:0 has bandwidth_bytes_per_s 25, which none has: it is in bytes/s; if GB/s "
      "are meant, write 2.5e+10");
  check(
      implausible_memory(changed([](Device& gpu, LinkSpec&) { gpu.memory_bytes = 24; })),
      "device 'gpu:0' has memory_bytes 24, which none has: it is in bytes; if GiB are meant, write "
      "25769803776");
  check(implausible_memory(changed([](Device& gpu, LinkSpec&) { gpu.memory_bytes = 24576; })),
        "device 'gpu:0' has memory_bytes 24576, which none has: it is in bytes; if MiB are meant, "
        "write 25769803776");
  // A megabyte is little, and no number of MiB.
  CHECK(implausible_memory(changed([](Device& gpu, LinkSpec&) {
          gpu.memory_bytes = 1000000;
        })).empty());
}

}  // namespace
}  // namespace berth::test
