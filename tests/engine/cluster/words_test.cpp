// Machines in words, and the devices that they name.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "berth/error.h"
#include "berth/files.h"
#include "berth/machines.h"
#include "berth/support/text.h"
#include "support/expect_error.h"

namespace berth::test {
namespace {

constexpr double kPcie4x16 = 0.8 * 31.5e9;

TEST_CASE("every known device has figures, a source and a machine of its own") {
  std::set<std::string> words;
  for (const KnownDevice& known : known_devices()) {
    CAPTURE(known.device.name);
    CHECK(words.insert(known.device.name).second);
    CHECK_FALSE(known.description.empty());
    CHECK_FALSE(known.source.empty());
    CHECK(known.device.flops > 0);
    CHECK(known.device.memory_bandwidth > 0);
    CHECK(known.device.op_overhead_us > 0);
    CHECK((known.capability > 0) == (known.maker == "NVIDIA" && !known.device.host));
    CHECK(find_known_device(known.device.name) == &known);
    // Tensor cores are not slower than vector units, nor narrow types than wide ones.
    if (known.device.flops_16 > 0) CHECK(known.device.flops_16 >= known.device.flops);
    if (known.device.flops_8 > 0) CHECK(known.device.flops_8 >= known.device.flops_16 * 0.5);
    CHECK(known.device.flops_tf32 == (known.capability >= 80 ? known.device.flops_16 / 2 : 0));
    const bool sized = known.device.memory_bytes > 0;
    const auto cluster = machine_of_words(known.device.name + (sized ? "" : ":32GiB"));
    CHECK(cluster->device(0).host);
    CHECK(cluster->device_count() == (known.device.host ? 1 : known.npu.name.empty() ? 2 : 3));
    for (DeviceId device = 0; device < cluster->device_count(); ++device) {
      CHECK(cluster->device(device).runs.every() == (device < 2));
    }
  }
  CHECK(words.size() > 50);
}

TEST_CASE("two unequal cards and a host") {
  const auto cluster = machine_of_words("rtx4090+2xrtx4060+host:64GiB");
  CHECK(cluster->name() == "rtx4090+2xrtx4060+host:64GiB");
  CHECK(cluster->device_names() == "cpu:0, gpu:0, gpu:1, gpu:2");
  CHECK(cluster->device(0).memory_bytes == std::int64_t{64} << 30);
  CHECK(cluster->device(1).kind == "rtx4090");
  CHECK(cluster->device(3).kind == "rtx4060");
  CHECK(cluster->kind_count() == 3);
  // Three cards on a desktop's lanes have four each; from card to card through the host's memory.
  CHECK(cluster->route(1, 0).bandwidth_bytes_per_s == doctest::Approx(kPcie4x16 / 4));
  CHECK(cluster->route(2, 0).bandwidth_bytes_per_s == doctest::Approx(kPcie4x16 / 4));
  CHECK(cluster->route(1, 2).bandwidth_bytes_per_s == doctest::Approx(0.85 * kPcie4x16 / 4));
  CHECK(cluster->route(1, 2).latency_us == 2 * cluster->route(1, 0).latency_us);
}

TEST_CASE("a machine without a host among its words has one") {
  const auto cluster = machine_of_words("l4");
  CHECK(cluster->device(0).host);
  CHECK(cluster->device(0).memory_bytes == std::int64_t{32} << 30);
}

TEST_CASE("cards that only servers have are in one where the words name no host") {
  const std::int64_t server = find_known_device("server")->device.memory_bytes;
  for (const char* const words : {"h100", "h100x4", "A100-40GB", "v100x4", "b200x2", "mi300x",
                                  "h800", "a100-pcie", "mi355x", "rtx4090+h200"}) {
    CAPTURE(std::string(words));
    CHECK(machine_of_words(words)->device(0).memory_bytes == server);
    REQUIRE(assumed_host(words) != nullptr);
    CHECK(assumed_host(words)->device.name == "server");
  }
  CHECK(machine_of_words("h100+host")->device(0).memory_bytes == std::int64_t{32} << 30);
  CHECK(assumed_host("h100+host") == nullptr);
  CHECK(assumed_host("orin") == nullptr);  // a chip is its own
  CHECK(assumed_host("k80x1")->device.name == "host");
  CHECK(assumed_host("gb200")->device.name == "grace");
}

TEST_CASE("memory is read as people write it") {
  for (const char* const amount : {"64gb", "64G", "64g", "64Gi", "64GIB", "64 GiB", "64GB"}) {
    CAPTURE(std::string(amount));
    const bool decimal = std::set<std::string>{"64gb", "64GB"}.contains(amount);
    CHECK(machine_of_words(std::string("rtx4090+host:") + amount)->device(0).memory_bytes ==
          (decimal ? 64'000'000'000 : std::int64_t{64} << 30));
  }
}

TEST_CASE("suffixes change memory and slot") {
  const auto cluster = machine_of_words("rtx3060:7.5GiB@pcie3x4+rtx3060+host:0");
  CHECK(cluster->device(0).memory_bytes == 0);
  CHECK(cluster->device(1).memory_bytes == std::int64_t{15} << 29);
  CHECK(cluster->device(2).memory_bytes > std::int64_t{11} << 30);
  CHECK(cluster->route(1, 0).bandwidth_bytes_per_s == doctest::Approx(0.8 * 15.75e9 / 4));
  CHECK(cluster->route(2, 0).bandwidth_bytes_per_s == doctest::Approx(kPcie4x16));
  CHECK(machine_of_words("rtx4090@tb4")->route(1, 0).bandwidth_bytes_per_s ==
        doctest::Approx(2.75e9));
  CHECK(machine_of_words("rtx4090@6GBps")->route(1, 0).bandwidth_bytes_per_s == 6e9);
}

TEST_CASE("bridges: where they always are, and where they are asked for") {
  const auto between = [](const char* words) {
    return machine_of_words(words)->route(1, 2).bandwidth_bytes_per_s;
  };
  CHECK(between("2xrtx3090+server") == doctest::Approx(0.85 * kPcie4x16));
  CHECK(between("2xrtx3090@nvlink") == doctest::Approx(0.9 * 56.25e9));
  CHECK(between("h200x8") == doctest::Approx(0.9 * 450e9));
  // Cards in slots have none unless it is said.
  CHECK(between("2xh100@pcie5x16") == doctest::Approx(2 * kPcie4x16));
  CHECK(between("2xh100@pcie5x16@nvlink") == between("2xh100"));
  CHECK(between("2xh100@50GBps") == between("2xh100"));
  CHECK(between("2xl40s") == doctest::Approx(kPcie4x16));
  CHECK(between("2xrtx6000ada") == doctest::Approx(kPcie4x16 / 2));  // in a desktop
  CHECK(between("h100+a100") == doctest::Approx(kPcie4x16));
}

TEST_CASE("links join as many as their lanes reach, the first ones, then the next") {
  const auto rates = [](const char* words) {
    std::vector<double> to;  // from the first to each other
    const auto cluster = machine_of_words(words);
    for (DeviceId other = 2; other < cluster->device_count(); ++other) {
      to.push_back(cluster->route(1, other).bandwidth_bytes_per_s / 1e9);
    }
    return to;
  };
  const auto check = [&](const char* words, std::vector<double> expected) {
    CAPTURE(words);
    const std::vector<double> found = rates(words);
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]));
  };
  const double bridge = 0.9 * 56.25, staged = 0.85 * 0.8 * 31.5, old_slot = 0.8 * 15.75;
  check("4xrtx3090@nvlink+server", {bridge, staged, staged});
  check("rtx3090@nvlink+rtx3090+rtx3090@nvlink", {staged / 4, bridge});
  check("6xv100", {45, 45, 45, old_slot, old_slot});
  check("6xp100", {18, 18, 18, 18, old_slot});
  check("4xmi250", {180, 45, 45});
}

TEST_CASE("one operation in f32 is issued at a time on Radeons since RDNA 3") {
  for (const char* const word : {"rx7600", "rx7900xtx", "w7900", "strixhalo"}) {
    CAPTURE(word);
    const Device& device = find_known_device(word)->device;
    CHECK(device.flops_16 == doctest::Approx(4 * device.flops).epsilon(0.01));
  }
  for (const char* const word : {"rx9060xt", "rx9070xt", "r9700"}) {
    CAPTURE(word);
    const Device& device = find_known_device(word)->device;
    CHECK(device.flops_16 == doctest::Approx(8 * device.flops).epsilon(0.01));
  }
  CHECK(find_known_device("p100")->device.flops_16 == 0);
}

TEST_CASE("a link to the host is as fast as card, slot and the host's memory are") {
  const auto rate = [](const char* words) {
    return machine_of_words(words)->route(0, 1).bandwidth_bytes_per_s;
  };
  CHECK(rate("rtx4060@pcie4x16") == rate("rtx4060"));
  CHECK(rate("rtx3090@pcie5x16") == rate("rtx3090"));
  CHECK(rate("rtx3090@pcie5x4") == doctest::Approx(kPcie4x16 / 4));
  CHECK(rate("t4@pcie5x16") == rate("t4@pcie3x16"));
  CHECK(rate("rtx5090@pcie3x16") == doctest::Approx(kPcie4x16 / 2));
  const auto grace = machine_of_words("gb200");
  CHECK(grace->device(0).memory_bytes == std::int64_t{480} << 30);
  CHECK(rate("gb200") < grace->device(0).memory_bandwidth);
  CHECK(rate("gb200+host") == find_known_device("host")->device.memory_bandwidth);
}

TEST_CASE("a host has an engine per link, and so has a GPU of a mesh") {
  const auto engines = [](const char* words) {
    const auto machine = machine_of_words(words);
    return std::pair(machine->device(0).engine_per_link, machine->device(1).engine_per_link);
  };
  for (const char* words : {"2xrtx4090", "8xh100", "2xrtx3090@nvlink", "2xv100", "v100@pcie3x16"}) {
    CAPTURE(words);
    CHECK(engines(words) == std::pair(true, false));
  }
  for (const char* words : {"8xmi300x", "4xv100", "4xmi250"}) {
    CAPTURE(words);
    CHECK(engines(words) == std::pair(true, true));
  }
  CHECK(engines("m1:16GiB") == std::pair(false, false));

  // Transfers over the slots of a mesh take turns there.
  const auto six = machine_of_words("6xv100");
  const auto channels = [&](DeviceId src, DeviceId dst) {
    std::set<std::string> names;
    for (const ChannelId id : six->route(src, dst).channels) names.insert(six->channel_name(id));
    return names;
  };
  using Names = std::set<std::string>;
  CHECK(channels(1, 2).empty());
  CHECK(channels(1, 6) == Names{"pcie:gpu:0:up", "pcie:gpu:5:down"});
  CHECK(channels(1, 0) == Names{"pcie:gpu:0:up"});
}

TEST_CASE("a host feeds as many devices at once as its memory has the bandwidth for") {
  const auto channels = [](const char* words) {
    const auto machine = machine_of_words(words);
    std::set<ChannelId> down;
    for (DeviceId gpu = 1; gpu < machine->device_count(); ++gpu) {
      const auto& of_link = machine->route(0, gpu).channels;
      down.insert(of_link.begin(), of_link.end());
    }
    return down.size();
  };
  // 51.2 GB/s and slots of 25.2; 460 and 50.4.
  CHECK(channels("2xrtx4090") == 0);
  CHECK(channels("3xrtx4090@pcie4x16+host") == 2);
  CHECK(channels("2xrtx5090@pcie5x16+host") == 1);
  CHECK(channels("8xh100") == 0);
}

TEST_CASE("cards of two makers exchange nothing directly") {
  const auto both = machine_of_words("h100+mi300x");
  CHECK(both->route(1, 2).bandwidth_bytes_per_s ==
        doctest::Approx(0.85 * both->route(1, 0).bandwidth_bytes_per_s));
  const auto one = machine_of_words("h100+l40s");
  CHECK(one->route(1, 2).bandwidth_bytes_per_s == one->route(2, 0).bandwidth_bytes_per_s);
}

TEST_CASE("copies both ways between cards without peer access take turns") {
  const auto cluster = machine_of_words("3xrtx4090+server");
  const auto channels = [&](DeviceId from, DeviceId to) {
    return cluster->route(from, to).channels;
  };
  REQUIRE(channels(1, 2).size() == 1);
  CHECK(channels(1, 2) == channels(2, 1));
  CHECK(channels(1, 2) != channels(1, 3));
  CHECK(channels(1, 0).empty());
  CHECK(machine_of_words("2xl40s")->route(1, 2).channels.empty());
}

TEST_CASE(
    "cards share the lanes of a desktop's processor, unless words name their slot or a server") {
  const auto rates = [](const char* words) {
    std::vector<double> of;  // of each card, in lanes of PCIe 4.0
    const auto cluster = machine_of_words(words);
    for (DeviceId card = 1; card < cluster->device_count(); ++card) {
      of.push_back(cluster->route(0, card).bandwidth_bytes_per_s / kPcie4x16 * 16);
    }
    return of;
  };
  const std::pair<const char*, std::vector<double>> cases[] = {
      {"rtx4090", {16}},
      {"2xrtx4090", {8, 8}},
      {"rtx4090+rtx4060+host5", {8, 8}},
      {"2xrtx5060ti", {16, 16}},  // x8 of PCIe 5.0 as it is
      {"3xrtx4090", {4, 4, 4}},
      {"rtx4090@pcie4x16+rtx4090", {16, 8}},
      {"rtx4090+rtx4060@pcie4x4", {16, 4}},  // on the chipset
      {"2xrtx4090+server", {16, 16}},
      {"2xa100-pcie", {16, 16}},  // which has a server
  };
  for (const auto& [words, lanes] : cases) {
    CAPTURE(words);
    const std::vector<double> found = rates(words);
    REQUIRE(found.size() == lanes.size());
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(lanes[i]));
  }
  REQUIRE(machine_notes("2xrtx4090").size() == 1);
  CHECK(
      machine_notes("2xrtx4090")[0] ==
      "machine '2xrtx4090': its 2 cards share the 16 PCIe lanes of a desktop's processor, so that "
      "'rtx4090' has x8; say the slot where it has another, such as rtx4090@pcie4x16, or +server "
      "for a host with a full slot for each");
  CHECK(machine_notes("4xrtx3090")[0].find("x4, some of it through the chipset") !=
        std::string::npos);
  for (const char* const words : {"rtx4090", "2xrtx4090@pcie4x16", "2xrtx4090+server",
                                  "rtx4090+rtx4060@tb4", "2xrtx5060ti", "m2max:64GiB"}) {
    CAPTURE(words);
    CHECK(machine_notes(words).empty());
  }
}

TEST_CASE(
    "a size of at least a card's memory is the card's own, of which a context takes its part") {
  const auto memory = [](const std::string& words) {
    return machine_of_words(words)->device(1).memory_bytes;
  };
  CHECK(memory("rtx3060:12GiB") == memory("rtx3060"));
  CHECK(memory("rtx3060:11.8GiB") == memory("rtx3060"));
  CHECK(memory("rtx3060:11GiB") == std::int64_t{11} << 30);
  CHECK(memory("p40:24GiB") == memory("p40"));  // less ECC
  CHECK(memory("rtx4090:48GiB") == (std::int64_t{48} << 30) - (std::int64_t{512} << 20));
}

TEST_CASE("a host's memory is as fast as its words say") {
  const auto host = machine_of_words("rtx4090+host:64GiB@40GBps")->device(0);
  CHECK(host.memory_bandwidth == 40e9);
  CHECK(host.memory_bytes == std::int64_t{64} << 30);
}

TEST_CASE("slots of earlier generations, risers and cables") {
  const auto rate = [](const char* words) {
    return machine_of_words(words)->route(0, 1).bandwidth_bytes_per_s;
  };
  CHECK(rate("rtx3060@pcie1x1") == doctest::Approx(0.8 * 0.25e9));
  CHECK(rate("rtx3060@pcie2x4") == doctest::Approx(0.8 * 2e9));
  CHECK(rate("rtx4090@oculink") == rate("rtx4090@pcie4x4"));
  CHECK(rate("rtx4090@usb4") == rate("rtx4090@tb3"));
}

TEST_CASE("NVIDIA's devices are found by the names that its driver prints") {
  for (const KnownDevice& known : known_devices()) {
    if (known.capability == 0) continue;
    CAPTURE(known.device.name);
    // Jetson's modules share one name.
    const bool jetson = known.capability == 87;
    CHECK(known.driver_names.empty() == jetson);
    for (const std::string& name : known.driver_names) {
      CAPTURE(name);
      const KnownDevice* const found = find_named_device(name);
      REQUIRE(found != nullptr);
      // Sizes of one product may share a name.
      CHECK(found->device.flops == known.device.flops);
      CHECK(found->device.flops_16 == known.device.flops_16);
      CHECK(found->capability == known.capability);
    }
  }
  const std::pair<const char*, const char*> names[] = {
      {"NVIDIA GeForce RTX 5090 Laptop GPU", "rtx5090laptop"},
      {"NVIDIA H100 PCIe", "h100-pcie"},
      {"NVIDIA H100 NVL", "h100-nvl"},
      {"Tesla P40", "p40"},
      {"Tesla T4", "t4"},
      {"Tesla V100-PCIE-32GB", "v100-pcie-32gb"},
      {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtxpro6000"},
      {"NVIDIA GH200 480GB", "gh200"},
      {"NVIDIA GB10", "gb10"},
      {"NVIDIA A10G", "a10g"},
      {"NVIDIA A100-SXM4-80GB", "a100"},
      {"NVIDIA RTX A6000", "a6000"},
      {"NVIDIA RTX 6000 Ada Generation", "rtx6000ada"},
  };
  for (const auto& [name, word] : names) {
    CAPTURE(name);
    REQUIRE(find_named_device(name) != nullptr);
    CHECK(find_named_device(name)->device.name == word);
    CHECK(machine_of_words(name)->device(1).kind == word);
  }
  CHECK(find_named_device("NVIDIA T1000 8GB") == nullptr);
}

TEST_CASE("a chip with one memory shares it between GPU and processor") {
  const auto cluster = machine_of_words("m2max:64GiB");
  CHECK(cluster->device_count() == 2);
  CHECK(cluster->device(0).memory_bytes + cluster->device(1).memory_bytes == std::int64_t{64}
                                                                                 << 30);
  CHECK(machine_of_words("gb10")->device(1).memory_bytes == std::int64_t{96} << 30);
  CHECK(machine_of_words("orin")->device(1).memory_bytes == std::int64_t{48} << 30);
}

TEST_CASE(
    "a phone: processor, GPU and neural processor in one memory, with what the last one runs") {
  for (const char* const words : {"a17pro", "sd8gen3:12GiB"}) {
    CAPTURE(words);
    const auto cluster = machine_of_words(words);
    CHECK(cluster->device_names() == "cpu:0, gpu:0, npu:0");
    const std::int64_t whole = std::int64_t{words[0] == 'a' ? 8 : 12} << 30;
    CHECK(cluster->device(0).memory_bytes + cluster->device(1).memory_bytes +
              cluster->device(2).memory_bytes ==
          whole);
    // Entering what was compiled takes long; copies do not pass through the processor.
    CHECK(cluster->route(0, 2).latency_us > 10 * cluster->route(0, 1).latency_us);
    CHECK(cluster->route(1, 2).bandwidth_bytes_per_s == cluster->route(0, 1).bandwidth_bytes_per_s);
    const Device& npu = cluster->device(2);
    CHECK(npu.flops_8 > npu.flops_16);
    CHECK(npu.flops_16 > cluster->device(1).flops_16);
    const auto runs = [&](const char* type) {
      return std::count(npu.runs.types.begin(), npu.runs.types.end(), type) == 1;
    };
    for (const char* const type : {"Conv", "MatMul", "Softmax", "LayerNormalization", "Relu"}) {
      CHECK(runs(type));
    }
    for (const char* const type : {"Loop", "If", "Scan", "NonMaxSuppression", "NonZero"}) {
      CHECK_FALSE(runs(type));
    }
    const std::set<std::string> distinct(npu.runs.types.begin(), npu.runs.types.end());
    CHECK(distinct.size() == npu.runs.types.size());
    CHECK(std::count(npu.runs.dtypes.begin(), npu.runs.dtypes.end(), DType::f16) == 1);
    CHECK(std::count(npu.runs.dtypes.begin(), npu.runs.dtypes.end(), DType::f64) == 0);
    const auto again = parse_cluster(cluster_json(*cluster), "again");
    CHECK(again->device(2).runs == npu.runs);
    CHECK(again->device(1).runs.every());
  }
}

TEST_CASE("words that are not understood, each with what is") {
  const auto refused = [](const char* words, std::initializer_list<std::string_view> parts) {
    expect_error(ErrorCode::invalid_argument, parts,
                 [&] { static_cast<void>(machine_of_words(words)); });
  };
  for (const char* words : {"rtx3090@nvlink", "3xrtx3090@nvlink", "rtx3090@nvlink+rtx3090",
                            "rtx3090@nvlink+a6000@nvlink", "h100@nvlink"}) {
    CAPTURE(words);
    refused(words, {"has no other end", "@nvlink for such a pair"});
  }
  refused("rtx4091", {"no device 'rtx4091'. Known: ", "mi300x", "berth devices", "`here`",
                      "berth.cluster/1 file"});
  refused("2xRTZ 4090", {"no device 'RTZ 4090'; did you mean 'rtx4090'?"});
  refused("v100-pcei", {"did you mean 'v100-pcie'?"});
  refused("serber", {"did you mean 'server'?"});
  refused("hosst", {"did you mean 'host'?"});
  refused("2xrtx4091+l4", {"no device 'rtx4091'"});
  refused("rtx4090+", {"a part is empty", "rtx4090+rtx4060+host:64GiB"});
  refused("rtx4090:12GG", {"'12GG'", "64GiB"});
  refused("rtx4090:12", {"'12' is no amount of memory"});
  refused("rtx4090@pcie9x16", {"'pcie9x16'", "pcie3x16", "nvlink", "tb4"});
  refused("rtx4090@nvlink", {"has no NVLink"});
  refused("host@pcie3x16", {"in no slot"});
  refused("host+host:1GiB", {"two hosts"});
  refused("m2max:64GiB+host", {"two hosts"});
  refused("m2max", {"several sizes", "m2max:NGiB"});
  refused("500xrtx3090", {"more than 128", "berth.cluster/1"});
  refused("0xrtx3090", {"no device '0xrtx3090'"});
  refused("rtx4090:-1GiB", {"'-1GiB'"});
  refused("rtx3060:8GiB:4GiB", {"'8GiB' and '4GiB'", "leave one out"});
  refused("rtx3060@pcie3x4@pcie4x1", {"'pcie3x4' and 'pcie4x1'"});
  refused("2xrtx3090@nvlink@nvlink", {"'nvlink' and 'nvlink'"});
  refused("here", {"the engine does not look", "`berth devices --cluster here --json`"});
  refused("here+rtx4090", {"stands for itself"});
}

TEST_CASE("no other device is suggested for one that is not known") {
  for (const char* const word : {"p4x", "a16", "l2", "gtx1630", "gb300", "k100-pcie", "mi400x",
                                 "m6", "rtx4040-laptop", "rtx3080ti12gb", "rtx9999"}) {
    CAPTURE(std::string(word));
    try {
      static_cast<void>(machine_of_words(word));
      FAIL_CHECK("it is known");
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find("did you mean") == std::string::npos);
    }
  }
}

TEST_CASE("a laptop's GPU has its own memory, bandwidth and lanes") {
  const Device& laptop = find_known_device("rtx4090laptop")->device;
  const Device& desktop = find_known_device("rtx4090")->device;
  CHECK(laptop.memory_bytes == (std::int64_t{16384} - 512) << 20);
  CHECK(laptop.memory_bandwidth < 0.6 * desktop.memory_bandwidth);
  CHECK(laptop.flops < 0.5 * desktop.flops);
  CHECK(find_known_device("rtx4070laptop")->slot == "pcie4x8");
}

TEST_CASE("names are found as people write them") {
  const auto kind_of = [](const char* words) { return machine_of_words(words)->device(1).kind; };
  CHECK(kind_of("RTX4090") == "rtx4090");
  CHECK(kind_of("rtx 4070 Ti Super") == "rtx4070tisuper");
  CHECK(kind_of("4090") == "rtx4090");
  CHECK(kind_of("2x3090") == "rtx3090");
  CHECK(kind_of("7900XTX") == "rx7900xtx");
  CHECK(kind_of("1080-Ti") == "gtx1080ti");
  CHECK(kind_of("H100 PCIe") == "h100-pcie");
  CHECK(kind_of("RTX 4070 Laptop") == "rtx4070laptop");
  CHECK(kind_of("4070-laptop") == "rtx4070laptop");
  CHECK(kind_of("rtx3060-8GB") == "rtx3060-8gb");
  CHECK(kind_of("M2Max:64GiB") == "m2max");
  CHECK(machine_of_words("2X RTX 3090")->device_count() == 3);
  CHECK(machine_of_words("4090x2")->device_count() == 3);
  CHECK(machine_of_words("RX 7900 XTXx2")->device_count() == 3);
  // A card of two sizes leaves the same to a context.
  CHECK(find_known_device("rtx4060ti-16gb")->device.memory_bytes < std::int64_t{31} << 29);
}

TEST_CASE("a text is a preset, words, a file or a file's content") {
  CHECK(load_cluster("h100x8")->route(1, 2).bandwidth_bytes_per_s == doctest::Approx(0.9 * 450e9));
  CHECK(load_cluster("h100x8")->device(0).memory_bytes == std::int64_t{2048} << 30);  // the preset
  CHECK(load_cluster("rtx3060:7.5GiB")->device(1).memory_bytes == std::int64_t{15} << 29);
  CHECK(names_cluster_file("machine.json"));
  CHECK(names_cluster_file("./rtx4090"));
  CHECK(names_cluster_file("v1.x"));
  CHECK_FALSE(names_cluster_file("rtx3060:7.5GiB+host:1.5GiB"));
  for (const char* const name : {"g5.xlarge", "a100-mig-1g.5gb"}) {
    expect_error(
        ErrorCode::not_found,
        {cat("there is no file '", name, "'"), "MIG", "4xa10g+server:192GiB", "berth.cluster/1"},
        [&] { static_cast<void>(load_cluster(name)); });
  }
  expect_error(ErrorCode::not_found, {"nowhere.json", "cannot be opened"},
               [] { static_cast<void>(load_cluster("nowhere.json")); });
  // What is written can be read back.
  const auto cluster = machine_of_words("rtx4090+rtx4060+host:64GiB");
  CHECK(parse_cluster(cluster_json(*cluster), "x")->route(1, 2).bandwidth_bytes_per_s ==
        cluster->route(1, 2).bandwidth_bytes_per_s);
  expect_error(ErrorCode::not_found, {"'k80y3'", "rtx3060", "k80x4"},
               [] { static_cast<void>(load_cluster("k80y3")); });
}

TEST_CASE(
    "a chip's GPU may take three quarters of its memory, beside a neural processor half of that, "
    "and what Apple's systems give it") {
  const std::pair<const char*, double> shares[] = {
      {"sd8gen3:12GiB", 0.75}, {"orinnano", 0.75},    {"a17pro", 2.0 / 3},
      {"m1:8GiB", 2.0 / 3},    {"m3:16GiB", 0.74},    {"m2pro:32GiB", 0.78},
      {"m3max:36GiB", 0.78},   {"m2max:64GiB", 0.81}, {"m5max:128GiB", 0.84}};
  for (const auto& [words, share] : shares) {
    CAPTURE(std::string(words));
    const auto cluster = machine_of_words(words);
    std::int64_t whole = 0, others = 0;
    for (DeviceId device = 0; device < cluster->device_count(); ++device) {
      whole += cluster->device(device).memory_bytes;
      if (device > 0) others += cluster->device(device).memory_bytes;
      if (device > 1)
        CHECK(cluster->device(device).memory_bytes == cluster->device(1).memory_bytes);
    }
    CHECK(static_cast<double>(others) == doctest::Approx(share * static_cast<double>(whole)));
  }
}

TEST_CASE("a copy within one memory reads and writes it") {
  // Apple: 400 GB/s; Qualcomm: 64 bits of LPDDR5X at 4,800 MHz on either edge.
  CHECK(machine_of_words("m2max:64GiB")->route(0, 1).bandwidth_bytes_per_s ==
        doctest::Approx(400e9 / 2));
  CHECK(machine_of_words("sd8gen3:12GiB")->route(1, 2).bandwidth_bytes_per_s ==
        doctest::Approx(8 * 2 * 4800e6 / 2));
}

TEST_CASE("NVLink to a processor carries 450 GB/s in one direction, and 0.9 of it is reached") {
  // NVIDIA's Grace Hopper white paper.
  for (const char* const words : {"h100@c2c", "gb200"}) {
    CAPTURE(std::string(words));
    const auto cluster = machine_of_words(words);
    CHECK(cluster->route(0, 1).bandwidth_bytes_per_s == doctest::Approx(0.9 * 450e9));
    CHECK(cluster->route(1, 0).bandwidth_bytes_per_s == doctest::Approx(0.9 * 450e9));
  }
}

TEST_CASE("latencies of links are between a bare link's and those of Placeto's simulator") {
  for (const char* const words : {"2xrtx3090@nvlink", "h200x8", "gb200", "m2max:64GiB", "rtx4090",
                                  "rtx3060@pcie3x4", "rtx4090@tb4", "rtx4090@6GBps"}) {
    CAPTURE(std::string(words));
    const auto cluster = machine_of_words(words);
    CHECK(cluster->route(0, 1).latency_us >= 1);
    CHECK(cluster->route(0, 1).latency_us <= 25);
  }
  // A bridge is no slower to begin than two copies by way of the host.
  const auto bridged = machine_of_words("2xrtx3090@nvlink"), apart = machine_of_words("2xrtx3090");
  CHECK(bridged->route(1, 2).latency_us >= 1);
  CHECK(bridged->route(1, 2).latency_us <= apart->route(1, 2).latency_us);
}

}  // namespace
}  // namespace berth::test
