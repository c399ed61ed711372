// Models of TensorFlow that ask for devices, and what is to be done with those that are written.
#include "berth.h"

using namespace berth::test;

namespace {

const std::string kGraph = R"(
node { name: "x" op: "Placeholder" device: "/job:ps/task:1"
       attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: 8 } dim { size: 8 } } } } }
node { name: "y" op: "MatMul" device: "/job:ps/task:1" input: "x" input: "x"
       attr { key: "T" value { type: DT_FLOAT } } }
)";

}  // namespace

TEST_CASE("ops that ask for a task are told where no device states one") {
  const Workplace work;
  work.write_text("model.pbtxt", kGraph);
  const ProcessResult placed = work.berth(
      {"place", "model.pbtxt", "--cluster", "k80x1", "--policy", "single", "--respect-devices"});
  REQUIRE_MESSAGE(placed.status == 0, placed.err);
  CHECK(placed.err.find("--respect-devices leaves 2 ops open that ask for a task and no device "
                        "('/job:ps/task:1')") != std::string::npos);
}

TEST_CASE("a graph that is written of a model's folder is told to belong into one") {
  const Workplace work;
  std::filesystem::create_directory(work / "saved");
  work.write_text("saved/saved_model.pbtxt",
                  "saved_model_schema_version: 1 meta_graphs { graph_def { " + kGraph + " } }");
  work.write_text("model.pbtxt", kGraph);
  for (const std::string model : {"saved", "model.pbtxt"}) {
    CAPTURE(model);
    const ProcessResult placed = work.berth({"place", model, "--cluster", "k80x1", "--policy",
                                             "single", "--write", "model=placed.pbtxt"});
    REQUIRE_MESSAGE(placed.status == 0, placed.err);
    const bool told =
        placed.out.find("(--write model); to load it, put it in the place of") != std::string::npos;
    CHECK(told == (model == "saved"));
  }
}
