#include "berth.h"

using namespace berth::test;

namespace {

std::vector<std::string> place(const std::string& policy, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"place", "diamond.graph.json", "--cluster", "pair.cluster.json",
                             "--policy", policy});
  return more;
}

}  // namespace

TEST_CASE("place --json tells what was found and how good it is") {
  const Workplace work;
  const Json json = work.berth_json(place("single", {"--json", "--seed", "7"}));
  CHECK(json["model"] == "diamond.graph.json");
  CHECK(json["graph"] == "diamond");
  CHECK(json["cluster"] == "pair");
  CHECK(json["costs"] == "stated");
  CHECK(json["policy"] == "single");
  CHECK(json["seed"] == 7);
  CHECK(json["feasible"] == true);
  CHECK(json["runtime_us"] == doctest::Approx(6010));
  CHECK(!json.contains("max_load_us"));
  CHECK(json["lower_bound_us"] <= 6010);
  CHECK(json["best_single"]["device"] == "gpu:0");
  CHECK(json["best_single"]["speed_up"] == doctest::Approx(1));
  REQUIRE(json["devices"].size() == 3);
  CHECK(json["devices"][0]["name"] == "gpu:0");
  CHECK(json["devices"][0]["ops"] == 7);
  CHECK(json["devices"][0]["busy_us"] == doctest::Approx(6010));
  CHECK(json["devices"][0]["peak_bytes"] >= 7000000);
  CHECK(json["devices"][0]["memory_bytes"] == 100000000);
  CHECK(!json["devices"][2].contains("memory_bytes"));
  CHECK(json["links"] == Json::array());
}

TEST_CASE("one device is the gpu, with the host for what only the host can run") {
  const Workplace work;
  work.write("diamond.graph.json", hosted_diamond_graph());
  const std::string text = "gpu:0 for all that it can run, cpu:0 for 1 op";
  const Json json = work.berth_json(place("single", {"--json"}));
  CHECK(json["best_single"]["device"] == "gpu:0");
  CHECK(json["best_single"]["text"] == text);
  CHECK(json["best_single"]["ops"] == Json{{"gpu:0", 6}, {"cpu:0", 1}});
  CHECK(json["best_single"]["objective_us"].get<double>() < 7000);  // the host alone: 600,000
  CHECK(json["best_single"]["speed_up"] == doctest::Approx(1));
  const ProcessResult placed = work.berth(place("single"));
  CHECK(placed.out.find("on " + text + ": this placement is no faster") != std::string::npos);
  const ProcessResult compared = work.berth(
      {"compare", "diamond.graph.json", "--cluster", "pair.cluster.json", "--policies", "single"});
  CHECK(compared.out.find("the best single device, " + text + " (") != std::string::npos);
}

TEST_CASE("only what the fetches need is placed, and simulated with the same fetches") {
  const Workplace work;
  work.write_text("only.lua", "return { fetches = { 'a2' } }");
  const std::vector<std::string> chosen[] = {{"--fetch", "a2"}, {"--config", "only.lua"}};
  for (std::vector<std::string> more : chosen) {
    more.insert(more.end(), {"--json", "-o", "p.json"});
    CHECK(work.berth_json(place("single", more))["runtime_us"] == doctest::Approx(3000));
    CHECK(Json::parse(file_text(work / "p.json"))["assignment"].size() == 3);
  }
  std::vector<std::string> simulate = {
      "simulate", "diamond.graph.json", "--cluster", "pair.cluster.json", "--placement", "p.json",
      "--json"};
  // The placement says what it was made of.
  CHECK(work.berth_json(simulate)["runtime_us"] == doctest::Approx(3000));
  simulate.insert(simulate.end(), {"--fetch", "b2"});
  CHECK(work.berth(simulate).status == 1);
}

TEST_CASE("the throughput objective reports the largest load beside the runtime") {
  const Workplace work;
  const Json json = work.berth_json(place("single", {"--json", "--objective", "throughput"}));
  CHECK(json["objective"] == "throughput");
  CHECK(json["max_load_us"] == doctest::Approx(6010));
  CHECK(json["runtime_us"] == doctest::Approx(6010));
}

TEST_CASE("a channel that sets the pace of a pipeline is named") {
  // Two pairs of ops, each cut: 100 us of compute and 100 us of transfer on every device, 200 us on the bus.
  const Workplace work;
  Json graph = {{"format", "berth.graph/1"}, {"name", "pairs"}, {"ops", Json::array()}};
  Json cluster = {{"format", "berth.cluster/1"}, {"name", "bus"}};
  Json placement = {{"format", "berth.placement/1"}, {"graph", "pairs"}};
  for (int i = 0; i < 4; ++i) {
    const std::string number = std::to_string(i);
    const Json outputs = i % 2 == 0 ? Json{1000000} : Json::array();
    graph["ops"].push_back(
        {{"name", "op" + number}, {"type", "X"}, {"cost_us", 90}, {"output_bytes", outputs}});
    cluster["devices"].push_back({{"name", "g" + number}, {"kind", "gpu"}});
    placement["devices"].push_back("g" + number);
    placement["assignment"]["op" + number] = "g" + number;
  }
  for (int i = 0; i < 4; i += 2) {
    graph["edges"].push_back({{"src", i}, {"output", 0}, {"dst", i + 1}});
  }
  cluster["links"] = {{{"src", "*"},
                       {"dst", "*"},
                       {"bandwidth_bytes_per_s", 1e10},
                       {"latency_us", 0},
                       {"shares", {"bus"}}}};
  work.write("pairs.graph.json", graph);
  work.write("bus.cluster.json", cluster);
  work.write("p.json", placement);
  std::vector<std::string> simulate = {
      "simulate", "pairs.graph.json", "--cluster",  "bus.cluster.json", "--placement",
      "p.json",   "--objective",      "throughput", "--inputs",         "any"};
  const std::string text = work.berth(simulate).out;
  CHECK(text.find("200.0 us  of the channel 'bus', per step") != std::string::npos);
  CHECK(text.find("Limited by the channel 'bus', which carries one transfer at a time") !=
        std::string::npos);
  simulate.emplace_back("--json");
  CHECK(work.berth_json(simulate)["max_load_us"] == doctest::Approx(200));
}

TEST_CASE("a state that comes round more slowly than a pipeline's loads is named") {
  // past -> a -> b -> c: 2.1 ms of work, of which each gpu has 1.05 ms at best.
  const Workplace work;
  Json graph = {{"format", "berth.graph/1"}, {"name", "loop"}, {"ops", Json::array()}};
  Json placement = {
      {"format", "berth.placement/1"}, {"graph", "loop"}, {"devices", {"gpu:0", "gpu:1"}}};
  for (const char* const name : {"past", "a", "b", "c"}) {
    const bool input = std::string(name) == "past";
    const double us = input ? 0 : std::string(name) == "c" ? 100 : 1000;
    graph["ops"].push_back({{"name", name},
                            {"type", input ? "Input" : "Layer"},
                            {"cost_us", {{"gpu", us}, {"cpu", 100 * us}}},
                            {"output_bytes", {1000}}});
    placement["assignment"][name] = std::string(name) == "c" ? "gpu:1" : "gpu:0";
  }
  for (int i = 0; i < 3; ++i) {
    graph["edges"].push_back({{"src", i}, {"output", 0}, {"dst", i + 1}});
  }
  work.write("loop.graph.json", graph);
  work.write("p.json", placement);
  const auto simulated = [&](const char* state, const std::vector<std::string>& more = {}) {
    std::vector<std::string> all = {
        "simulate", "loop.graph.json", "--cluster", "pair.cluster.json", "--placement",
        "p.json",   "--state",         state,       "--objective",       "throughput"};
    all.insert(all.end(), more.begin(), more.end());
    return work.berth(all);
  };
  const std::string part = "the next step reads 'past', which this one makes anew ";
  const ProcessResult slow = simulated("b=past");
  CHECK_MESSAGE(slow.err.find(part + "2.000 ms") != std::string::npos, slow.err);
  CHECK(slow.err.find("unless steps in flight are of different sequences") != std::string::npos);
  CHECK(slow.out.find("sets the pace of the pipeline") != std::string::npos);  // with its transfer
  const ProcessResult quick = simulated("a=past");
  CHECK_MESSAGE(quick.err.find(part) == std::string::npos, quick.err);
  // Steps alternate between the devices, and each waits for the one before.
  placement["assignment"]["a"] = "gpu:1";
  work.write("p.json", placement);
  const ProcessResult crossed = simulated("b=past");
  CHECK_MESSAGE(crossed.out.find("The loads do not set the pace") != std::string::npos,
                crossed.out);
  CHECK_MESSAGE(crossed.out.find(part + "2.022 ms") != std::string::npos, crossed.out);
  CHECK_MESSAGE(crossed.out.find("by the loads alone") != std::string::npos, crossed.out);
}

TEST_CASE("devices shows where a machine's figures come from, read back from its file as well") {
  const Workplace work;
  const auto sources = [&](const std::string& machine) {
    std::string found;
    const Json document = work.berth_json({"devices", "--cluster", machine, "--json"});
    for (const char* list : {"devices", "links"}) {
      for (const Json& each : document[list])
        found += each.value("source", std::string("none")) + ";";
    }
    return found;
  };
  Json cluster = Json::parse(file_text(work / "pair.cluster.json"));
  cluster["devices"][0]["source"] = "measured";
  cluster["links"][0]["source"] = "a guess";
  work.write("told.cluster.json", cluster);
  CHECK(sources("told.cluster.json").starts_with("measured;none;none;a guess;"));
  CHECK(work.berth({"devices", "--cluster", "told.cluster.json"}).out.find("gpu:0: measured") !=
        std::string::npos);
  CHECK(sources("rtx4090").find("white paper") != std::string::npos);
  CHECK(sources("k80x4").find("none") < sources("k80x4").size());  // of links alone
  CHECK_FALSE(sources("k80x4").starts_with("none"));
}

TEST_CASE("what links are without saying so is noted where it does not count") {
  const Workplace work;
  for (const Json& property : {Json{{"parallel", true}}, Json{{"receiver_us", 1}}}) {
    Json cluster = Json::parse(file_text(work / "pair.cluster.json"));
    for (Json& link : cluster["links"]) {
      link.erase("shares");
      link.update(property);
    }
    work.write("special.cluster.json", cluster);
    const auto notes = [&](const char* objective, const char* semantics) {
      return work
          .berth({"place", "diamond.graph.json", "--cluster", "special.cluster.json", "--policy",
                  "single", "--objective", objective, "--semantics", semantics})
          .err;
    };
    CHECK(notes("latency", "dataflow").find("links of this machine") == std::string::npos);
    CHECK(notes("throughput", "dataflow").find("links of this machine") != std::string::npos);
    CHECK(notes("latency", "placeto").find("links of this machine") != std::string::npos);
  }
}

TEST_CASE("a state that cannot be where its result is made is sent back in every step") {
  const Workplace work;
  Json graph = {{"format", "berth.graph/1"}, {"name", "loop"}, {"ops", Json::array()}};
  graph["ops"].push_back({{"name", "past"},
                          {"type", "Input"},
                          {"cost_us", {{"gpu", 0}, {"cpu", 0}}},
                          {"output_bytes", {1000000}}});
  graph["ops"].push_back({{"name", "step"},
                          {"type", "Layer"},
                          {"cost_us", {{"gpu", 1000}, {"cpu", 1000}}},
                          {"output_bytes", {1000000}}});
  graph["edges"] = {{{"src", 0}, {"output", 0}, {"dst", 1}}};
  work.write("loop.graph.json", graph);
  constexpr double kTransfer = 1010;
  for (const std::string policy : {"single", "topo", "heft", "metis", "m-etf", "auto"}) {
    for (const std::string objective : {"latency", "throughput"}) {
      CAPTURE(policy);
      CAPTURE(objective);
      const std::string figure = objective == "latency" ? "runtime_us" : "max_load_us";
      const auto placed = [&](const std::string& state) {
        const ProcessResult result =
            work.berth({"place", "loop.graph.json", "--cluster", "pair.cluster.json", "--policy",
                        policy, "--objective", objective, "--state", state, "--pin", "past=cpu:0",
                        "--pin", "step=gpu:1", "-o", "p.json", "--json"});
        REQUIRE(result.status == 0);
        return Json::parse(result.out);
      };
      CHECK(placed("none")[figure] == doctest::Approx(1000 + kTransfer));
      const Json kept = placed("step=past");
      CHECK(kept[figure] == doctest::Approx(1000 + 2 * kTransfer));
      CHECK(kept["lower_bound_us"] <= kept[figure]);
      CHECK(kept["notes"].dump().find("sends 977 KiB back to 'past'") != std::string::npos);
      const ProcessResult again =
          work.berth({"simulate", "loop.graph.json", "--placement", "p.json", "--json"});
      CHECK(Json::parse(again.out)[figure] == kept[figure]);
    }
  }
}

TEST_CASE("place without --json explains itself") {
  const Workplace work;
  const ProcessResult result = work.berth(place("single"));
  CHECK(result.status == 0);
  CHECK(result.err == "");
  for (const char* part : {"diamond.graph.json: 7 ops", "placed by single", "runtime", "6.010 ms",
                           "lower bound", "one device", "this placement is no faster", "gpu:1",
                           "No transfers", "the step waits for compute 100.0 %"}) {
    CAPTURE(part);
    CHECK(result.out.find(part) != std::string::npos);
  }
}

TEST_CASE("place says plainly when one device is better") {
  Workplace work;
  work.settings.environment = {std::string("BERTH_PLUGIN_PATH=") + BERTH_TEST_PLUGINS};
  Json cluster = pair_cluster();
  std::swap(cluster["devices"][0], cluster["devices"][2]);  // the slow host first
  work.write("pair.cluster.json", cluster);
  const ProcessResult result = work.berth(place("careless"));
  CHECK(result.status == 0);
  CHECK(result.out.find("FASTER than this placement, 100.00x as fast; --policy single") !=
        std::string::npos);
}

TEST_CASE("-o writes a placement with its provenance, the same bytes for the same seed") {
  Workplace work;
  work.settings.environment = {std::string("BERTH_PLUGIN_PATH=") + BERTH_TEST_PLUGINS};
  const auto run = [&work](const std::string& policy, const std::string& file,
                           const std::string& threads) {
    const ProcessResult result =
        work.berth(place(policy, {"-o", file, "--seed", "3", "--threads", threads}));
    CAPTURE(result.err);
    REQUIRE(result.status == 0);
    return file_text(work / file);
  };
  SUBCASE("the file") {
    const Json json = Json::parse(run("careless", "p.json", "1"));
    CHECK(json["format"] == "berth.placement/1");
    CHECK(json["graph"] == "diamond");
    CHECK(json["assignment"]["end"] == "gpu:0");
    CHECK(json["provenance"]["policy"] == "careless");
    CHECK(json["provenance"]["seed"] == 3);
    CHECK(json["provenance"]["options"] == Json{{"level", 3}, {"mood", "calm"}, {"motto", ""}});
  }
  SUBCASE("every policy") {
    const Json plugins = work.berth_json({"plugins", "--json"})["plugins"];
    for (const Json& plugin : plugins) {
      const std::string name = plugin["name"];
      // The last two search until they are told to stop.
      if (plugin["kind"] != "policy" || name == "patient" || name == "deaf") continue;
      CAPTURE(name);
      CHECK(run(name, "one.json", "1") == run(name, "two.json", "2"));
    }
  }
}

TEST_CASE("--set gives the policy its options") {
  Workplace work;
  work.settings.environment = {std::string("BERTH_PLUGIN_PATH=") + BERTH_TEST_PLUGINS};
  const Json json = work.berth_json(place(
      "careless", {"--json", "--set", "level=12", "--set", "mood=wild", "--set", "motto=a=b, c"}));
  CHECK(json["options"] == Json{{"level", 12}, {"mood", "wild"}, {"motto", "a=b, c"}});
  const ProcessResult moody = work.berth(place("careless", {"--set", "mood=a=b, c"}));
  CHECK(moody.status == 1);
  CHECK(moody.err.find("option 'mood' takes one of calm, wild; got 'a=b, c'") != std::string::npos);
}

TEST_CASE("--threads bounds the policy too") {
  Workplace work;
  work.settings.environment = {std::string("BERTH_PLUGIN_PATH=") + BERTH_TEST_PLUGINS};
  const auto notes = [&](std::vector<std::string> more) {
    more.insert(more.begin(), "--json");
    return work.berth_json(place("careless", more)).at("notes");
  };
  CHECK(notes({}) == Json::array());
  CHECK(notes({"--threads", "3"}) == Json{"it was given 3 threads"});
}

TEST_CASE("--costs takes compute times from another file with the same ops") {
  const Workplace work;
  Json costs = diamond_graph();
  for (Json& op : costs["ops"]) op["cost_us"] = 10;
  work.write("costs.json", costs);
  const Json json = work.berth_json(place("single", {"--json", "--costs", "costs.json"}));
  CHECK(json["costs"] == "costs.json");
  CHECK(json["runtime_us"] == doctest::Approx(70));
}

TEST_CASE("--groups coarsens what the policy places") {
  const Workplace work;
  const Json json = work.berth_json(place("single", {"--json", "--groups", "2"}));
  CHECK(json["groups"] == 2);
}

TEST_CASE("--grouping says how") {
  const Workplace work;
  const Json balanced =
      work.berth_json(place("single", {"--json", "--grouping", "balanced", "--groups", "2"}));
  CHECK(balanced["groups"] == 2);
  const Json icml2017 = work.berth_json(place("single", {"--json", "--grouping", "icml2017"}));
  CHECK(icml2017["groups"] >= 1);
  const ProcessResult no_count = work.berth(place("single", {"--grouping", "placeto"}));
  CHECK(no_count.status == 1);
  CHECK(no_count.err.find("say how many") != std::string::npos);
  work.write_text("how.lua", "return { grouping = 'placeto', groups = 1 }");
  CHECK(work.berth_json(place("single", {"--json", "--config", "how.lua"}))["groups"] == 1);
}

TEST_CASE("--trace writes a step that trace viewers open") {
  const Workplace work;
  const ProcessResult result = work.berth(place("single", {"--trace", "step.json"}));
  CHECK(result.status == 0);
  CHECK(Json::parse(file_text(work / "step.json")).contains("traceEvents"));
}

TEST_CASE("a config file gives what the command line leaves open") {
  Workplace work;
  work.settings.environment = {std::string("BERTH_PLUGIN_PATH=") + BERTH_TEST_PLUGINS};
  work.write_text("c.lua",
                  "return { cluster = 'pair.cluster.json', policy = 'single', seed = 5,\n"
                  "         options = { device = 'cpu:0' } }\n");
  const ProcessResult probe = work.berth({"place", "diamond.graph.json", "--config", "c.lua"});
  if (probe.err.find("built without Lua") != std::string::npos) {
    MESSAGE("skipped: this build has no Lua");
    return;
  }
  SUBCASE("all of it") {
    const Json json =
        work.berth_json({"place", "diamond.graph.json", "--config", "c.lua", "--json"});
    CHECK(json["policy"] == "single");
    CHECK(json["seed"] == 5);
    CHECK(json["options"]["device"] == "cpu:0");
    CHECK(json["devices"][2]["ops"] == 7);
  }
  SUBCASE("the command line wins, option by option") {
    const Json json = work.berth_json({"place", "diamond.graph.json", "--config", "c.lua", "--json",
                                       "--seed", "6", "--set", "device=gpu:1"});
    CHECK(json["seed"] == 6);
    CHECK(json["devices"][1]["ops"] == 7);
  }
  SUBCASE("another policy on the command line leaves the file's options aside") {
    const Json json = work.berth_json(
        {"place", "diamond.graph.json", "--config", "c.lua", "--json", "--policy", "careless"});
    CHECK(json["policy"] == "careless");
    CHECK(!json["options"].contains("device"));
  }
}

TEST_CASE("a config may name everything, and finds its files beside itself") {
  Workplace work;
  std::filesystem::create_directory(work / "study");
  for (const char* file : {"diamond.graph.json", "pair.cluster.json"}) {
    std::filesystem::copy_file(work / file, work / (std::string("study/") + file));
  }
  std::filesystem::remove(work / "pair.cluster.json");
  work.write_text("study/mine.lua",
                  "require 'berth'.register_policy { name = 'mine',\n"
                  "  place = function(problem) return problem:one_device(2) end }\n");
  work.write_text("study/config.lua",
                  "return { cluster = './pair.cluster.json', costs = './diamond.graph.json',\n"
                  "  policy = 'mine.lua', policies = { 'single', 'mine.lua' }, seeds = { 3, 5 },\n"
                  "  evaluator = 'simulate', output = 'p.json', svg = 'p.svg', trace = 't.json',\n"
                  "  csv = 'runs.csv' }\n");
  const ProcessResult placed =
      work.berth({"place", "diamond.graph.json", "--config", "study/config.lua"});
  if (placed.err.find("built without Lua") != std::string::npos) return;
  CHECK(placed.err ==
        "berth: note: study/config.lua: at csv: `berth place` does not write this file\n");
  CHECK(placed.status == 0);
  CHECK(Json::parse(file_text(work / "p.json"))["assignment"]["a0"] == "gpu:1");
  CHECK(std::filesystem::exists(work / "p.svg"));
  CHECK(std::filesystem::exists(work / "t.json"));
  // With notes on what the others write.
  const auto json = [&](const std::vector<std::string>& arguments) {
    const ProcessResult result = work.berth(arguments);
    CHECK(result.status == 0);
    return Json::parse(result.out);
  };
  const Json started =
      json({"place", "diamond.graph.json", "--config", "study/config.lua", "--policy", "auto",
            "--set", "from=study/mine.lua", "--set", "moves=1", "--json"});
  CHECK(started["feasible"] == true);
  const Json runs =
      json({"compare", "diamond.graph.json", "--config", "study/config.lua", "--json"})["runs"];
  REQUIRE(runs.size() == 4);
  CHECK(runs[3]["seed"] == 5);
  CHECK(std::filesystem::exists(work / "runs.csv"));
  // The command line wins.
  CHECK(!json({"compare", "diamond.graph.json", "--config", "study/config.lua", "--seed", "1",
               "--json"})
             .contains("runs"));
}

TEST_CASE("--prove says how far from the best at most, and a certificate is written") {
  const Workplace work;
  const Json json =
      work.berth_json(place("exact", {"--json", "--prove", "--certificate", "proof.json"}));
  const double bound_us = json["proof"]["bound_us"];
  CHECK(bound_us <= json["lower_bound_us"]);
  CHECK(bound_us > 0);
  CHECK(!json["proof"]["rests_on"].empty());
  const std::string verdict = json["proof"]["verdict"];
  CHECK((verdict == "optimal") == (json["runtime_us"].get<double>() <= bound_us * (1 + 1e-6)));
  const Json proof = Json::parse(file_text(work / "proof.json"));
  CHECK(proof["format"] == "berth.certificate/1");
  CHECK(proof["bound_us"] == bound_us);
  CHECK(proof["graph"] == "diamond");

  const ProcessResult text = work.berth(place("single", {"--prove"}));
  CHECK(text.out.find("Proven: at most ") != std::string::npos);
  CHECK(text.out.find("% above optimal") != std::string::npos);
  // Without --prove and --certificate nothing of it is told.
  CHECK(!work.berth_json(place("single", {"--json"})).contains("proof"));
}

TEST_CASE("nothing is better than a step that takes no time") {
  const Workplace work;
  work.write_text("free.graph.json", R"({"format": "berth.graph/1", "name": "free", "ops": [
      {"name": "a", "type": "A", "cost_us": 0, "output_bytes": []}], "edges": []})");
  const std::vector<std::string> free = {
      "place",    "free.graph.json", "--cluster", "pair.cluster.json",
      "--policy", "single",          "--prove"};
  const ProcessResult text = work.berth(free);
  CHECK(text.out.find("reached: no placement is better") != std::string::npos);
  CHECK(text.out.find("Proven: optimal") != std::string::npos);
  CHECK(text.out.find("no bound is known") == std::string::npos);
}

TEST_CASE("nothing is proven of measured runtimes") {
  const Workplace work;
  for (const std::vector<std::string>& asked :
       {std::vector<std::string>{"--prove"}, {"--certificate", "proof.json"}}) {
    std::vector<std::string> more = asked;
    more.insert(more.end(), {"--evaluator", "measure"});
    const ProcessResult result = work.berth(place("single", more));
    CHECK(result.status == 2);
    CHECK(result.err.find("nothing is proven of measured runtimes") != std::string::npos);
  }
}
