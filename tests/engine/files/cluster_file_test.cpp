#include <doctest/doctest.h>

#include "berth/files.h"
#include "support/expect_error.h"

namespace berth {
namespace {

const std::string kGood = R"({"format": "berth.cluster/1", "name": "two",
  "devices": [{"name": "gpu:0", "kind": "gpu", "memory_bytes": 1.6e10, "flops": 1e12,
               "flops_16": 2e12, "flops_tf32": 1.5e12, "memory_bandwidth_bytes_per_s": 2e11, "op_overhead_us": 5,
               "multiprocessors": 7},
              {"name": "cpu:0", "kind": "cpu", "host": true, "engine_per_link": true},
              {"name": "npu:0", "kind": "npu", "runs": {"types": ["Conv", "Relu"],
               "dtypes": ["f16", "i8"]}}],
  "links": [{"src": "*", "dst": "*", "bandwidth_bytes_per_s": 1e10, "latency_us": 5,
             "shares": ["pcie"]}]})";

TEST_CASE("parse_cluster reads every key, and cluster_json writes it back") {
  const auto first = parse_cluster(kGood, "two.cluster.json");
  for (const auto& cluster : {first, parse_cluster(cluster_json(*first), "again")}) {
    CHECK(cluster->name() == "two");
    REQUIRE(cluster->device_count() == 3);
    CHECK(cluster->device(0).runs.every());
    CHECK(cluster->device(2).runs.types == std::vector<std::string>{"Conv", "Relu"});
    CHECK(cluster->device(2).runs.dtypes == std::vector{DType::f16, DType::i8});
    CHECK(cluster->device(0).memory_bytes == 16000000000);
    CHECK(cluster->device(0).flops == 1e12);
    CHECK(cluster->device(0).flops_16 == 2e12);
    CHECK(cluster->device(0).flops_tf32 == 1.5e12);
    CHECK(cluster->device(1).flops_tf32 == 0);
    CHECK(cluster->device(0).memory_bandwidth == 2e11);
    CHECK(cluster->device(0).op_overhead_us == 5);
    CHECK(cluster->device(0).multiprocessors == 7);
    CHECK(cluster->device(1).multiprocessors == 0);
    CHECK(cluster->device(1).memory_bytes == kNoLimit);
    CHECK(cluster->device(1).host);
    CHECK(cluster->device(1).engine_per_link);
    CHECK_FALSE(cluster->device(0).engine_per_link);
    CHECK(cluster->has_engines_per_link());
    CHECK(cluster->route(0, 1).bandwidth_bytes_per_s == 1e10);
    CHECK(cluster->route(0, 1).channels.size() == 1);
  }
}

TEST_CASE("memory is a number of bytes or a text with a unit") {
  const auto memory = [](const std::string& amount) {
    return parse_cluster(R"({"format": "berth.cluster/1", "name": "m", "links": [], "devices":
      [{"name": "gpu:0", "kind": "gpu", "memory_bytes": )" +
                             amount + "}]}",
                         "m.json")
        ->device(0)
        .memory_bytes;
  };
  CHECK(memory("25769803776") == std::int64_t{24} << 30);
  CHECK(memory("\"24GiB\"") == std::int64_t{24} << 30);
  CHECK(memory("\"24GB\"") == 24'000'000'000);
  CHECK(memory("\"0\"") == 0);
  for (const char* const bad : {"\"24\"", "\"much\""}) {
    test::expect_error(ErrorCode::invalid_file,
                       {"m.json", "devices[0].memory_bytes", "no amount of memory", "25769803776"},
                       [&] { static_cast<void>(memory(bad)); });
  }
}

TEST_CASE("a parallel link is read and written") {
  std::string text = kGood;
  const std::string shares = R"("shares": ["pcie"])";
  text.replace(text.find(shares), shares.size(), R"("parallel": true)");
  const auto first = parse_cluster(text, "parallel.cluster.json");
  CHECK(first->route(0, 1).parallel);
  CHECK(parse_cluster(cluster_json(*first), "again")->route(1, 0).parallel);
  CHECK_FALSE(parse_cluster(kGood, "good")->route(0, 1).parallel);
}

TEST_CASE("a link whose receiver copies is read and written, and holds nothing") {
  std::string text = kGood;
  const std::string shares = R"("shares": ["pcie"])";
  text.replace(text.find(shares), shares.size(), R"("receiver_us": 0.5)");
  const auto first = parse_cluster(text, "copies.cluster.json");
  const auto again = parse_cluster(cluster_json(*first), "again");
  CHECK(again->route(1, 0).receiver_us == 0.5);
  CHECK(again->route(1, 0).parallel);
  CHECK(again->route(1, 0).transfer_us(0) == again->route(1, 0).latency_us + 0.5);
  CHECK(again->has_copying_receivers());
  CHECK_FALSE(parse_cluster(kGood, "good")->has_copying_receivers());
}

TEST_CASE("parse_cluster refuses a bad file, naming file and place") {
  const std::vector<std::tuple<std::string, std::string, std::string>> cases = {
      {R"("kind": "gpu")", R"("kinds": "gpu")", "at devices[0]"},
      {R"("memory_bytes": 1.6e10)", R"("memory_bytes": -1)", "at devices[0].memory_bytes"},
      {R"("flops": 1e12)", R"("flops": "fast")", "at devices[0].flops"},
      {R"("host": true)", R"("host": 1)", "at devices[1].host"},
      {R"("dtypes": ["f16", "i8"])", R"("dtypes": ["int8"])", "'int8' is no element type"},
      {R"("dtypes": ["f16", "i8"])", R"("dtypes": ["unknown"])", "at devices[2].runs.dtypes[0]"},
      {R"(["Conv", "Relu"])", R"("Conv")", "at devices[2].runs.types"},
      {R"(["Conv", "Relu"])", R"([""])", "an op type without a name"},
      {R"("types": ["Conv", "Relu"])", R"("ops": ["Conv"])", "at devices[2].runs"},
      {R"({"types": ["Conv", "Relu"],
               "dtypes": ["f16", "i8"]})",
       "{}", "at devices[2].runs: says nothing"},
      {R"("shares": ["pcie"])", R"("parallel": 1)", "at links[0].parallel"},
      {R"("shares": ["pcie"])", R"("receiver_us": -1)", "at links[0].receiver_us"},
      {R"("shares": ["pcie"])", R"("shares": ["pcie"], "receiver_us": 1)", "'pcie'"},
      {R"("shares": ["pcie"])", R"("shares": ["pcie"], "parallel": true)", "'pcie'"},
      {R"("shares": ["pcie"])", R"("parallel": true, "receiver_us": 1)", "is parallel, but"},
      {R"("latency_us": 5)", R"("latency_us": -5)", "at links[0].latency_us"},
      {R"("bandwidth_bytes_per_s": 1e10)", R"("bandwidth_bytes_per_s": 0)", "bandwidth"},
      {R"("dst": "*")", R"("dst": "gpu:9")", "gpu:9"},
      {R"("name": "cpu:0")", R"("name": "gpu:0")", "'gpu:0'"},
  };
  for (const auto& [from, to, part] : cases) {
    std::string text = kGood;
    text.replace(text.find(from), from.size(), to);
    test::expect_error(ErrorCode::invalid_file, {"bad.json: ", part},
                       [&text = text] { static_cast<void>(parse_cluster(text, "bad.json")); });
  }
}

TEST_CASE("a number too large for a double is named with its place") {
  for (const std::string number : {"1e309", "-1e400", "1e99999999999"}) {
    std::string text = kGood;
    const std::string good = "2e11";
    text.replace(text.find(good), good.size(), number);
    test::expect_error(ErrorCode::invalid_file,
                       {"bad.json: line 3, column ", ": the number ", number, "too large"},
                       [&] { static_cast<void>(parse_cluster(text, "bad.json")); });
  }
  test::expect_error(ErrorCode::invalid_file, {"bad.json: line 1, column 1: ", "1e309"},
                     [] { static_cast<void>(parse_cluster("1e309", "bad.json")); });
}

TEST_CASE("cluster_json refuses names that are not UTF-8") {
  Device device;
  device.name = "gpu\xFF";
  device.kind = "gpu";
  const Cluster cluster("odd", {device}, {});
  test::expect_error(ErrorCode::invalid_argument, {"cluster 'odd'", "UTF-8", "rename"},
                     [&] { static_cast<void>(cluster_json(cluster)); });
}

}  // namespace
}  // namespace berth
