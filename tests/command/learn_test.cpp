// learn: rules for `instant` from models.
#include "berth.h"
#include "support/data.h"

using namespace berth::test;

TEST_CASE("learn writes rules that place uses") {
  const Workplace work;
  const ProcessResult learned =
      work.berth({"learn", "diamond.graph.json", "--machines", "pair.cluster.json", "--draws", "10",
                  "--keep", "2", "-o", "mine.weights"});
  REQUIRE(learned.status == 0);
  CHECK(learned.out.empty());
  CHECK(learned.err.find("10 of 10 rules") != std::string::npos);
  CHECK(learned.err.find("the best of 2 passes") != std::string::npos);
  CHECK(work.berth_json({"place", "diamond.graph.json", "--cluster", "pair.cluster.json",
                         "--policy", "instant", "--set", "weights=mine.weights", "--set",
                         "passes=4", "--json"})["policy"] == "instant");
}

TEST_CASE("learn says what is wrong before it begins") {
  const Workplace work;
  const auto complaint = [&](const std::string& model, const std::string& output) {
    const ProcessResult ran = work.berth(
        {"learn", model, "--machines", "pair.cluster.json", "--draws", "2", "-o", output});
    CHECK(ran.status == 1);
    return ran.err;
  };
  CHECK(complaint("nothing.onnx", "mine.weights").find("nothing.onnx") != std::string::npos);
  CHECK(complaint("diamond.graph.json", "no/folder/mine.weights").find("cannot write") !=
        std::string::npos);
  CHECK(work.berth({"learn", "diamond.graph.json", "-o", "mine.weights"}).status == 2);
  CHECK(!std::filesystem::exists(work / "mine.weights"));
}

TEST_CASE("learn tells what the loader says, and takes dimensions with the model") {
  const Workplace work;
  const std::string cnn = source_path("examples/models/tiny_cnn.onnx").string();
  const auto learned = [&](const std::string& model) {
    return work.berth(
        {"learn", model, "--machines", "k80x2", "--draws", "1", "--keep", "1", "-o", "x.weights"});
  };
  const ProcessResult ran = learned(cnn);
  if (ran.err.find("no frontend") != std::string::npos) return;  // built without ONNX
  CHECK(ran.err.find("berth: note: dimensions not given are taken as 1: 'batch'") !=
        std::string::npos);
  CHECK(ran.err.find("takes dimensions with the model: FILE@NAME=SIZE") != std::string::npos);
  CHECK(learned(cnn + "@batch=8").err.find("dimensions not given") == std::string::npos);
}

TEST_CASE("learn tells where nothing fits, and writes no rules") {
  const Workplace work;
  work.write_text(
      "small.cluster.json",
      R"({"format": "berth.cluster/1", "name": "small", "devices": [{"name": "a", "kind": "gpu",
          "memory_bytes": 1}, {"name": "b", "kind": "gpu", "memory_bytes": 1}],
          "links": [{"src": "*", "dst": "*", "bandwidth_bytes_per_s": 1e9, "latency_us": 1}]})");
  const ProcessResult ran = work.berth({"learn", "diamond.graph.json", "--machines",
                                        "small.cluster.json", "--draws", "2", "-o", "x.weights"});
  CHECK(ran.status == 1);
  CHECK(ran.err.find("no pass fits any of the problems") != std::string::npos);
  CHECK(!std::filesystem::exists(work / "x.weights"));
}
