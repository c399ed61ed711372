// Replicas of a training step, as the command line asks for them.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "berth.h"
#include "support/paths.h"

using namespace berth::test;

namespace {

std::string model(const char* name) {
  return (source_folder() / "examples/models" / name).string();
}

std::vector<std::string> place(const std::vector<std::string>& more) {
  std::vector<std::string> command = {"place", model("tf/nmt_tiny.pb"), "--batch", "8", "--cluster",
                                      "k80x2"};
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

}  // namespace

TEST_CASE("a plan is placed, stored, simulated again and explained") {
  const Workplace work;
  const ProcessResult placed = work.berth(
      place({"--replicate", "gpu:0=6,gpu:1=2", "--moves", "200", "--json", "-o", "placed.json",
             "--write", "replicas=plan.json", "--write", "model=replicated.pb"}));
  REQUIRE_MESSAGE(placed.status == 0, placed.err);
  const Json json = Json::parse(placed.out);
  const Json& replicas = json["replicas"];
  CHECK(replicas["plan"] == "gpu:0=6,gpu:1=2,bucket=8000000");
  CHECK(replicas["batch"] == 8);
  CHECK(replicas["replicas"][0]["samples"] == 6);
  CHECK(replicas["replicas"][1]["devices"] == Json{"gpu:1"});
  CHECK(replicas["gradient_bytes"] > 0);
  CHECK(replicas["gathered_bytes"] > 0);
  CHECK(json["lower_bound_us"] > 0);
  CHECK(json["lower_bound_us"] <= json["runtime_us"]);
  const Json devices = Json::parse(file_text(work / "placed.json"))["assignment"];
  for (const auto& [op, device] : devices.items()) {
    CAPTURE(op);
    const bool first = op.starts_with("replica_0/");
    CHECK((device == "cpu:0" || device == (first ? "gpu:0" : "gpu:1")));
  }
  const ProcessResult again =
      work.berth({"simulate", model("tf/nmt_tiny.pb"), "--placement", "placed.json", "--json"});
  REQUIRE_MESSAGE(again.status == 0, again.err);
  CHECK(Json::parse(again.out)["runtime_us"] == json["runtime_us"]);
  const ProcessResult explained =
      work.berth({"explain", model("tf/nmt_tiny.pb"), "--placement", "placed.json"});
  CHECK(explained.out.find("replica 0 on gpu:0: 6 of 8 samples") != std::string::npos);
  CHECK(explained.out.find("the step waits for it") != std::string::npos);
  const Json plan = Json::parse(file_text(work / "plan.json"));
  CHECK(plan["replicas"][0]["weight"] == 0.75);
  const ProcessResult inspected = work.berth({"inspect", "replicated.pb"});
  CHECK_MESSAGE(inspected.status == 0, inspected.err);
}

TEST_CASE("one device is that of the plain step, however a placement of replicas is evaluated") {
  const Workplace work;
  const auto with_single = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--policy", "single", "--bound", "none", "--json"});
    return Json::parse(work.berth(place(more)).out);
  };
  const Json plain = with_single({});
  const Json placed = with_single({"--replicate", "gpu:0=6,gpu:1=2", "-o", "placed.json"});
  const Json simulated = Json::parse(work.berth({"simulate", model("tf/nmt_tiny.pb"), "--placement",
                                                 "placed.json", "--bound", "none", "--json"})
                                         .out);
  const Json compared =
      Json::parse(work.berth({"compare", model("tf/nmt_tiny.pb"), "--batch", "8", "--cluster",
                              "k80x2", "--replicate", "gpu:0=6,gpu:1=2", "--policies", "single",
                              "--bound", "none", "--json"})
                      .out);
  for (const Json& each : {placed, simulated, compared}) {
    CHECK(each["best_single"]["objective_us"] == plain["runtime_us"]);
  }
}

TEST_CASE("the policy that is named places a plan of single devices") {
  const Workplace work;
  std::string text;
  for (const std::string policy : {"single", "topo", "m-etf"}) {
    CAPTURE(policy);
    const std::vector<std::string> command = {"--replicate", "gpu:0=6,gpu:1=2", "--bound", "none"};
    std::vector<std::string> by_policy = command;
    by_policy.insert(by_policy.end(), {"--policy", policy});
    text = work.berth(place(by_policy)).out;
    by_policy.emplace_back("--json");
    const Json placed = Json::parse(work.berth(place(by_policy)).out);
    std::vector<std::string> all = place(command);
    all.front() = "compare";
    all.insert(all.end(), {"--policies", policy, "--json"});
    const Json compared = Json::parse(work.berth(all).out);
    // Each replica on its own device is what a policy has to beat.
    const bool own = placed["notes"].dump().find("found nothing better") != std::string::npos;
    CHECK(own == (policy == "m-etf"));
    CHECK(placed["runtime_us"] <= compared["runtime_us"]);
    if (!own) CHECK(placed["runtime_us"] == compared["runtime_us"]);
  }
  CHECK(text.find("--policy single gives it without --replicate") != std::string::npos);
}

namespace {

/// A step whose samples are split into two equal parts, one for the forward pass and one for the other.
std::string split_step() {
  const auto node = [](const char* name, const char* op, const std::vector<std::string>& inputs,
                       const std::string& attributes) {
    std::string text = std::string("node { name: '") + name + "' op: '" + op + "'";
    for (const std::string& input : inputs) text += " input: '" + input + "'";
    return text + attributes + " }\n";
  };
  const auto type = [](const char* key, const char* value) {
    return std::string(" attr { key: '") + key + "' value { type: " + value + " } }";
  };
  const std::string of_float = type("T", "DT_FLOAT");
  const auto constant = [&](const char* name, const char* dtype, const char* value) {
    return node(name, "Const", {},
                type("dtype", dtype) + " attr { key: 'value' value { tensor { dtype: " + dtype +
                    " tensor_shape { } " + value + " } } }");
  };
  const std::string square = "{ dim { size: 4 } dim { size: 4 } }";
  return node("x", "Placeholder", {},
              type("dtype", "DT_FLOAT") +
                  " attr { key: 'shape' value { shape { dim { size: -1 } dim { size: 4 } } } }") +
         node("w", "VariableV2", {},
              type("dtype", "DT_FLOAT") + " attr { key: 'shape' value { shape " + square + " } }") +
         constant("axis", "DT_INT32", "int_val: 0") + constant("rate", "DT_FLOAT", "float_val: 1") +
         node("parts", "Split", {"axis", "x"},
              of_float + " attr { key: 'num_split' value { i: 2 } }") +
         node("y", "MatMul", {"parts", "w"}, of_float) +
         node("dw", "MatMul", {"parts:1", "y"},
              of_float + " attr { key: 'transpose_a' value { b: true } }") +
         node("train", "ApplyGradientDescent", {"w", "rate", "dw"}, of_float);
}

}  // namespace

TEST_CASE("a share that the model does not come in is refused, and auto looks at others") {
  const Workplace work;
  work.write_text("split.pbtxt", split_step());
  const auto replicated = [&](const char* batch, const char* plan) {
    return work.berth({"place", "split.pbtxt", "--batch", batch, "--cluster", "k80x4",
                       "--replicate", plan, "--moves", "20", "--bound", "none", "--json"});
  };
  CHECK(replicated("8", "gpu:0=6,gpu:1=2").status == 0);
  for (const char* const plan : {"gpu:0=5,gpu:1=3", "gpu:0+gpu:1=5,gpu:2+gpu:3=3", "3"}) {
    CAPTURE(plan);
    const ProcessResult refused = replicated("8", plan);
    CHECK(refused.status != 0);
    CHECK_MESSAGE(refused.err.find("of its 8 samples: nothing says what 'parts' (Split) gives") !=
                      std::string::npos,
                  refused.err);
  }
  const ProcessResult found = replicated("12", "auto");
  REQUIRE_MESSAGE(found.status == 0, found.err);
  const std::string notes = Json::parse(found.out)["notes"].dump();
  CHECK_MESSAGE(notes.find("gpu:0=3,gpu:1=3,gpu:2=3,gpu:3=3,bucket=8000000 not posed, the model") !=
                    std::string::npos,
                notes);
}

TEST_CASE("a pipeline of training steps is told that they wait for one another's updates") {
  const Workplace work;
  work.write_text("split.pbtxt", split_step());
  for (const char* const objective : {"latency", "throughput"}) {
    CAPTURE(objective);
    const std::string err =
        work.berth({"place", "split.pbtxt", "--batch", "1024", "--cluster", "k80x2", "--policy",
                    "single", "--objective", objective, "--bound", "none"})
            .err;
    const bool told = err.find("the next step reads 'w'") != std::string::npos;
    CHECK_MESSAGE(told == (std::string(objective) == "throughput"), err);
    CHECK(told == (err.find("unless steps may read older values") != std::string::npos));
  }
}

TEST_CASE("auto says what it tried, and stays above its bound") {
  const Workplace work;
  const ProcessResult found =
      work.berth(place({"--replicate", "auto", "--json", "--budget", "4s", "--seed", "1"}));
  REQUIRE_MESSAGE(found.status == 0, found.err);
  const Json json = Json::parse(found.out);
  CHECK(json["feasible"] == true);
  CHECK(json["lower_bound_us"] <= json["runtime_us"]);
  std::string notes;
  for (const Json& note : json["notes"]) notes += note.get<std::string>() + "\n";
  CHECK(notes.find("plans tried: gpu:0=4,gpu:1=4") != std::string::npos);
}

namespace {

/// "1.234 ms" and such behind the last space of each of the plans, in microseconds; those that were not
/// posed or do not fit have none.
std::vector<double> tried_us(const Json& notes) {
  std::vector<double> all;
  for (const Json& note : notes) {
    const std::string text = note.get<std::string>();
    if (!text.starts_with("plans tried: ")) continue;
    std::istringstream plans(text.substr(13));
    for (std::string plan; std::getline(plans, plan, ';');) {
      std::istringstream words(plan);
      std::vector<std::string> parts{std::istream_iterator<std::string>(words), {}};
      if (parts.size() != 3) continue;
      const double unit = parts[2] == "s" ? 1e6 : parts[2] == "ms" ? 1e3 : 1;
      all.push_back(std::stod(parts[1]) * unit);
    }
  }
  return all;
}

}  // namespace

TEST_CASE("auto with replicas keeps its lead, and is not behind auto without them") {
  // Of as many proposals, so that no machine's speed decides. The plain step gets most of them where it leads.
  const struct {
    const char* cluster;
    const char* batch;
  } rows[] = {{"k80x2", "8"}, {"k80x4", "8"}, {"k80x2", "4096"}};
  const Workplace work;
  bool plain_led = false, replicas_led = false;
  for (const auto& row : rows) {
    CAPTURE(row.cluster);
    CAPTURE(row.batch);
    std::vector<std::string> command = {"place",     model("tf/nmt_tiny.pb"),
                                        "--batch",   row.batch,
                                        "--cluster", row.cluster,
                                        "--moves",   "800",
                                        "--threads", "1",
                                        "--bound",   "none",
                                        "--json"};
    const ProcessResult plain = work.berth(command);
    REQUIRE_MESSAGE(plain.status == 0, plain.err);
    command.insert(command.end(), {"--replicate", "auto"});
    const ProcessResult found = work.berth(command);
    REQUIRE_MESSAGE(found.status == 0, found.err);
    const Json json = Json::parse(found.out);
    const double found_us = json["runtime_us"].get<double>();
    CHECK(found_us <= 1.02 * Json::parse(plain.out)["runtime_us"].get<double>());
    const std::vector<double> tried = tried_us(json["notes"]);
    for (const double us : tried) CHECK(found_us <= 1.001 * us);  // which has four digits
    (json.contains("replicas") ? replicas_led : plain_led) = true;
    if (plain_led && replicas_led) {
      CHECK(Json::parse(work.berth(command).out)["runtime_us"] == json["runtime_us"]);
    }
  }
  CHECK(plain_led);
  CHECK(replicas_led);
}

TEST_CASE("auto without time or with a poor policy is not behind the one device that it names") {
  const Workplace work;
  for (const std::vector<std::string>& more : {std::vector<std::string>{"--budget", "1ms"},
                                               {"--moves", "1"},
                                               {"--moves", "1", "--policy", "random"}}) {
    CAPTURE(more.back());
    std::vector<std::string> command =
        place({"--replicate", "auto", "--bound", "none", "--seed", "1", "--json"});
    command.insert(command.end(), more.begin(), more.end());
    const ProcessResult found = work.berth(command);
    REQUIRE_MESSAGE(found.status == 0, found.err);
    const Json json = Json::parse(found.out);
    CHECK(json["runtime_us"] <= json["best_single"]["objective_us"]);
  }
}

TEST_CASE("no plan takes less than the bound of all, which is the same for each") {
  const Workplace work;
  double bound_us = 0;
  for (const char* const plan :
       {"4", "2", "gpu:0=5,gpu:1=1,gpu:2=2", "gpu:0+gpu:1+gpu:2+gpu:3=8",
        "gpu:0=2,gpu:1=2,gpu:2=2,gpu:3=2,updates=shared", "gpu:0+gpu:2=4,gpu:1+gpu:3=4"}) {
    CAPTURE(plan);
    const ProcessResult placed = work.berth(
        {"place", model("tf/nmt_tiny.pb"), "--batch", "8", "--cluster", "k80x4", "--replicate",
         plan, "--moves", "200", "--threads", "1", "--bound", "quick", "--json"});
    REQUIRE_MESSAGE(placed.status == 0, placed.err);
    const Json json = Json::parse(placed.out);
    if (bound_us == 0) bound_us = json["lower_bound_us"];
    CHECK(bound_us == json["lower_bound_us"]);
    CHECK(bound_us <= json["runtime_us"]);
  }
  // Its longest path, which work spread over all devices knows nothing of.
  CHECK(bound_us > 1000);
}

TEST_CASE("an uneven batch is served, and replicas that do not fit are refused") {
  const Workplace work;
  const ProcessResult uneven =
      work.berth({"place", model("tf/nmt_tiny.pb"), "--batch", "7", "--cluster", "k80x4",
                  "--replicate", "4", "--policy", "single", "--json"});
  REQUIRE_MESSAGE(uneven.status == 0, uneven.err);
  CHECK(Json::parse(uneven.out)["replicas"]["plan"] ==
        "gpu:0=2,gpu:1=2,gpu:2=2,gpu:3=1,bucket=8000000");
  Json cluster = Json::parse(work.berth({"devices", "--cluster", "k80x2", "--json"}).out);
  for (Json& device : cluster["devices"]) device["memory_bytes"] = 1000;
  work.write("small.cluster.json", cluster);
  const ProcessResult large =
      work.berth({"place", model("tf/nmt_tiny.pb"), "--batch", "8", "--cluster",
                  "small.cluster.json", "--replicate", "2", "--moves", "20"});
  CHECK(large.status != 0);
  CHECK_MESSAGE(large.err.find("fits") != std::string::npos, large.err);
}

TEST_CASE("a step whose replicas cannot be written is refused before the search") {
  // w -= the sum of x over the batch, within a function.
  const std::string t = " attr { key: 'T' value { type: DT_FLOAT } }";
  const std::string dtype = " attr { key: 'dtype' value { type: DT_FLOAT } }";
  const std::string step =
      "node { name: 'x' op: 'Placeholder'" + dtype +
      " attr { key: 'shape' value { shape { dim { size: -1 } dim { size: 2 } } } } }"
      " node { name: 'w' op: 'VarHandleOp'" +
      dtype +
      " attr { key: 'shape' value { shape { dim { size: 2 } } } } }"
      " node { name: 'train' op: 'StatefulPartitionedCall' input: 'x' input: 'w'"
      " attr { key: 'f' value { func { name: 'step' } } }"
      " attr { key: 'Tin' value { list { type: DT_FLOAT type: DT_RESOURCE } } }"
      " attr { key: 'Tout' value { list { type: DT_FLOAT } } } }"
      " library { function { signature { name: 'step' input_arg { name: 'a' type: DT_FLOAT }"
      " input_arg { name: 'v' type: DT_RESOURCE } output_arg { name: 'r' type: DT_FLOAT } }"
      " node_def { name: 'axis' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }"
      " attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } } }"
      " node_def { name: 'sum' op: 'Sum' input: 'a' input: 'axis:output:0'" +
      t +
      " } node_def { name: 'update' op: 'AssignSubVariableOp' input: 'v' input: 'sum:output:0'" +
      dtype + " } ret { key: 'r' value: 'sum:output:0' } } }";
  const Workplace work;
  work.write_text("step.pbtxt", step);
  const auto placed = [&](const std::string& target) {
    return work.berth({"place", "step.pbtxt", "--fetch", "train", "--batch", "8", "--cluster",
                       "k80x2", "--replicate", "gpu:0=6,gpu:1=2", "--moves", "20", "-o",
                       "placed.json", "--write", target});
  };
  const ProcessResult plan = placed("replicas=plan.json");
  REQUIRE_MESSAGE(plan.status == 0, plan.err);
  std::filesystem::remove(work / "placed.json");
  const ProcessResult refused = placed("model=replicated.pb");
  CHECK(refused.status == 1);
  CHECK_MESSAGE(refused.err.find("is in a function") != std::string::npos, refused.err);
  CHECK(refused.err.find("as_graph_def(add_shapes=True)") != std::string::npos);
  CHECK(refused.out.empty());
  CHECK_FALSE(std::filesystem::exists(work / "placed.json"));
}

TEST_CASE("what cannot be replicated says why") {
  const Workplace work;
  const std::string cnn = model("tiny_cnn.onnx");
  const struct {
    std::vector<std::string> command;
    const char* part;
  } rows[] = {
      {{"place", cnn, "--batch", "8", "--cluster", "k80x2", "--replicate", "2"},
       "it is no training step"},
      {{"place", cnn, "--cluster", "k80x2", "--replicate", "2"},
       "set \"batch\" (on a command line --batch N)"},
      {{"place", "diamond.graph.json", "--cluster", "pair.cluster.json", "--replicate", "2"},
       "set \"batch\" (on a command line --batch N)"},
      {place({"--replicate", "gpu:0=3,gpu:1=3"}), "add up to 6 samples"},
      {place({"--replicate", "gpu:0=4,gpu:7=4"}), "no device 'gpu:7'"},
      {place({"--replicate", "many"}), "no DEVICE=SAMPLES"},
      {place({"--replicate", "3"}), "3 replicas of a batch of 8 on 2 devices"},
      {place({"--replicate", "2", "--objective", "throughput"}), "they shorten one step"},
      {place({"--replicate", "2", "--semantics", "placeto"}), "choose dataflow"},
      {place({"--replicate", "2", "--pin", "x=gpu:0"}), "'constraints'"},
      {place({"--replicate", "2", "--for", "tensorflow"}), "'tool'"},
      {{"compare", model("tf/nmt_tiny.pb"), "--batch", "8", "--cluster", "k80x2", "--policies",
        "single", "--replicate", "auto"},
       "'auto' searches for a plan"},
      {{"place", model("tf/nmt_tiny.pb"), "--batch", "1", "--cluster", "k80x2", "--replicate", "2"},
       "a batch of one sample"},
      // Before the search, which would take the default budget.
      {place({"--write", "replicas=plan.json"}), "add --replicate"},
      {place({"--replicate", "auto", "--write", "split=parts"}), "leave out --replicate"},
      {{"place", cnn, "--batch", "8", "--cluster", "k80x2", "--replicate", "2", "--write",
        "model=placed.onnx"},
       "TensorFlow's graphs alone"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.part);
    const ProcessResult result = work.berth(row.command);
    CHECK(result.status != 0);
    CHECK_MESSAGE(result.err.find(row.part) != std::string::npos, result.err);
  }
}

namespace {

/// w -= `change` of x, which is [batch, 2]: "sum", that of `rows` over the batch, which are "x" or "scaled", x by a number
/// that all samples make; or "mean", the sum by how many numbers x has.
std::string step_of(const std::string& rows, const std::string& change = "sum", int batch = -1) {
  const std::string floats = " attr { key: 'T' value { type: DT_FLOAT } }";
  const std::string dtype = " attr { key: 'dtype' value { type: DT_FLOAT } }";
  return "node { name: 'x' op: 'Placeholder'" + dtype +
         " attr { key: 'shape' value { shape { dim { size: " + std::to_string(batch) +
         " } dim { size: 2 } } } } }"
         "node { name: 'w' op: 'VariableV2'" +
         dtype +
         " attr { key: 'shape' value { shape { dim { size: 2 } } } } }"
         "node { name: 'axis' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }"
         " attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } "
         "} }"
         "node { name: 'norm' op: 'L2Loss' input: 'x'" +
         floats + " } node { name: 'scaled' op: 'Mul' input: 'x' input: 'norm'" + floats +
         " } node { name: 'sum' op: 'Sum' input: '" + rows + "' input: 'axis'" + floats +
         " attr { key: 'Tidx' value { type: DT_INT32 } } }"
         "node { name: 'size' op: 'Size' input: 'x'" +
         floats +
         " } node { name: 'count' op: 'Cast' input: 'size'"
         " attr { key: 'SrcT' value { type: DT_INT32 } }"
         " attr { key: 'DstT' value { type: DT_FLOAT } } }"
         "node { name: 'mean' op: 'RealDiv' input: 'sum' input: 'count'" +
         floats + " } node { name: 'train' op: 'AssignSub' input: 'w' input: '" + change + "'" +
         floats + " }";
}

}  // namespace

TEST_CASE("a sum counts as it is, and samples that meet are noted") {
  const Workplace work;
  const auto placed = [&](const std::string& rows) {
    std::ofstream(work / "step.pbtxt") << step_of(rows);
    const ProcessResult result = work.berth(
        {"place", "step.pbtxt", "--batch", "8", "--cluster", "k80x2", "--fetch", "train",
         "--replicate", "gpu:0=6,gpu:1=2", "--moves", "50", "--write", "replicas=plan.json"});
    REQUIRE_MESSAGE(result.status == 0, result.err);
    return result.err;
  };
  CHECK(placed("x").find("meet") == std::string::npos);
  CHECK(Json::parse(file_text(work / "plan.json"))["replicas"][0]["weight"] == 1);
  CHECK(placed("scaled").find("samples of the whole batch meet in 'norm' (L2Loss)") !=
        std::string::npos);
}

TEST_CASE("a batch that the file fixes is shared as one that the caller gives") {
  const Workplace work;
  std::ofstream(work / "step.pbtxt") << step_of("x", "mean", 8);
  const auto weight = [&](const std::vector<std::string>& more) {
    std::vector<std::string> command = {
        "place",   "step.pbtxt", "--cluster",   "k80x2",           "--fetch", "train",
        "--moves", "50",         "--replicate", "gpu:0=6,gpu:1=2", "--write", "replicas=plan.json"};
    command.insert(command.end(), more.begin(), more.end());
    const ProcessResult result = work.berth(command);
    REQUIRE_MESSAGE(result.status == 0, result.err);
    return Json::parse(file_text(work / "plan.json"))["replicas"][0]["weight"];
  };
  CHECK(weight({}) == weight({"--batch", "8"}));
}

TEST_CASE("one device, and a forward pass, are placed as they are with a note") {
  const Workplace work;
  const auto notes_of = [&](const std::vector<std::string>& command) {
    const ProcessResult result = work.berth(command);
    REQUIRE_MESSAGE(result.status == 0, result.err);
    std::string notes;
    const Json json = Json::parse(result.out);
    for (const Json& note : json["notes"]) {
      notes += note.get<std::string>() + "\n";
    }
    return notes;
  };
  CHECK(notes_of({"place", model("tf/nmt_tiny.pb"), "--batch", "8", "--cluster", "rtx3090",
                  "--replicate", "auto", "--json", "--budget", "2s"})
            .find("there is one device") != std::string::npos);
  CHECK(notes_of({"place", model("tiny_cnn.onnx"), "--batch", "8", "--cluster", "k80x2",
                  "--replicate", "auto", "--json", "--budget", "2s"})
            .find("no training step") != std::string::npos);
}
