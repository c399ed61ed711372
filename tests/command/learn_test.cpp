// learn: rules for `instant` from models.
#include "berth.h"

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
}
