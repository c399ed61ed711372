// profile, measure, verify, and the searches that measure, on this machine's cores.
#include "berth.h"
#include "support/data.h"

using namespace berth::test;

namespace {

/// A Workplace with a cache of its own and a small model's placement on two logical devices.
struct Machine : Workplace {
  Machine() {
    settings.environment.push_back("XDG_CACHE_HOME=" + (*this / "cache").string());
    const Json devices = berth_json({"devices", "--backend", "cpu", "--json"});
    write("machine.json", devices);
    const ProcessResult placed = berth({"place", model, "--cluster", "machine.json", "--policy",
                                        "round_robin", "-o", "placement.json"});
    REQUIRE(placed.status == 0);
  }
  const std::string model = source_path("examples/models/tf/nmt_tiny.pb").string();
};

/// What succeeds with notes on standard error; its standard output as JSON.
Json json_of(const ProcessResult& result) {
  INFO(result.err);
  REQUIRE(result.status == 0);
  return Json::parse(result.out);
}

}  // namespace

TEST_CASE("measure executes a placement and tells runtime, devices and what was simulated") {
  const Machine machine;
  const Json json = json_of(
      machine.berth({"measure", machine.model, "--backend", "cpu", "--placement", "placement.json",
                     "--warm-up", "1", "--repeats", "3", "--trace", "step.json", "--json"}));
  CHECK(json["runtime_us"] > 0);
  CHECK(json["simulated_us"] > 0);
  CHECK(json["steps_us"].size() == 3);
  CHECK(json["policy"] == "round_robin");
  REQUIRE(json["devices"].size() == 2);
  CHECK(json["devices"][1]["name"] == "cpu:1");
  CHECK(json["devices"][1]["peak_bytes"] > 0);
  CHECK(std::filesystem::file_size(machine / "step.json") > 0);
  // So is what was made for a tool.
  const ProcessResult planned =
      machine.berth({"place", machine.model, "--cluster", "machine.json", "--for", "tensorflow",
                     "--policy", "single", "-o", "planned.json"});
  CHECK_MESSAGE(planned.status == 0, planned.err);
  CHECK(json_of(machine.berth({"measure", machine.model, "--backend", "cpu", "--placement",
                               "planned.json", "--warm-up", "1", "--repeats", "3", "--json"}))
            .contains("runtime_us"));
}

TEST_CASE("what was placed by measuring is compared with what was measured then") {
  const Machine machine;
  const ProcessResult placed =
      machine.berth({"place", machine.model, "--backend", "cpu", "--evaluator", "measure",
                     "--policy", "round_robin", "-o", "measured.json"});
  REQUIRE_MESSAGE(placed.status == 0, placed.err);
  const std::vector<std::string> measure = {"measure",     machine.model,   "--backend", "cpu",
                                            "--placement", "measured.json", "--repeats", "3"};
  std::vector<std::string> as_json = measure;
  as_json.emplace_back("--json");
  const Json file = Json::parse(file_text(machine / "measured.json"));
  const Json json = json_of(machine.berth(as_json));
  CHECK(json["recorded_us"] == file["results"]["runtime_us"]);
  CHECK(json["simulated_us"].is_null());  // a roofline had no part in it
  const std::string text = machine.berth(measure).out;
  CHECK(text.find("when it was placed, measured on ") != std::string::npos);
  CHECK(text.find("  simulated ") == std::string::npos);
  // Costs that are asked for are simulated by.
  as_json.insert(as_json.end(), {"--costs", "roofline"});
  CHECK(json_of(machine.berth(as_json))["simulated_us"] > 0);
}

TEST_CASE("verify accepts a placement, and says so by its status") {
  const Machine machine;
  const Json json = json_of(machine.berth(
      {"verify", machine.model, "--backend", "cpu", "--placement", "placement.json", "--json"}));
  CHECK(json["verified"] == true);
  CHECK(json["reference"] == "cpu:0");
  CHECK_FALSE(json["outputs"].empty());
}

TEST_CASE("verify does not claim what it did not compare") {
  const Machine machine;
  std::ofstream(machine / "nothing.pbtxt") << "node { name: 'x' op: 'Placeholder' attr { key: "
                                              "'dtype' value { type: DT_FLOAT } } attr { key: "
                                              "'shape' value { shape { dim { size: 2 } } } } } "
                                              "node { name: 'step' op: 'NoOp' input: '^x' }";
  REQUIRE(machine
              .berth({"place", "nothing.pbtxt", "--cluster", "k80x2", "--policy", "single", "-o",
                      "p.json", "--backend", "cpu", "--fetch", "step"})
              .status == 0);
  const std::vector<std::string> verify = {"verify", "nothing.pbtxt", "--backend",
                                           "cpu",    "--placement",   "p.json"};
  const ProcessResult said = machine.berth(verify);
  CHECK(said.status == 0);
  CHECK(said.out.find("Not verified") != std::string::npos);
  std::vector<std::string> as_json = verify;
  as_json.emplace_back("--json");
  CHECK(json_of(machine.berth(as_json))["verified"] == false);
}

TEST_CASE("profile writes costs and a machine that simulate takes, and remembers them") {
  const Machine machine;
  const std::vector<std::string> profile = {
      "profile", machine.model, "--backend",        "cpu",           "--repeats", "3",
      "-o",      "costs.json",  "--cluster-output", "measured.json", "--json"};
  CHECK(json_of(machine.berth(profile))["cached"] == false);
  const std::string costs = file_text(machine / "costs.json");
  CHECK(json_of(machine.berth(profile))["cached"] == true);
  CHECK(file_text(machine / "costs.json") == costs);
  const Json simulated =
      json_of(machine.berth({"simulate", machine.model, "--cluster", "measured.json", "--costs",
                             "costs.json", "--placement", "placement.json", "--json"}));
  CHECK(simulated["runtime_us"] > 0);
}

TEST_CASE("costs of another batch or machine are told where they are used") {
  const Machine machine;
  const std::string cnn = source_path("examples/models/tiny_cnn.onnx").string();
  json_of(machine.berth({"profile", cnn, "--batch", "1", "--backend", "cpu", "--repeats", "3", "-o",
                         "costs.json", "--cluster-output", "measured.json", "--json"}));
  const auto said = [&](const char* batch) {
    return machine
        .berth({"place", cnn, "--batch", batch, "--cluster", "measured.json", "--costs",
                "costs.json", "--policy", "single"})
        .err;
  };
  CHECK(said("64").find("measure it for this batch") != std::string::npos);
  CHECK(said("1").find("measure it for this batch") == std::string::npos);

  // Those of another machine too, where both were measured: other names say nothing of it.
  CHECK(said("1").find("were measured on") == std::string::npos);
  Json costs = Json::parse(file_text(machine / "costs.json"));
  const std::string here = costs["machine"];
  const auto moved = [&](const std::string& name) {
    costs["machine"] = name;
    machine.write_text("costs.json", costs.dump());
    return said("1");
  };
  CHECK(moved("cpu (a laptop: 1 device of 2 threads)")
            .find("were measured on cpu (a laptop: 1 device of 2 threads), and the cluster is " +
                  here) != std::string::npos);
  CHECK(moved("4xcpu").find("were measured on") == std::string::npos);
}

TEST_CASE(
    "what a profile measured as one is placed as one, and told where a placement has it apart") {
  const Machine machine;
  const std::string cnn = source_path("examples/models/tiny_cnn.onnx").string();
  CHECK(json_of(machine.berth({"profile", cnn, "--backend", "cpu", "--repeats", "3", "-o",
                               "costs.json", "--cluster-output", "measured.json", "--json"}))
            .contains("ops"));
  const Json costs = Json::parse(file_text(machine / "costs.json"));
  CHECK(costs["joined"]["/right/right.1/Relu"] == "/right/right.0/Conv");
  const std::vector<std::string> place = {"place",  cnn,        "--cluster", "measured.json",
                                          "--seed", "1",        "--policy",  "random",
                                          "-o",     "one.json", "--costs",   "costs.json"};
  REQUIRE(machine.berth(place).status == 0);
  Json placement = Json::parse(file_text(machine / "one.json"));
  for (const auto& [op, with] : costs["joined"].items()) {
    CHECK(placement["assignment"][op] == placement["assignment"][with.get<std::string>()]);
  }
  const std::vector<std::string> simulate = {"simulate", cnn, "--placement", "one.json", "--json"};
  CHECK(json_of(machine.berth(simulate))["notes"].dump().find("work of others") ==
        std::string::npos);
  for (auto& [op, device] : placement["assignment"].items()) device = "cpu:0";
  placement["assignment"]["/right/right.1/Relu"] = "cpu:1";
  machine.write("one.json", placement);
  CHECK(json_of(machine.berth(simulate))["notes"].dump().find(
            "such as '/right/right.1/Relu' of '/right/right.0/Conv'") != std::string::npos);
}

TEST_CASE("tune measures, and writes costs and a machine that explain what it measured") {
  const Machine machine;
  const std::vector<std::string> tune = {
      "tune",     machine.model, "--backend",        "cpu",         "--measurements", "3",
      "-o",       "costs.json",  "--cluster-output", "learnt.json", "--placement",    "best.json",
      "--record", "tune.record", "--seed",           "1",           "--json"};
  const Json tuned = json_of(machine.berth(tune));
  CHECK(tuned["policy"] == "tune");
  CHECK(tuned["runtime_us"] > 0);
  CHECK(tuned["notes"].dump().find("3 placements were measured") != std::string::npos);
  CHECK(file_text(machine / "best.json").find("berth-tune-") == std::string::npos);
  for (const Json& link : Json::parse(file_text(machine / "learnt.json"))["links"]) {
    CHECK(link["receiver_us"] > 0);  // devices copy as they did
  }

  const Json simulated =
      json_of(machine.berth({"simulate", machine.model, "--placement", "best.json", "--json"}));
  const Json told =
      json_of(machine.berth({"simulate", machine.model, "--cluster", "learnt.json", "--costs",
                             "costs.json", "--placement", "best.json", "--json"}));
  CHECK(simulated["runtime_us"] == told["runtime_us"]);

  // All three are there: nothing is measured but the answer.
  const std::string record = file_text(machine / "tune.record");
  CHECK(json_of(machine.berth(tune))["policy"] == "tune");
  CHECK(file_text(machine / "tune.record") == record);
}

TEST_CASE("what was measured is not lost with a file that cannot be written") {
  const Machine machine;
  const struct {
    std::vector<std::string> arguments;
    std::string lost, shown;
  } cases[] = {
      {{"measure", "--placement", "placement.json", "--repeats", "3", "--trace", "/dev/full",
        "--svg", "kept"},
       "--trace",
       "runtime"},
      {{"profile", "--repeats", "3", "-o", "/dev/full", "--cluster-output", "kept"},
       "-o",
       "per op besides"},
      {{"tune", "--measurements", "3", "-o", "/dev/full", "--placement", "kept"}, "-o", "runtime"}};
  for (const auto& each : cases) {
    std::vector<std::string> arguments = each.arguments;
    arguments.insert(arguments.begin() + 1, {machine.model, "--backend", "cpu"});
    const ProcessResult result = machine.berth(arguments);
    CAPTURE(result.err);
    CHECK(result.status == 1);
    CHECK(result.err.find(each.lost + " was not written: /dev/full") != std::string::npos);
    CHECK(result.out.find(each.shown) != std::string::npos);
    CHECK(std::filesystem::file_size(machine / "kept") > 0);
    // A placement names no costs that are not there.
    CHECK(file_text(machine / "kept").find("/dev/full") == std::string::npos);
    std::filesystem::remove(machine / "kept");
  }
}

TEST_CASE("a profile is not that of a model with other attributes, and keeps its notes") {
  const Machine machine;
  // Two poolings of one shape whose windows differ. Devices share the cores of a machine that has fewer.
  const auto profile = [&](int window, int margin) {
    const std::string text =
        "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } attr { "
        "key: "
        "'shape' value { shape { dim { size: 1 } dim { size: 8 } dim { size: 8 } dim { size: 1 } } "
        "} } } "
        "node { name: 'y' op: 'MaxPool' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } attr "
        "{ "
        "key: 'padding' value { s: 'SAME' } } attr { key: 'strides' value { list { i: 1 i: 1 i: 1 "
        "i: 1 "
        "} } } attr { key: 'ksize' value { list { i: 1 i: " +
        std::to_string(window) + " i: " + std::to_string(margin) + " i: 1 } } } }";
    std::ofstream(machine / "pool.pbtxt") << text;
    return machine.berth({"profile", "pool.pbtxt", "--backend", "cpu:devices=3", "--repeats", "3",
                          "--warm-up", "0", "--json"});
  };
  const ProcessResult first = profile(2, 2);
  CHECK(json_of(first)["cached"] == false);
  CHECK(json_of(profile(3, 2))["cached"] == false);
  const ProcessResult again = profile(2, 2);
  CHECK(json_of(again)["cached"] == true);
  const auto notes = [](const ProcessResult& result) {
    std::string found;
    for (std::size_t at = 0; (at = result.err.find("berth: note:", at)) != std::string::npos;
         ++at) {
      found += result.err.substr(at, result.err.find('\n', at) - at) + "\n";
    }
    return found;
  };
  CHECK(notes(first) == notes(again));
  if (std::thread::hardware_concurrency() < 3) {
    CHECK(notes(again).find("3 devices") != std::string::npos);
  }
}

TEST_CASE("a damaged profile in the cache is told and measured anew") {
  const Machine machine;
  const std::vector<std::string> profile = {"profile",   machine.model, "--backend", "cpu",
                                            "--repeats", "3",           "--json"};
  REQUIRE(machine.berth(profile).status == 0);
  for (const char* content : {"", "{\"format\": \"berth.costs/1\"", "{}", "1e309"}) {
    std::string damaged;
    for (const auto& entry :
         std::filesystem::directory_iterator(machine / "cache/berth/profiles")) {
      damaged = entry.path().string();
      std::ofstream(damaged) << content;
    }
    const ProcessResult again = machine.berth(profile);
    CHECK(json_of(again)["cached"] == false);
    CHECK(again.err.find("berth: note: the profile that was kept is damaged") != std::string::npos);
    CHECK(again.err.find("cache/berth/profiles/") != std::string::npos);
    CHECK(json_of(machine.berth(profile))["cached"] == true);
  }
}

TEST_CASE("an emulated link that nobody would wait for is an error") {
  const Machine machine;
  for (const char* backend : {"cpu:latency_us=1e12", "cpu:bandwidth_bytes_per_s=1e-3"}) {
    const ProcessResult result =
        machine.berth({"profile", machine.model, "--backend", backend, "--repeats", "3"});
    CHECK(result.status == 1);
    CHECK(result.err.find("none longer than 10 s is waited for") != std::string::npos);
  }
}

TEST_CASE("profile needs three steps, and says so as a usage error") {
  const Machine machine;
  const ProcessResult result =
      machine.berth({"profile", machine.model, "--backend", "cpu", "--repeats", "2"});
  CHECK(result.status == 2);
  CHECK(result.err.find("--repeats") != std::string::npos);
}

TEST_CASE("place and compare measure where they are asked to") {
  const Machine machine;
  const Json json =
      json_of(machine.berth({"place", machine.model, "--policy", "round_robin", "--evaluator",
                             "measure", "--backend", "cpu:devices=3", "--json"}));
  CHECK(json["evaluator"] == "measure");
  CHECK(json["runtime_us"] > 0);
  CHECK(json["devices"].size() == 3);
  // A bound from costs, be it above or below what was measured, proves nothing of it.
  CHECK(!json.contains("lower_bound_us"));
  CHECK(json["gap"].is_null());
  const ProcessResult placed =
      machine.berth({"place", machine.model, "--policy", "round_robin", "--evaluator", "measure"});
  CHECK(placed.out.find("reached") == std::string::npos);
  CHECK(placed.out.find("costs prove nothing of what is measured") != std::string::npos);
  const ProcessResult compared = machine.berth(
      {"compare", machine.model, "--policies", "single,round_robin", "--evaluator", "measure"});
  CHECK(compared.status == 0);
  CHECK(compared.out.find("no placement can have") == std::string::npos);
  const std::string table = compared.out.substr(0, compared.out.find("Best: "));
  CHECK(table.find('%') == std::string::npos);
}

TEST_CASE("inspect says what a backend can execute") {
  const Machine machine;
  const Json json =
      json_of(machine.berth({"inspect", machine.model, "--backend", "cpu", "--json"}));
  CHECK(json["execution"]["backend"] == "cpu");
  CHECK(json["execution"]["cannot_execute"].empty());
}

TEST_CASE("what cannot be executed is said with the fix") {
  const Machine machine;
  struct Case {
    std::vector<std::string> arguments;
    int status;
    const char* said;
  };
  const Case cases[] = {
      {{"measure", "diamond.graph.json", "--backend", "cpu", "--placement", "split.json"},
       1,
       "says nothing of what its ops compute"},
      {{"measure", machine.model, "--backend", "gpus", "--placement", "placement.json"},
       1,
       "no backend 'gpus'"},
      {{"measure", machine.model, "--backend", "cpu:device=2", "--placement", "placement.json"},
       1,
       "devices"},
      {{"measure", machine.model, "--backend", "cpu:devices", "--placement", "placement.json"},
       1,
       "name=value"},
      {{"measure", machine.model, "--backend", "cpu", "--cluster", "k80x4", "--placement",
        "placement.json"},
       1,
       "cpu:0, cpu:1"},
      {{"measure", machine.model, "--backend", "cpu:memory_bytes=1000", "--placement",
        "placement.json"},
       1,
       "out of memory"},
      {{"tune", machine.model, "-o", "costs.json"}, 2, "--backend"},
      {{"tune", machine.model, "--backend", "cpu", "--measurements", "0"}, 2, "--measurements"},
      {{"tune", machine.model, "--backend", "cpu", "--measurements", "1", "--record",
        "machine.json"},
       1,
       "no file of measurements of this format"},
      {{"place", machine.model, "--policy", "single", "--evaluator", "guess"}, 2, "simulate"},
      {{"place", machine.model, "--policy", "single", "--evaluator", "measure", "--objective",
        "throughput"},
       1,
       "latency"},
  };
  for (const Case& one : cases) {
    const ProcessResult result = machine.berth(one.arguments);
    INFO(result.err);
    CHECK(result.status == one.status);
    CHECK(result.err.find(one.said) != std::string::npos);
  }
}
