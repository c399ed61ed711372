// Ops for which the model's runtime has no kernel for GPUs, up to the model that is written.
#include "berth.h"

using namespace berth::test;

namespace {

const char* const kModel = R"(
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: 512 } dim { size: 512 } } } } }
node { name: "ids" op: "Placeholder" attr { key: "dtype" value { type: DT_INT64 } }
       attr { key: "shape" value { shape { dim { size: 8 } dim { size: 8 } } } } }
node { name: "first" op: "MatMul" input: "x" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "shuffled" op: "RandomShuffle" input: "first"
       attr { key: "T" value { type: DT_FLOAT } } }
node { name: "whole" op: "MatMul" input: "ids" input: "ids"
       attr { key: "T" value { type: DT_INT64 } } }
node { name: "last" op: "MatMul" input: "shuffled" input: "x"
       attr { key: "T" value { type: DT_FLOAT } } }
versions { producer: 1087 }
)";

std::string device_of(const std::string& text, const std::string& node) {
  const std::size_t at = text.find("name: \"" + node + "\"");
  const std::size_t begin = text.find("device: \"", at) + 9;
  return text.substr(begin, text.find('"', begin) - begin);
}

}  // namespace

TEST_CASE("a written model asks for no GPU where its runtime has no kernel") {
  const Workplace work;
  work.write_text("model.pbtxt", kModel);
  for (const std::string policy : {"single", "topo", "auto"}) {
    CAPTURE(policy);
    const ProcessResult placed =
        work.berth({"place", "model.pbtxt", "--cluster", "k80x1", "--policy", policy, "--pin",
                    "first|last=gpu:0", "--write", "model=placed.pbtxt"});
    REQUIRE(placed.status == 0);
    CHECK(placed.err.find("2 ops have no kernel for GPUs") != std::string::npos);
    const std::string text = file_text(work / "placed.pbtxt");
    CHECK(device_of(text, "first") == "/device:GPU:0");
    CHECK(device_of(text, "last") == "/device:GPU:0");
    CHECK(device_of(text, "shuffled") == "/device:CPU:0");
    CHECK(device_of(text, "whole") == "/device:CPU:0");
  }
  const ProcessResult refused = work.berth(
      {"place", "model.pbtxt", "--cluster", "k80x1", "--policy", "single", "--pin", "whole=gpu:0"});
  CHECK(refused.status == 1);
  CHECK(refused.err.find("'MatMul' runs on kind cpu alone") != std::string::npos);
}

TEST_CASE("ops of hosts in bodies are named, which run there whatever runs the body") {
  const Workplace work;
  work.write_text("model.pbtxt", R"(
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: 8 } dim { size: 8 } } } } }
node { name: "p" op: "Placeholder" attr { key: "dtype" value { type: DT_BOOL } }
       attr { key: "shape" value { shape { } } } }
node { name: "y" op: "StatelessIf" input: "p" input: "x"
       attr { key: "Tcond" value { type: DT_BOOL } }
       attr { key: "Tin" value { list { type: DT_FLOAT } } }
       attr { key: "Tout" value { list { type: DT_FLOAT } } }
       attr { key: "then_branch" value { func { name: "f" } } }
       attr { key: "else_branch" value { func { name: "f" } } } }
library { function {
  signature { name: "f" input_arg { name: "a" type: DT_FLOAT } output_arg { name: "r" type: DT_FLOAT } }
  node_def { name: "s" op: "RandomShuffle" input: "a" attr { key: "T" value { type: DT_FLOAT } } }
  ret { key: "r" value: "s:output:0" } } }
versions { producer: 1087 }
)");
  const ProcessResult placed =
      work.berth({"place", "model.pbtxt", "--cluster", "k80x1", "--policy", "single"});
  CHECK(placed.status == 0);
  CHECK(placed.err.find("bodies of 1 op hold types without a kernel for GPUs") !=
        std::string::npos);
  CHECK(placed.err.find("'RandomShuffle'") != std::string::npos);
}

TEST_CASE(
    "an op without a kernel for GPUs is not said to be on hosts alone where a device lists it") {
  const Workplace work;
  work.write_text("model.pbtxt", kModel);
  const auto note = [&](const std::string& runs) {
    work.write_text("machine.json", R"({"format": "berth.cluster/1", "name": "c", "devices": [
      {"name": "cpu:0", "kind": "cpu", "flops": 1e9, "memory_bandwidth_bytes_per_s": 1e9,
       "memory_bytes": 1000000000, "host": true},
      {"name": "npu:0", "kind": "npu", "flops": 1e12, "memory_bandwidth_bytes_per_s": 1e11,
       "memory_bytes": 1000000000, "runs": {"types": )" +
                                        runs + R"(}}],
      "links": [{"src": "*", "dst": "*", "bandwidth_bytes_per_s": 1e10, "latency_us": 5}]})");
    const ProcessResult placed =
        work.berth({"place", "model.pbtxt", "--cluster", "machine.json", "--policy", "single"});
    REQUIRE_MESSAGE(placed.status == 0, placed.err);
    return placed.err.find("can be on hosts alone: 'RandomShuffle'") != std::string::npos;
  };
  CHECK(note(R"(["MatMul"])"));
  CHECK_FALSE(note(R"(["MatMul", "RandomShuffle"])"));
}
