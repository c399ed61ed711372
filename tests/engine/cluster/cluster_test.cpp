#include "berth/cluster.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "support/expect_error.h"

namespace berth {
namespace {

Device device(const std::string& name, const std::string& kind) {
  Device made;
  made.name = name;
  made.kind = kind;
  return made;
}

const std::vector<Device> kThree = {device("cpu:0", "cpu"), device("gpu:0", "gpu"),
                                    device("gpu:1", "gpu")};

TEST_CASE("Cluster: kinds and names") {
  const Cluster cluster("c", kThree, {{"*", "*", 1e9, 2, {}}});
  CHECK(cluster.kind_count() == 2);
  CHECK(cluster.kind_of(0) != cluster.kind_of(1));
  CHECK(cluster.kind_of(1) == cluster.kind_of(2));
  CHECK(cluster.kind_device(cluster.kind_of(2)).name == "gpu:0");
  CHECK(cluster.find_device("gpu:1") == 2);
  CHECK_FALSE(cluster.find_device("gpu:2").has_value());
  CHECK(cluster.device_names() == "cpu:0, gpu:0, gpu:1");
}

TEST_CASE("Cluster: the more specific link wins, then the later one") {
  const Cluster cluster("c", kThree,
                        {{"gpu:0", "gpu:1", 5e9, 1, {"nvlink"}},
                         {"gpu:0", "*", 3e9, 1, {}},
                         {"*", "*", 1e9, 2, {"pcie", "qpi", "pcie"}},
                         {"*", "gpu:0", 4e9, 1, {}},
                         {"*", "gpu:0", 2e9, 1, {}}});
  CHECK(cluster.route(1, 2).bandwidth_bytes_per_s == 5e9);
  CHECK(cluster.route(1, 0).bandwidth_bytes_per_s == 3e9);
  CHECK(cluster.route(0, 1).bandwidth_bytes_per_s == 2e9);
  CHECK(cluster.route(0, 2).bandwidth_bytes_per_s == 1e9);
  CHECK(cluster.route(0, 2).channels.size() == 2);  // distinct
  CHECK(cluster.channel_count() == 3);
  CHECK(cluster.channel_name(cluster.route(1, 2).channels.at(0)) == "nvlink");
  CHECK(cluster.route(0, 2).transfer_us(3000) == doctest::Approx(2 + 3));
}

TEST_CASE("Cluster: a link may share many channels, each with others that name it") {
  LinkSpec link{"*", "*", 1e9, 2, {}};
  for (int i = 0; i < 100'000; ++i) link.shares.push_back(std::to_string(i));
  const Cluster cluster("c", kThree, {link, {"gpu:0", "gpu:1", 1e9, 2, {"7", "own"}}});
  CHECK(cluster.channel_count() == 100'001);
  CHECK(cluster.route(0, 1).channels.size() == 100'000);
  REQUIRE(cluster.route(1, 2).channels.size() == 2);
  CHECK(cluster.channel_name(cluster.route(1, 2).channels[0]) == "7");
}

TEST_CASE("Cluster: a link may be parallel, and shares nothing then") {
  const Cluster cluster("c", kThree,
                        {{"*", "*", 1e9, 2, {}}, {"gpu:0", "gpu:1", 1e9, 2, {}, true}});
  CHECK(cluster.has_parallel_routes());
  CHECK(cluster.route(1, 2).parallel);
  CHECK_FALSE(cluster.route(2, 1).parallel);
  CHECK_FALSE(Cluster("c", kThree, {{"*", "*", 1e9, 2, {}}}).has_parallel_routes());
  test::expect_error(ErrorCode::invalid_argument, {"gpu:0 -> *", "parallel", "'pcie'"}, [] {
    Cluster("c", kThree, {{"*", "*", 1e9, 2, {}}, {"gpu:0", "*", 1e9, 2, {"pcie"}, true}});
  });
}

TEST_CASE("Cluster: one device needs no links") {
  CHECK(Cluster("c", {device("cpu:0", "cpu")}, {}).device_count() == 1);
}

TEST_CASE("Cluster refuses what makes no sense") {
  const std::vector<LinkSpec> any = {{"*", "*", 1e9, 0, {}}};
  const auto refuse = [](std::vector<Device> devices, const std::vector<LinkSpec>& links,
                         std::initializer_list<std::string_view> parts) {
    test::expect_error(ErrorCode::invalid_argument, parts,
                       [&] { Cluster("c", std::move(devices), links); });
  };
  refuse({}, any, {"no devices"});
  refuse({device("a", "k"), device("a", "k")}, any, {"'a'", "unique"});
  refuse({device("", "k")}, any, {"name"});
  refuse({device("a", "")}, any, {"'a'", "kind"});
  refuse(kThree, {}, {"no link from 'cpu:0' to 'gpu:0'"});
  refuse(kThree, {{"*", "*", 0, 0, {}}}, {"bandwidth"});
  refuse(kThree, {{"*", "*", 1e9, -1, {}}}, {"latency"});
  refuse(kThree, {any[0], {"gpu:7", "*", 1e9, 0, {}}}, {"'gpu:7'", "cpu:0, gpu:0, gpu:1"});
  std::vector<Device> devices = kThree;
  devices[1].flops = 1e12;
  refuse(devices, any, {"'gpu:0'", "'gpu:1'", "kind 'gpu'", "differ in 'flops'"});
  devices = {device("gpu:0", "gpu"), device("gpu:1", "gpu")};
  devices[1].op_overhead_us = 3;
  refuse(devices, any, {"'gpu:0'", "'gpu:1'", "kind 'gpu'", "differ in 'op_overhead_us'"});
  devices[1] = device("gpu:1", "gpu");
  devices[1].host = true;
  refuse(devices, any, {"'gpu:0'", "'gpu:1'", "kind 'gpu'", "differ in 'host'"});
  devices[1] = device("gpu:1", "gpu");
  devices[1].engine_per_link = true;
  refuse(devices, any, {"'gpu:0'", "'gpu:1'", "differ in 'engine_per_link'"});
  devices[1] = device("gpu:1", "gpu");
  devices[1].multiprocessors = 3;
  refuse(devices, any, {"'gpu:0'", "'gpu:1'", "kind 'gpu'"});
  devices[1] = device("gpu:1", "gpu");
  devices[1].flops_tf32 = 3;
  refuse(devices, any, {"'gpu:0'", "'gpu:1'", "differ in 'flops_tf32'"});
  devices[1] = device("gpu:1", "gpu");
  devices[1].runs.types = {"Conv"};
  refuse(devices, any, {"'gpu:0'", "'gpu:1'", "differ in 'runs'"});
  devices[1] = device("gpu:1", "npu");
  devices[1].runs.dtypes = {DType::unknown};
  refuse(devices, any, {"'gpu:1'", "unknown element type"});
  devices = kThree;
  devices[0].memory_bytes = -1;
  refuse(devices, any, {"'cpu:0'", "memory"});
  devices = kThree;
  devices[0].flops = std::numeric_limits<double>::quiet_NaN();
  refuse(devices, any, {"'cpu:0'", "finite"});
  devices = kThree;
  devices[0].flops_tf32 = -1;
  refuse(devices, any, {"'cpu:0'", "not negative"});
}

}  // namespace
}  // namespace berth
