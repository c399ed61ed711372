// What is made of a machine's facts, and the facts of this one and of an imaginary driver's.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>

#include "berth/files.h"
#include "berth/machines.h"
#include "berth/support/cpuinfo.h"
#include "berth/support/index.h"
#include "detect/detected_machine.h"
#include "detect/visible_gpus.h"
#include "support/environment_variable.h"
#include "support/threads.h"

namespace berth::test {
namespace {

using namespace detect;

/// Two sockets with two GPUs each: 0 and 1 below one port, 2 and 3 below two; NVLink from 0 to 1.
MachineFacts server() {
  MachineFacts facts;
  facts.host = {"Some CPU", 32, 2, 2.5e9, 32, "2 x 256-bit FMA", std::int64_t{64} << 30, 1.5e11};
  const GpuFacts gpu = {"NVIDIA A100-SXM4-40GB",
                        "0000:3b:00.0",
                        std::int64_t{40} << 30,
                        8,
                        0,
                        6912,
                        1.41e9,
                        1.215e9,
                        5120,
                        4,
                        16,
                        "0000:3a:00.0",
                        0};
  facts.gpus = {gpu, gpu, gpu, gpu};
  facts.gpus[2].port = "0000:ae:00.0";
  facts.gpus[3].port = "0000:d7:00.0";
  facts.gpus[2].socket = facts.gpus[3].socket = 1;
  facts.nvlinks = {{0, 1, 4}, {1, 0, 4}};
  return facts;
}

std::vector<std::string> channels(const Cluster& cluster, const char* src, const char* dst) {
  std::vector<std::string> names;
  const Route& route = cluster.route(*cluster.find_device(src), *cluster.find_device(dst));
  for (const ChannelId channel : route.channels) names.push_back(cluster.channel_name(channel));
  return names;
}

TEST_CASE("a machine's figures follow from its facts") {
  const auto cluster = machine_of(server()).cluster;
  REQUIRE(cluster->device_count() == 5);
  const Device& host = cluster->device(0);
  CHECK(host.name == "cpu:0");
  CHECK(host.host);
  CHECK(host.flops == doctest::Approx(32 * 2.5e9 * 32));
  CHECK(host.memory_bandwidth == 1.5e11);
  const Device& gpu = cluster->device(1);
  CHECK(gpu.name == "gpu:0");
  CHECK(gpu.kind == "a100-sxm4-40gb");
  CHECK(gpu.memory_bytes == (std::int64_t{40} << 30) - (std::int64_t{512} << 20));
  // Of its data sheet: 19.5, 312, 624 and 19.5 TFLOP/s, 1555 GB/s.
  CHECK(gpu.flops == doctest::Approx(19.5e12).epsilon(0.001));
  CHECK(gpu.flops_16 == doctest::Approx(312e12).epsilon(0.001));
  CHECK(gpu.flops_tf32 == doctest::Approx(156e12).epsilon(0.001));
  CHECK(gpu.flops_8 == doctest::Approx(624e12).epsilon(0.001));
  CHECK(gpu.flops_64 == doctest::Approx(19.5e12).epsilon(0.001));
  CHECK(gpu.memory_bandwidth == doctest::Approx(1555e9).epsilon(0.001));
}

TEST_CASE("GPUs share the ports and sockets between them, and use NVLink where it is") {
  const auto cluster = machine_of(server()).cluster;
  const auto bandwidth = [&](const char* src, const char* dst) {
    return cluster->route(*cluster->find_device(src), *cluster->find_device(dst))
        .bandwidth_bytes_per_s;
  };
  CHECK(bandwidth("gpu:0", "gpu:1") == doctest::Approx(4 * 25e9 * 0.9));
  CHECK(channels(*cluster, "gpu:0", "gpu:1").empty());
  CHECK(bandwidth("gpu:0", "cpu:0") == doctest::Approx(31.5e9 * 0.8));
  using Names = std::vector<std::string>;
  CHECK(channels(*cluster, "gpu:0", "cpu:0") == Names{"pcie:0000:3a:00.0:up"});
  CHECK(channels(*cluster, "cpu:0", "gpu:1") == Names{"pcie:0000:3a:00.0:down"});
  CHECK(channels(*cluster, "gpu:2", "gpu:3").size() == 2);
  CHECK(channels(*cluster, "gpu:1", "gpu:2").size() == 3);  // and the way between the sockets

  MachineFacts switched = server();
  switched.nvlinks = {{3, NvlinkFacts::kSwitch, 12}};
  const auto other = machine_of(switched).cluster;
  CHECK(other->route(4, 1).bandwidth_bytes_per_s == doctest::Approx(12 * 25e9 * 0.9));
}

TEST_CASE("a host has an engine per link, and so have GPUs with NVLink to several others") {
  const auto engines = [](const MachineFacts& facts) {
    const auto cluster = machine_of(facts).cluster;
    return std::pair(cluster->device(0).engine_per_link, cluster->device(1).engine_per_link);
  };
  MachineFacts facts = server();
  CHECK(engines(facts) == std::pair(true, false));  // a bridge of two
  facts.nvlinks = {{0, 1, 2}, {0, 2, 2}, {1, 0, 2}, {2, 0, 2}};
  CHECK(engines(facts) == std::pair(true, true));
  facts.nvlinks = {{0, NvlinkFacts::kSwitch, 12}, {1, NvlinkFacts::kSwitch, 12}};
  CHECK(engines(facts) == std::pair(true, false));
  facts.gpus = {facts.gpus.front()};
  facts.gpus[0].memory_bytes = facts.gpus[0].pcie_generation = 0;
  facts.nvlinks.clear();
  CHECK(engines(facts) == std::pair(false, false));  // one memory
}

TEST_CASE("GPUs of one product with other clocks are another kind") {
  MachineFacts facts = server();
  for (GpuFacts& gpu : facts.gpus) gpu.name = "NVIDIA A30";
  facts.gpus[3].hertz = 1e9;
  const auto cluster = machine_of(facts).cluster;
  CHECK(cluster->device(3).kind == "a30");
  CHECK(cluster->device(4).kind == "a30-2");
}

/// A card alone: "16-bit" and "8-bit" as its data sheet has them with f32 and i32 accumulation.
struct Card {
  const char* name;
  int major, minor, cores;
  double hertz;
  double f32, f16, i8, f64;  // in TFLOP/s
};

TEST_CASE("a GPU computes what its data sheet says, whatever its highest clock") {
  const Card cards[] = {
      // Known by their words.
      {"NVIDIA GeForce RTX 3090", 8, 6, 10496, 2.1e9, 35.6, 71, 284, 0.56},
      {"NVIDIA GeForce RTX 4070 SUPER", 8, 9, 7168, 3.1e9, 35.5, 71, 284, 0.55},
      {"NVIDIA GeForce RTX 5090", 12, 0, 21760, 3.09e9, 104.8, 209.5, 838, 1.64},
      {"NVIDIA RTX A6000", 8, 6, 10752, 2.1e9, 38.7, 154.8, 309.7, 0.6},
      {"NVIDIA RTX A5000", 8, 6, 8192, 2.1e9, 27.8, 111.1, 222.2, 0.43},
      {"NVIDIA A100 80GB PCIe", 8, 0, 6912, 1.6e9, 19.5, 312, 624, 19.5},
      {"NVIDIA H100 80GB HBM3", 9, 0, 16896, 1.98e9, 67, 989.5, 1979, 67},
      {"Tesla T4", 7, 5, 2560, 1.59e9, 8.1, 65, 130, 0.25},
      {"Tesla P40", 6, 1, 3840, 1.531e9, 11.8, 0, 47, 0.37},
      {"NVIDIA GeForce RTX 5090 Laptop GPU", 12, 0, 10496, 3.09e9, 45.3, 90.7, 362.7, 0.71},
      {"NVIDIA GeForce RTX 4070 Laptop GPU", 8, 9, 4608, 3.1e9, 20.04, 40.1, 160.4, 0.31},
      {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 12, 0, 24064, 3.09e9, 126, 503.8,
       1007.6, 1.97},
      {"NVIDIA H100 PCIe", 9, 0, 14592, 1.755e9, 51, 756, 1513, 51},
      {"NVIDIA H100 NVL", 9, 0, 16896, 1.785e9, 60, 835.5, 1670.5, 60},
      {"NVIDIA A10G", 8, 6, 10240, 1.71e9, 35, 70, 140, 0.55},
      {"NVIDIA GB10", 12, 1, 6144, 2.418e9, 31, 61.7, 246.9, 0},
      {"Tesla P100-SXM2-16GB", 6, 0, 3584, 1.48e9, 10.6, 0, 0, 5.3},
      // Named as a known card, but of fewer cores; not known; without tensor cores.
      {"NVIDIA GeForce RTX 4090", 8, 9, 14592, 2.52e9, 73.5, 147, 588, 1.15},
      {"NVIDIA GeForce RTX 2080 Ti", 7, 5, 4352, 1.545e9, 13.4, 53.8, 215, 0.42},
      {"NVIDIA GeForce GTX 1660 Ti", 7, 5, 1536, 1.77e9, 5.44, 10.9, 21.7, 0.17},
      {"NVIDIA T1000 8GB", 7, 5, 896, 1.395e9, 2.5, 5, 10, 0.078},
      {"NVIDIA B310", 10, 3, 18944, 1.92e9, 72.7, 2328, 163, 1.14},
      {"Orin (nvgpu)", 8, 7, 2048, 1.3e9, 5.32, 42.6, 85.2, 0.083},
  };
  for (const Card& card : cards) {
    CAPTURE(card.name);
    MachineFacts facts = server();
    facts.nvlinks.clear();
    facts.gpus.resize(1);
    GpuFacts& gpu = facts.gpus.front();
    gpu.name = card.name;
    gpu.major = card.major;
    gpu.minor = card.minor;
    gpu.cores = card.cores;
    gpu.hertz = card.hertz;
    const auto cluster = machine_of(facts).cluster;
    const Device& device = cluster->device(1);
    CHECK(device.flops == doctest::Approx(card.f32 * 1e12).epsilon(0.01));
    CHECK(device.flops_16 == doctest::Approx(card.f16 * 1e12).epsilon(0.01));
    CHECK(device.flops_tf32 == (card.major >= 8 ? device.flops_16 / 2 : 0));
    CHECK(device.flops_8 == doctest::Approx(card.i8 * 1e12).epsilon(0.01));
    CHECK(device.flops_64 == doctest::Approx(card.f64 * 1e12).epsilon(0.02));
    CHECK(device.memory_bandwidth == doctest::Approx(1555e9).epsilon(0.001));  // NVML's
  }
}

TEST_CASE("a detected card pauses between kernels as the word of its generation does") {
  for (const KnownDevice& known : known_devices()) {
    if (known.capability == 0) continue;
    CAPTURE(known.device.name);
    MachineFacts facts = server();
    facts.nvlinks.clear();
    facts.gpus.resize(1);
    facts.gpus.front().name = "NVIDIA some card";
    facts.gpus.front().major = known.capability / 10;
    facts.gpus.front().minor = known.capability % 10;
    const Device device = machine_of(facts).cluster->device(1);
    CHECK(std::abs(device.op_overhead_us - known.device.op_overhead_us) <= 0.5);
    if (known.driver_names.empty()) continue;
    facts.gpus.front().name = known.driver_names.front();
    facts.gpus.front().cores = 0;
    CHECK(machine_of(facts).cluster->device(1).op_overhead_us == known.device.op_overhead_us);
  }
}

TEST_CASE("a link of NVLink is as fast as the GPU's generation has it") {
  const std::pair<std::pair<int, int>, double> generations[] = {
      {{7, 0}, 25e9}, {{8, 0}, 25e9}, {{8, 6}, 14.0625e9}, {{9, 0}, 25e9}, {{10, 0}, 50e9}};
  for (const auto& [capability, lane] : generations) {
    CAPTURE(capability.first);
    MachineFacts facts = server();
    std::tie(facts.gpus[0].major, facts.gpus[0].minor) = capability;
    CHECK(machine_of(facts).cluster->route(1, 2).bandwidth_bytes_per_s ==
          doctest::Approx(4 * lane * 0.9));
  }
}

TEST_CASE("copies between cards without peer access go through the host's memory") {
  MachineFacts facts = server();
  facts.without_peer_access = {{0, 1}, {1, 0}, {0, 2}};
  const auto cluster = machine_of(facts).cluster;
  const double direct = cluster->route(3, 1).bandwidth_bytes_per_s;
  CHECK(cluster->route(1, 2).bandwidth_bytes_per_s > direct);  // NVLink
  CHECK(cluster->route(1, 3).bandwidth_bytes_per_s == doctest::Approx(0.85 * direct));
  CHECK(channels(*cluster, "gpu:0", "gpu:2").back() == "host:gpu:0-gpu:2");
  CHECK(cluster->route(1, 3).latency_us == 2 * cluster->route(3, 1).latency_us);
  facts.nvlinks.clear();
  // Below one port: up and down again, and the other way takes turns with it.
  const auto staged = machine_of(facts).cluster;
  CHECK(channels(*staged, "gpu:0", "gpu:1").size() == 3);
  CHECK(channels(*staged, "gpu:0", "gpu:1").back() == channels(*staged, "gpu:1", "gpu:0").back());
}

TEST_CASE("a GPU without memory of its own has a part of the host's") {
  MachineFacts facts = server();
  facts.nvlinks.clear();
  facts.gpus = {{"NVIDIA GB10", "0000:0f:00.0", 0, 12, 1, 6144, 2.418e9, 0, 0, 0, 0, "", -1}};
  const DetectedMachine machine = machine_of(facts);
  const Cluster& cluster = *machine.cluster;
  CHECK(cluster.device(0).memory_bytes == std::int64_t{16} << 30);
  CHECK(cluster.device(1).memory_bytes == std::int64_t{48} << 30);
  CHECK(cluster.device(1).memory_bandwidth == 273e9);  // its data sheet's
  CHECK(cluster.device(1).op_overhead_us == find_known_device("gb10")->device.op_overhead_us);
  CHECK(cluster.route(0, 1).bandwidth_bytes_per_s == facts.host.memory_bandwidth / 2);
  CHECK(channels(cluster, "gpu:0", "cpu:0").empty());
  REQUIRE(machine.notes.size() == 1);
  CHECK(machine.notes[0].find("gpu:0, NVIDIA GB10, has no memory of its own") != std::string::npos);
}

TEST_CASE("what a GPU does not tell makes no figure and no fault") {
  MachineFacts facts = server();
  facts.gpus = {GpuFacts{}};
  facts.nvlinks.clear();
  const auto machine = machine_of(facts);
  CHECK(machine.cluster->device(1).kind == "gpu");
  CHECK(machine.cluster->device(1).flops == 0);
  CHECK(machine.cluster->device(1).memory_bytes == kNoLimit);
  REQUIRE(machine.notes.size() == 1);
  CHECK(machine.notes[0].find("memory_bytes, flops, memory_bandwidth_bytes_per_s") !=
        std::string::npos);
  CHECK(machine.link_sources.front().find("a guess") != std::string::npos);
}

TEST_CASE("the written machine is read again, each figure with its source") {
  const DetectedMachine machine = machine_of(server());
  const std::string text = detect::cluster_json(machine);
  const auto again = parse_cluster(text, "machine.json");
  CHECK(berth::cluster_json(*again) == berth::cluster_json(*machine.cluster));
  const auto document = nlohmann::json::parse(text);
  for (const char* list : {"devices", "links"}) {
    for (const auto& each : document[list]) CHECK(each["source"].get<std::string>().size() > 10);
  }
}

TEST_CASE("this machine has a host with figures") {
  MachineFacts facts = read_machine();
  CHECK(facts.host.cores >= 1);
  CHECK(facts.host.sockets >= 1);
  facts.gpus.clear();
  facts.nvlinks.clear();
  const Device host = machine_of(facts).cluster->device(0);
  CHECK(host.memory_bytes > 0);
  CHECK(host.flops > 1e9);
  CHECK(host.memory_bandwidth > 1e8);
}

TEST_CASE("figures that were measured twice are the same mostly") {
  const std::pair<double, double> cases[] = {
      {9.6e9, 1e10},     {1.03e10, 1e10},  {1.15e10, 1.1e10},
      {1.23e10, 1.3e10}, {4.4e11, 4.5e11}, {0, 0},
  };
  for (const auto& [measured, expected] : cases) {
    CAPTURE(measured);
    CHECK(steady_figure(measured) == expected);
    CHECK(std::abs(steady_figure(measured) - measured) <= 0.08 * measured);
  }
}

TEST_CASE("a core's units follow from what Linux tells of it") {
  struct Core {
    std::map<std::string, std::string> fields;
    double f32_per_cycle;
    const char* name;
  };
  const std::string zen_4 = "fpu sse avx fma avx2 avx512f";
  const Core cores[] = {
      {{{"model name", "AMD EPYC 9354"},
        {"vendor_id", "AuthenticAMD"},
        {"cpu family", "25"},
        {"flags", zen_4}},
       32,
       "AMD EPYC 9354"},
      {{{"model name", "AMD EPYC 9355"},
        {"vendor_id", "AuthenticAMD"},
        {"cpu family", "26"},
        {"flags", zen_4}},
       64,
       "AMD EPYC 9355"},
      {{{"model name", "Xeon"}, {"vendor_id", "GenuineIntel"}, {"flags", zen_4}}, 64, "Xeon"},
      {{{"model name", "old"}, {"flags", "fpu sse avx2_not avx"}}, 16, "old"},
      {{{"CPU implementer", "0x41"}, {"CPU part", "0xd4f"}, {"Features", "fp asimd sve"}},
       32,
       "Arm Neoverse V2"},
      {{{"CPU implementer", "0x41"}, {"CPU part", "0xd42"}, {"Features", "fp asimd"}},
       16,
       "Arm Cortex-A78AE"},
      {{{"CPU implementer", "0x61"}, {"CPU part", "0x022"}, {"Features", "fp asimd"}},
       32,
       "Arm core of implementer 0x61, part 0x022"},
      {{}, 8, ""},
  };
  for (const Core& core : cores) {
    CAPTURE(core.name);
    const auto field = [&](std::string_view key) {
      const auto found = core.fields.find(std::string(key));
      return found == core.fields.end() ? std::string() : found->second;
    };
    CHECK(vector_units(field).f32_per_cycle == core.f32_per_cycle);
    CHECK(processor_name(field) == core.name);
  }
}

TEST_CASE("the host's bandwidth is measured without threads where the system starts none") {
  threads_left = 0;
  const HostFacts host = read_host();
  threads_left = std::numeric_limits<int>::max();
  CHECK(host.memory_bandwidth > 0);
}

TEST_CASE("GPUs are those that the driver's library tells of") {
  const EnvironmentVariable unmasked("CUDA_VISIBLE_DEVICES", std::nullopt);
  MachineFacts facts;
  read_gpus(facts, BERTH_FAKE_NVML);
  REQUIRE(facts.gpus.size() == 2);
  CHECK(facts.gpus[0].name == "NVIDIA A100-SXM4-40GB");
  CHECK(facts.gpus[1].bus == "0000:af:00.0");
  CHECK(facts.gpus[0].cores == 6912);
  CHECK(facts.gpus[0].memory_bits == 5120);
  REQUIRE(facts.nvlinks.size() == 2);
  CHECK(facts.nvlinks[1].peer == 0);
  CHECK(facts.nvlinks[1].lanes == 4);
  CHECK(facts.without_peer_access == std::vector<std::pair<int, int>>{{1, 0}});
  REQUIRE(facts.notes.size() == 1);  // of the GPU that it may not open
  CHECK(facts.notes[0].find("GPU 2") != std::string::npos);

  CHECK(machine_of(facts).cluster->name() == "detected");

  MachineFacts bare;
  read_gpus(bare, "libabsent.so.1");
  CHECK(bare.gpus.empty());
  REQUIRE(bare.notes.size() == 1);
  CHECK(bare.notes[0].find("libabsent.so.1") != std::string::npos);
}

TEST_CASE("GPUs are visible by number or by UUID, as CUDA reads its variable") {
  const std::vector<std::string> uuids = {"GPU-aa11", "GPU-ab22", "GPU-cc33"};
  const std::pair<const char*, std::vector<std::size_t>> cases[] = {
      {"0,1,2", {0, 1, 2}},
      {"2", {2}},
      {"2,0", {2, 0}},
      {"", {}},
      {"-1", {}},
      {"1,-1,0", {1}},
      {" 1 , 2", {1, 2}},
      {"0,3,1", {0}},
      {"1,1", {}},
      {"0,,1", {0}},
      {"NoDevFiles", {}},
      {"1x", {1}},
      {"GPU-cc33,GPU-a", {2}},
      {"GPU-ab,0", {1, 0}},
      {"GPU-dd", {}},
      {"MIG-aa11", {}},
      {"GPU-cc33,2", {}},
  };
  for (const auto& [mask, expected] : cases) {
    CAPTURE(mask);
    std::vector<std::size_t> gpus;
    for (const detect::VisibleGpu& each : visible_gpus(mask, uuids)) gpus.push_back(each.gpu);
    CHECK(gpus == expected);
  }
}

TEST_CASE("a process has the GPUs that CUDA_VISIBLE_DEVICES leaves it, by its own numbers") {
  const EnvironmentVariable masked("CUDA_VISIBLE_DEVICES", "GPU-af");
  MachineFacts facts;
  read_gpus(facts, BERTH_FAKE_NVML);
  REQUIRE(facts.gpus.size() == 1);
  CHECK(facts.gpus[0].bus == "0000:af:00.0");
  CHECK(facts.nvlinks.empty());
  CHECK(facts.without_peer_access.empty());
  REQUIRE(facts.notes.size() == 2);
  CHECK(facts.notes[1] ==
        "CUDA_VISIBLE_DEVICES=GPU-af leaves this process 1 of 2 GPUs; unset it to plan for all");
  const auto cluster = machine_of(facts).cluster;
  CHECK(cluster->device_names() == "cpu:0, gpu:0");
  CHECK(cluster->name() == "detected with CUDA_VISIBLE_DEVICES=GPU-af");

  const EnvironmentVariable turned("CUDA_VISIBLE_DEVICES", "1,0");
  MachineFacts all;
  read_gpus(all, BERTH_FAKE_NVML);
  REQUIRE(all.gpus.size() == 2);
  CHECK(all.gpus[0].bus == "0000:af:00.0");
  CHECK(all.without_peer_access == std::vector<std::pair<int, int>>{{0, 1}});
  CHECK(all.notes.size() == 1);  // nothing is kept from it by the variable
}

}  // namespace
}  // namespace berth::test
