#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "berth/files.h"
#include "support/expect_error.h"

namespace berth {
namespace {

std::shared_ptr<const Graph> two_ops(const char* second) {
  GraphBuilder builder("g");
  builder.add_op("a", "Op");
  builder.add_op(second, "Op");
  return builder.build();
}

Cluster two_devices() {
  Device cpu, gpu;
  cpu.name = cpu.kind = "cpu";
  gpu.name = gpu.kind = "gpu";
  return Cluster("c", {cpu, gpu}, {{"*", "*", 1e9, 0, {}}});
}

TEST_CASE("placement_json reads back, with results and provenance") {
  const auto graph = two_ops("b \"quoted\" \xc3\xa9");
  const Cluster cluster = two_devices();
  Evaluation evaluation;
  evaluation.runtime_us = 12.5;
  evaluation.peak_bytes = {1, 2};
  const Origin provenance{"layers.onnx", "topo", {{"parts", std::int64_t{3}}}, 7, {}};
  const std::string json = placement_json(*graph, cluster, {1, 0}, &evaluation, &provenance);
  CHECK(parse_placement(json, "p.json", *graph, cluster) == Placement{1, 0});
  const auto document = nlohmann::json::parse(json);
  CHECK(document["format"] == "berth.placement/1");
  CHECK(document["results"]["runtime_us"] == 12.5);
  CHECK_FALSE(document["results"].contains("max_load_us"));
  CHECK(document["provenance"]["seed"] == 7);
  CHECK(document["provenance"]["options"]["parts"] == 3);
}

TEST_CASE("parse_placement refuses a placement for another graph or cluster") {
  const auto graph = two_ops("b");
  const Cluster cluster = two_devices();
  const std::string good = placement_json(*graph, cluster, {1, 0}, nullptr, nullptr);
  const auto refuse = [&](const std::string& json, std::initializer_list<std::string_view> parts) {
    test::expect_error(ErrorCode::invalid_file, parts, [&] {
      static_cast<void>(parse_placement(json, "p.json", *graph, cluster));
    });
  };
  refuse(placement_json(*two_ops("other"), cluster, {1, 0}, nullptr, nullptr),
         {"p.json", "assignment.other", "another graph"});
  std::string text = good;
  text.replace(text.find("\"gpu\"", text.find("assignment")), 5, "\"tpu\"");
  refuse(text, {"assignment.a", "'tpu'", "cpu, gpu"});
  auto document = nlohmann::json::parse(good);
  document["assignment"].erase("b");
  refuse(document.dump(), {"assignment", "'b'", "missing"});
  document["assignment"] = 3;
  refuse(document.dump(), {"assignment"});
  refuse("{}", {"missing"});
}

}  // namespace
}  // namespace berth
