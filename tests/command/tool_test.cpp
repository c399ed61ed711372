// Plans for tools, the simplest placement, and constraints, as the command line asks for them.
#include <set>
#include <string>
#include <vector>

#include "berth.h"

using namespace berth::test;

namespace {

Json assignment(const Workplace& work, std::vector<std::string> options) {
  options.insert(options.begin(), {"place", "diamond.graph.json", "--cluster", "pair.cluster.json",
                                   "-o", "placed.json"});
  const ProcessResult result = work.berth(options);
  CHECK_MESSAGE(result.status == 0, result.err);
  return Json::parse(file_text(work / "placed.json"))["assignment"];
}

}  // namespace

TEST_CASE("forbid, colocate and separate, and rules that give way") {
  const Workplace work;
  Json devices = assignment(work, {"--policy", "single", "--forbid", "a0=gpu:0"});
  CHECK(devices["a0"] != "gpu:0");
  devices = assignment(work, {"--policy", "random", "--seed", "3", "--colocate", "a.|b."});
  for (const char* op : {"a1", "a2", "b0", "b1", "b2"}) CHECK(devices[op] == devices["a0"]);
  devices = assignment(work, {"--policy", "topo", "--separate", "a0;b0"});
  CHECK(devices["a0"] != devices["b0"]);
  const std::vector<std::string> conflict = {"--policy", "single", "--pin",
                                             "a0=gpu:1", "--pin",  "a0=gpu:0"};
  std::vector<std::string> hard = {"place", "diamond.graph.json", "--cluster", "pair.cluster.json"};
  hard.insert(hard.end(), conflict.begin(), conflict.end());
  CHECK(work.berth(hard).status != 0);
  std::vector<std::string> soft = conflict;
  soft.push_back("--soft");
  CHECK(assignment(work, soft)["a0"] == "gpu:1");
  hard.push_back("--soft");
  CHECK(work.berth(hard).err.find("left out, as it cannot be kept: --pin 'a0=gpu:0'") !=
        std::string::npos);
}

TEST_CASE("within a distance the simplest placement is taken") {
  const Workplace work;
  const Json all = assignment(work, {"--policy", "random", "--seed", "5", "--within", "10000%"});
  for (const char* op : {"a1", "a2", "b0", "b1", "b2", "end"}) CHECK(all[op] == all["a0"]);
  CHECK(work.berth({"place", "diamond.graph.json", "--cluster", "pair.cluster.json", "--within",
                    "much"})
            .err.find("'much' is not a share; write 3% or 0.03") != std::string::npos);
}

TEST_CASE("a search starts from a placement that is given") {
  const Workplace work;
  const Json started =
      assignment(work, {"--start", "split.json", "--policy", "auto", "--budget", "10ms"});
  CHECK(started.size() == 7);
}

TEST_CASE("what a tool cannot have is told before the search") {
  const Workplace work;
  const auto refused = [&](std::vector<std::string> options, const std::string& message) {
    options.insert(options.begin(), {"place", "diamond.graph.json", "--cluster",
                                     "pair.cluster.json", "-o", "placed.json"});
    const ProcessResult result = work.berth(options);
    CHECK(result.status != 0);
    CHECK_MESSAGE(result.err.find(message) != std::string::npos, result.err, " lacks ", message);
    CHECK_FALSE(std::filesystem::exists(work / "placed.json"));
  };
  refused({"--for", "llama.cpp"}, "has the name of a module");
  refused({"--for", "llamacpp"}, "did you mean 'llama.cpp'?");
  refused({"--write", "onnxruntime=session.json"}, "`berth place --for onnxruntime`");
}

TEST_CASE("for ONNX Runtime the plan has one GPU and the host") {
  const Workplace work;
  const Json devices = assignment(
      work, {"--for", "onnxruntime", "--budget", "1s", "--write", "onnxruntime=session.json"});
  std::set<std::string> gpus;
  for (const auto& [op, device] : devices.items()) {
    if (device != "cpu:0") gpus.insert(device);
  }
  CHECK(gpus.size() == 1);
  CHECK(
      Json::parse(file_text(work / "session.json")).contains("session.layer_assignment_settings"));
}

TEST_CASE("a machine in words, and its file") {
  const Workplace work;
  const Json file =
      work.berth_json({"devices", "--cluster", "rtx4090+rtx4060+host:64GiB", "--json"});
  CHECK(file["devices"].size() == 3);
  CHECK(file["devices"][1]["kind"] == "rtx4090");
  const ProcessResult list = work.berth({"devices"});
  for (const char* word : {"rtx5090", "mi300x", "m2max", "orin", "2xrtx3090@nvlink"}) {
    CHECK(list.out.find(word) != std::string::npos);
  }
}
