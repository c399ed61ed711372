#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "berth/cluster.h"
#include "berth/error.h"

namespace berth {
namespace {

TEST_CASE("cluster presets") {
  REQUIRE(Cluster::presets().size() == 6);
  for (const Cluster::PresetInfo& info : Cluster::presets()) {
    CAPTURE(info.name);
    CHECK_FALSE(info.description.empty());
    CHECK_FALSE(info.source.empty());
    const auto cluster = Cluster::preset(info.name);
    REQUIRE(cluster != nullptr);
    CHECK(cluster->name() == info.name);
    CHECK(cluster->kind_count() == 2);

    SUBCASE("every device has the figures that the roofline model and memory checks need") {
      int hosts = 0;
      for (DeviceId id = 0; id < cluster->device_count(); ++id) {
        const Device& device = cluster->device(id);
        CAPTURE(device.name);
        CHECK(device.flops > 0);
        CHECK(device.memory_bandwidth > 0);
        CHECK(device.op_overhead_us > 0);
        CHECK((device.multiprocessors > 0) == !device.host);
        CHECK(device.memory_bytes > (std::int64_t{10} << 30));
        CHECK(device.memory_bytes != kNoLimit);
        CHECK(device.host == (device.kind == "cpu"));
        hosts += device.host ? 1 : 0;
      }
      CHECK(hosts == 1);
    }
    SUBCASE("every pair has a route, the same back as forth") {
      for (DeviceId src = 0; src < cluster->device_count(); ++src) {
        for (DeviceId dst = 0; dst < cluster->device_count(); ++dst) {
          if (src == dst) continue;
          const Route& route = cluster->route(src, dst);
          CHECK(route.bandwidth_bytes_per_s > 1e9);
          CHECK(std::isfinite(route.latency_us));
          CHECK(route.bandwidth_bytes_per_s == cluster->route(dst, src).bandwidth_bytes_per_s);
          CHECK(route.latency_us == cluster->route(dst, src).latency_us);
          CHECK(route.channels.size() == cluster->route(dst, src).channels.size());
        }
      }
    }
  }
}

TEST_CASE("the k80 presets agree with Placeto's measurements") {
  for (const char* name : {"k80x2", "k80x4"}) {
    const auto cluster = Cluster::preset(name);
    CHECK(cluster->device(*cluster->find_device("gpu:0")).op_overhead_us == 5.7);
    for (DeviceId src = 0; src < cluster->device_count(); ++src) {
      for (DeviceId dst = 0; dst < cluster->device_count(); ++dst) {
        if (src == dst) continue;
        CHECK(cluster->route(src, dst).bandwidth_bytes_per_s == 7.6e9);
        CHECK(cluster->route(src, dst).latency_us == 25);
      }
    }
  }
}

TEST_CASE("GPUs below one PCIe switch share its uplink to the host, not the way to each other") {
  const auto cluster = Cluster::preset("k80x4");
  const auto channels = [&](const char* src, const char* dst) {
    std::set<std::string> names;
    for (const ChannelId id :
         cluster->route(*cluster->find_device(src), *cluster->find_device(dst)).channels) {
      names.insert(cluster->channel_name(id));
    }
    return names;
  };
  using Names = std::set<std::string>;
  CHECK(channels("gpu:0", "cpu:0") == Names{"pcie:0:up"});
  CHECK(channels("gpu:1", "cpu:0") == Names{"pcie:0:up"});
  CHECK(channels("cpu:0", "gpu:1") == Names{"pcie:0:down"});
  CHECK(channels("gpu:2", "cpu:0") == Names{"pcie:1:up"});
  CHECK(channels("gpu:0", "gpu:1").empty());
  CHECK(channels("gpu:0", "gpu:2") == Names{"pcie:0:up", "pcie:1:down"});
}

TEST_CASE("the NVLink cube mesh gives every V100 six ports and PCIe between unlinked pairs") {
  const auto cluster = Cluster::preset("v100x8");
  constexpr double kPort = 0.9 * 25e9;
  for (DeviceId src = 0; src < cluster->device_count(); ++src) {
    if (cluster->device(src).host) continue;
    double ports = 0;
    int unlinked = 0;
    for (DeviceId dst = 0; dst < cluster->device_count(); ++dst) {
      if (dst == src || cluster->device(dst).host) continue;
      const Route& route = cluster->route(src, dst);
      if (route.channels.empty()) {
        ports += route.bandwidth_bytes_per_s / kPort;
      } else {
        ++unlinked;
        CHECK(route.channels.size() == 3);  // an uplink, the sockets' interconnect, an uplink
      }
    }
    CHECK(ports == doctest::Approx(6));
    CHECK(unlinked == 3);
  }
}

TEST_CASE(
    "hosts have an engine per link, and so have GPUs of a mesh; Placeto's devices one bus each") {
  const auto engines = [](const char* name) {
    const auto cluster = Cluster::preset(name);
    const auto has = [&](const char* device) {
      return cluster->device(*cluster->find_device(device)).engine_per_link;
    };
    return std::pair(has("cpu:0"), has("gpu:0"));
  };
  for (const char* name : {"k80x2", "k80x4"}) CHECK(engines(name) == std::pair(false, false));
  for (const char* name : {"p100x4", "v100x8"}) CHECK(engines(name) == std::pair(true, true));
  for (const char* name : {"a100x8", "h100x8"}) CHECK(engines(name) == std::pair(true, false));
}

TEST_CASE("an unknown preset is an error that lists the known ones") {
  try {
    (void)Cluster::preset("k80x3");
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::not_found);
    const std::string text = error.what();
    CHECK(text.find("k80x3") != std::string::npos);
    CHECK(text.find("h100x8") != std::string::npos);
  }
}

}  // namespace
}  // namespace berth
