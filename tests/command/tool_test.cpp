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
  CHECK(
      work.berth({"place", "diamond.graph.json", "--cluster", "pair.cluster.json", "--within", "5"})
          .err.find("'5' is not a share; write 3% or 0.03") != std::string::npos);
}

TEST_CASE("transfers that take no time are said to take none") {
  const Workplace work;
  Json quick = Json::parse(file_text(work / "pair.cluster.json"));
  for (Json& link : quick["links"]) {
    link["bandwidth_bytes_per_s"] = 1e18;
    link["latency_us"] = 0;
  }
  work.write("quick.cluster.json", quick);
  const std::vector<std::string> simulate = {"simulate", "diamond.graph.json", "--placement",
                                             "split.json", "--cluster"};
  const auto told = [&](const char* cluster) {
    std::vector<std::string> line = simulate;
    line.emplace_back(cluster);
    return work.berth(line).out;
  };
  const std::string none = told("quick.cluster.json");
  CHECK(none.find("; none of them takes time.") != std::string::npos);
  CHECK(none.find("0.000 us") == std::string::npos);
  CHECK(told("pair.cluster.json").find("the busiest link, gpu:") != std::string::npos);
}

TEST_CASE("a phone is a machine in a word, and what its neural processor lacks is told") {
  const Workplace work;
  const ProcessResult listed = work.berth({"devices", "--cluster", "sd8gen3:12GiB"});
  CHECK(listed.out.find("sd8gen3-npu runs 103 types of ops: Abs Add") != std::string::npos);
  CHECK(listed.out.find("element types: f16 f32") != std::string::npos);
  const ProcessResult json = work.berth({"devices", "--cluster", "a17pro", "--json"});
  Json phone = Json::parse(json.out);
  CHECK(phone["devices"][2]["runs"]["types"].size() == 58);
  CHECK_FALSE(phone["devices"][1].contains("runs"));
  const Json known = Json::parse(work.berth({"devices", "--json"}).out);
  int npus = 0;
  for (const Json& device : known["devices"]) npus += device.contains("npu") ? 1 : 0;
  CHECK(npus == 2);
  // The neural processor by itself.
  Json alone = phone;
  alone["devices"] = Json::array({phone["devices"][2]});
  alone["links"] = Json::array();
  work.write("npu.cluster.json", alone);
  const ProcessResult refused =
      work.berth({"place", "diamond.graph.json", "--cluster", "npu.cluster.json"});
  CHECK(refused.status == 1);
  CHECK(refused.err.find("cannot run on any device of cluster 'a17pro' (a17pro-npu runs no op of "
                         "type '") != std::string::npos);
}

TEST_CASE("here is this machine in every place that names one") {
  const Workplace work;
  work.write("here.json", {{"format", "berth.settings/1"}, {"cluster", "here"}});
  work.write_text("here.lua", "return { cluster = \"here\" }");
  work.write_text("here_script.lua",
                  "local berth = require 'berth'\n"
                  "print(berth.cluster('here'):device(1).kind)\n");
  for (const char* const config : {"here.json", "here.lua"}) {
    const ProcessResult placed = work.berth({"place", "diamond.graph.json", "--costs", "roofline",
                                             "--policy", "single", "--config", config});
    CHECK_MESSAGE(placed.status == 0, placed.err);
    CHECK(placed.out.find("on detected") != std::string::npos);
  }
  CHECK(work.berth({"run", "here_script.lua"}).out == "cpu\n");
  const ProcessResult mixed =
      work.berth({"place", "diamond.graph.json", "--cluster", "here+rtx4090"});
  CHECK(mixed.err.find("stands for itself") != std::string::npos);
}

TEST_CASE("a search starts from a placement that is given") {
  const Workplace work;
  const Json started =
      assignment(work, {"--start", "split.json", "--policy", "auto", "--budget", "10ms"});
  CHECK(started.size() == 7);
  // Machine and constraints are those that it was made with.
  const ProcessResult made =
      work.berth({"place", "diamond.graph.json", "--cluster", "pair.cluster.json", "--pin",
                  "a.=gpu:1", "--inputs", "any", "--policy", "single", "-o", "made.json"});
  REQUIRE(made.status == 0);
  const Json further =
      work.berth_json({"place", "diamond.graph.json", "--start", "made.json", "--policy", "auto",
                       "--moves", "50", "-o", "further.json", "--json"});
  CHECK(further["cluster"] == "pair");
  CHECK(Json::parse(file_text(work / "further.json"))["assignment"]["a1"] == "gpu:1");
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
  // The GPU is the one that takes the least time for this model, whatever its peak is.
  Json unequal = pair_cluster();
  unequal["devices"][0]["kind"] = "wide";
  unequal["devices"][0]["flops"] = 1e12;
  unequal["devices"][1]["kind"] = "quick";
  unequal["devices"][1]["flops"] = 1e11;
  work.write("pair.cluster.json", unequal);
  Json graph = diamond_graph();
  for (Json& op : graph["ops"]) {
    const double us = op["cost_us"]["gpu"];
    op["cost_us"] = {{"quick", us}, {"wide", 2 * us}, {"cpu", 100 * us}};
  }
  work.write("diamond.graph.json", graph);
  const Json quickest = assignment(work, {"--for", "onnxruntime", "--budget", "1s"});
  for (const auto& [op, device] : quickest.items()) {
    CHECK(device == "gpu:1");
  }
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

namespace {

/// An embedding, four layers and a head with a megabyte of weights each, named as an exporter names
/// them.
Json decoder_graph() {
  Json ops = Json::array(), edges = Json::array();
  const auto add = [&](const std::string& module) {
    if (!ops.empty())
      edges.push_back({{"src", ops.size() - 1}, {"output", 0}, {"dst", ops.size()}});
    ops.push_back({{"name", "/model/" + module + "/MatMul"},
                   {"type", "MatMul"},
                   {"cost_us", {{"gpu", 10}, {"cpu", 200}}},
                   {"output_bytes", {100}},
                   {"param_bytes", 1'000'000}});
  };
  add("embed_tokens");
  for (int layer = 0; layer < 4; ++layer) add("layers." + std::to_string(layer) + "/mlp");
  add("lm_head");
  return {{"format", "berth.graph/1"}, {"name", "decoder"}, {"ops", ops}, {"edges", edges}};
}

/// The decoder, and a pair of GPUs of so many bytes.
void write_decoder(const Workplace& work, std::int64_t memory) {
  work.write("decoder.graph.json", decoder_graph());
  Json pair = pair_cluster();
  for (std::size_t i = 0; i < 2; ++i) pair["devices"][i]["memory_bytes"] = memory;
  work.write("tight.json", pair);
}

}  // namespace

TEST_CASE("what a tool's plan takes is what a stored plan is simulated to take") {
  // Two blocks and the largest one that the host holds on the first GPU, three on the second.
  const Workplace work;
  write_decoder(work, 3'100'000);
  for (const char* tool : {"accelerate", "llama.cpp", "deepspeed", "openvino"}) {
    CAPTURE(tool);
    // A plan may come with notes.
    const ProcessResult run = work.berth({"place", "decoder.graph.json", "--cluster", "tight.json",
                                          "--for", tool, "-o", "p.json", "--json"});
    REQUIRE_MESSAGE(run.status == 0, run.err);
    const Json again =
        work.berth_json({"simulate", "decoder.graph.json", "--placement", "p.json", "--json"});
    CHECK(again["runtime_us"] == Json::parse(run.out)["runtime_us"]);
    CHECK(again["feasible"] == true);
  }
  // The host holds a block, which a GPU computes. That is told.
  const Workplace less;
  write_decoder(less, 2'900'000);
  const ProcessResult told = less.berth({"place", "decoder.graph.json", "--cluster", "tight.json",
                                         "--for", "accelerate", "-o", "p.json", "--json"});
  CHECK_MESSAGE(told.err.find("note: what the host holds is computed on") != std::string::npos,
                told.err);
  const Json placed = Json::parse(told.out);
  CHECK(placed["plan"].get<std::string>().find("\"cpu\"") != std::string::npos);
  // The GPU's work, and the host's weights on the way to it.
  for (const Json& device : placed["devices"]) {
    if (device["name"] == "cpu:0") CHECK(device["busy_us"] == 0);
  }
  const std::string text =
      less.berth({"simulate", "decoder.graph.json", "--placement", "p.json"}).out;
  CHECK_MESSAGE(text.find("the busiest link, cpu:0 -> gpu:") != std::string::npos, text);
  const Json again =
      less.berth_json({"simulate", "decoder.graph.json", "--placement", "p.json", "--json"});
  CHECK(again["runtime_us"] == placed["runtime_us"]);
}

TEST_CASE(
    "one device is no advice where the tool cannot have it, or its policies keep to no runs") {
  const Workplace work;
  write_decoder(work, 10'000'000);
  Json placement = {{"format", "berth.placement/1"}, {"graph", "decoder"}, {"assignment", {}}};
  const Json ops = decoder_graph()["ops"];
  for (const Json& op : ops) {
    const std::string name = op["name"];
    const bool first =
        name.find("embed") != std::string::npos || name.find("layers.0") != std::string::npos;
    placement["assignment"][name] = first ? "cpu:0" : "gpu:0";
  }
  work.write("p.json", placement);
  const auto simulated = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = {"simulate",   "decoder.graph.json", "--cluster",
                                    "tight.json", "--placement",        "p.json"};
    all.insert(all.end(), more.begin(), more.end());
    return work.berth(all).out;
  };
  const std::vector<std::string> torn = {"--for", "llama.cpp", "--forbid", ".*layers.0.*=gpu"};
  const std::string refused = simulated(torn);
  CHECK_MESSAGE(refused.find("as fast, and no plan for llama.cpp") != std::string::npos, refused);
  CHECK(refused.find("one device alone is faster") == std::string::npos);
  CHECK(refused.find("--policy single") == std::string::npos);
  const std::string had = simulated({"--for", "vllm"});
  CHECK_MESSAGE(had.find("FASTER than this placement") != std::string::npos, had);
  CHECK(had.find("--policy single") == std::string::npos);
  CHECK(simulated({}).find("; --policy single gives it") != std::string::npos);
}

TEST_CASE("options of a policy reach the one that a tool has instead of auto") {
  const Workplace work;
  write_decoder(work, 1'500'000);  // too little for all of it
  const auto placed = [&](const std::string& option) {
    return work.berth({"place", "decoder.graph.json", "--cluster", "tight.json", "--for", "vllm",
                       "--set", option});
  };
  CHECK(placed("repair=false").err.find("repair=false") == std::string::npos);
  CHECK(placed("nonsense=1").err.find("policy 'stages' has no option 'nonsense'") !=
        std::string::npos);
}

TEST_CASE("a stored plan has its inputs where the tool had them") {
  const Workplace work;
  Json graph = decoder_graph();
  graph["ops"].push_back({{"name", "input_ids"},
                          {"type", "Input"},
                          {"cost_us", {{"gpu", 0}, {"cpu", 0}}},
                          {"output_bytes", {8}}});
  graph["edges"].push_back({{"src", graph["ops"].size() - 1}, {"output", 0}, {"dst", 0}});
  work.write("decoder.graph.json", graph);
  work.write("pair.json", pair_cluster());
  for (const char* tool : {"accelerate", "llama.cpp", "vllm", "deepspeed", "torch-pipelining"}) {
    CAPTURE(tool);
    // A plan may come with notes.
    const ProcessResult run = work.berth({"place", "decoder.graph.json", "--cluster", "pair.json",
                                          "--for", tool, "-o", "p.json", "--json"});
    REQUIRE_MESSAGE(run.status == 0, run.err);
    const Json placed = Json::parse(run.out);
    const Json again =
        work.berth_json({"simulate", "decoder.graph.json", "--placement", "p.json", "--json"});
    CHECK(again["runtime_us"] == placed["runtime_us"]);
    CHECK(work.berth({"explain", "decoder.graph.json", "--placement", "p.json"}).status == 0);
    // A search without the tool has them on the host again.
    const ProcessResult further =
        work.berth({"place", "decoder.graph.json", "--start", "p.json", "--policy", "mcmc",
                    "--moves", "20", "-o", "further.json"});
    CHECK_MESSAGE(further.status == 0, further.err);
    CHECK(Json::parse(file_text(work / "further.json"))["assignment"]["input_ids"] == "cpu:0");
  }
  CHECK(work.berth({"place", "decoder.graph.json", "--cluster", "pair.json", "--inputs", "gpu:9"})
            .err.find("the constraint inputs 'gpu:9' names 'gpu:9'") != std::string::npos);
}

TEST_CASE("a mixture whose experts spill to the host keeps llama.cpp's order") {
  // Half of the layers' experts fit. To have one layer whole on the host is within 3 %, and fewer cuts.
  Json ops = Json::array(), edges = Json::array();
  const auto add = [&](const std::string& name, double gpu_us, double cpu_us, std::int64_t bytes) {
    if (!ops.empty())
      edges.push_back({{"src", ops.size() - 1}, {"output", 0}, {"dst", ops.size()}});
    ops.push_back({{"name", name},
                   {"type", "MatMul"},
                   {"cost_us", {{"gpu", gpu_us}, {"cpu", cpu_us}}},
                   {"output_bytes", {100}},
                   {"param_bytes", bytes}});
  };
  add("/model/embed_tokens/MatMul", 10, 200, 1'000'000);
  for (int layer = 0; layer < 8; ++layer) {
    const std::string name = "/model/layers." + std::to_string(layer);
    add(name + "/self_attn/MatMul", 1, 70, 1'000);
    add(name + "/mlp/experts.0/MatMul", 20, 1'000, 4'000'000);
    add(name + "/mlp/Add", 1, 2, 0);
  }
  add("/lm_head/MatMul", 10, 200, 1'000'000);
  const Workplace work;
  work.write("moe.graph.json",
             {{"format", "berth.graph/1"}, {"name", "decoder"}, {"ops", ops}, {"edges", edges}});
  Json pair = pair_cluster();
  for (const std::int64_t bytes : {9, 10, 13, 15}) {
    CAPTURE(bytes);
    pair["devices"][0]["memory_bytes"] = bytes * 1'000'000 + 100'000;
    pair["devices"][1]["memory_bytes"] = (bytes - 4) * 1'000'000 + 100'000;
    work.write("pair.json", pair);
    const ProcessResult placed =
        work.berth({"place", "moe.graph.json", "--cluster", "pair.json", "--for", "llama.cpp"});
    CHECK_MESSAGE(placed.status == 0, placed.err);
    CHECK(placed.out.find("-ngl") != std::string::npos);
  }
}

TEST_CASE("fill has the order of the tool that it fills for") {
  // Six blocks; the GPUs hold two each, and the second is the faster one.
  const Workplace work;
  Json graph = decoder_graph();
  for (Json& op : graph["ops"]) op["cost_us"]["quick"] = 5;
  work.write("decoder.graph.json", graph);
  Json pair = pair_cluster();
  for (std::size_t i = 0; i < 2; ++i) pair["devices"][i]["memory_bytes"] = 2'200'000;
  pair["devices"][1]["kind"] = "quick";
  work.write("tight.json", pair);
  const ProcessResult filled =
      work.berth({"place", "decoder.graph.json", "--cluster", "tight.json", "--for", "llama.cpp",
                  "--policy", "fill", "--within", "0%"});
  CHECK_MESSAGE(filled.status == 0, filled.err);
  CHECK_MESSAGE(filled.out.find("-ngl 4\n--tensor-split 2,2\n") != std::string::npos, filled.out);
}

TEST_CASE(
    "a tool with a run per device has no layer elsewhere, whatever constraints or memory ask") {
  const Workplace work;
  Json graph = decoder_graph();
  work.write("decoder.graph.json", graph);
  Json pair = pair_cluster();
  pair["devices"][0]["memory_bytes"] = 4'200'000;
  pair["devices"][1]["memory_bytes"] = 1'200'000;
  work.write("uneven.json", pair);
  // The first layer may be on the host, which is first, with all others on gpu:0; or on gpu:1, which no run allows.
  for (const char* policy : {"stages", "fill"}) {
    CAPTURE(policy);
    const ProcessResult kept =
        work.berth({"place", "decoder.graph.json", "--cluster", "uneven.json", "--for", "llama.cpp",
                    "--forbid", ".*layers.0.*=gpu:0", "--policy", policy});
    CHECK_MESSAGE(kept.status == 0, kept.err);
    CHECK_MESSAGE(kept.out.find("-ngl 4\n--tensor-split 4,0\n") != std::string::npos, kept.out);
  }
  // DeepSpeed's two stages do not fit, and what does is none.
  constexpr int kMegabytes[] = {1, 2, 1, 2, 1, 1};
  for (std::size_t i = 0; i < 6; ++i) graph["ops"][i]["param_bytes"] = kMegabytes[i] * 1'000'000;
  work.write("decoder.graph.json", graph);
  pair["devices"][0]["memory_bytes"] = 5'100'000;
  pair["devices"][1]["memory_bytes"] = 3'100'000;
  work.write("uneven.json", pair);
  const ProcessResult refused =
      work.berth({"place", "decoder.graph.json", "--cluster", "uneven.json", "--for", "deepspeed"});
  CHECK(refused.status == 1);
  CHECK_MESSAGE(refused.err.find("found no placement that fits") != std::string::npos, refused.err);
}

TEST_CASE("even is llama.cpp's own split under its rules") {
  // Three of four layers begin in the first half; the head is heavy.
  const Workplace work;
  Json graph = decoder_graph();
  graph["ops"][5]["param_bytes"] = 20'000'000;
  work.write("decoder.graph.json", graph);
  work.write("pair.json", pair_cluster());
  const ProcessResult split =
      work.berth({"place", "decoder.graph.json", "--cluster", "pair.json", "--for", "llama.cpp",
                  "--policy", "even", "--within", "0%"});
  CHECK_MESSAGE(split.out.find("--tensor-split 3,2\n") != std::string::npos, split.out);
}

TEST_CASE("links that a tool's rules add are none of the machine's") {
  const Workplace work;
  write_decoder(work, 10'000'000);
  const ProcessResult placed =
      work.berth({"place", "decoder.graph.json", "--cluster", "tight.json", "--for", "accelerate",
                  "--objective", "throughput", "--policy", "single", "--bound", "none"});
  REQUIRE_MESSAGE(placed.status == 0, placed.err);
  CHECK_MESSAGE(placed.err.find("links of this machine") == std::string::npos, placed.err);
}

TEST_CASE("accelerate's host holds nothing that a GPU still has room for") {
  const Workplace work;
  Json graph = decoder_graph();
  graph["ops"][0]["param_bytes"] = 50'000;  // the embedding: to send it is less than 3 % of a step
  work.write("decoder.graph.json", graph);
  Json machine = pair_cluster();
  machine["devices"].erase(1);
  machine["devices"][0]["memory_bytes"] = 3'200'000;  // two blocks, and the largest that is sent
  work.write("one.json", machine);
  const ProcessResult told = work.berth({"place", "decoder.graph.json", "--cluster", "one.json",
                                         "--for", "accelerate", "-o", "p.json", "--json"});
  const Json placed = Json::parse(told.out);
  const Json map = Json::parse(placed["plan"].get<std::string>());
  CHECK(map["model.embed_tokens"] == 0);
  int hosted = 0;
  for (const auto& [module, device] : map.items()) hosted += device == "cpu" ? 1 : 0;
  CHECK(hosted == 3);
}

TEST_CASE("policies are compared under a tool's rules, and a plan that it cannot have is none") {
  const Workplace work;
  write_decoder(work, 3'900'000);
  const Json compared =
      work.berth_json({"compare", "decoder.graph.json", "--cluster", "tight.json", "--for",
                       "llama.cpp", "--policies", "auto,fill,even,random", "--json"});
  std::set<std::string> fit;
  for (const Json& row : compared["policies"]) {
    if (row.value("feasible", false)) fit.insert(row["policy"]);
    if (row["policy"] == "random") {
      CHECK(row["error"].get<std::string>().find("llama.cpp") != std::string::npos);
    }
  }
  CHECK(fit == std::set<std::string>{"stages", "fill", "even"});
  // A search for a person takes those that keep to the rules.
  CHECK(work.berth({"place", "decoder.graph.json", "--cluster", "tight.json", "--for", "llama.cpp",
                    "--policy", "fill"})
            .status == 0);
  CHECK(work.berth({"place", "decoder.graph.json", "--cluster", "tight.json", "--for", "llama.cpp",
                    "--policy", "topo"})
            .err.find("leave the policy out, or choose stages, fill or even") != std::string::npos);
}
