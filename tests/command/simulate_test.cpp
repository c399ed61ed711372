#include "berth.h"

using namespace berth::test;

namespace {

std::vector<std::string> simulate(std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"simulate", "diamond.graph.json", "--cluster", "pair.cluster.json",
                             "--placement", "split.json"});
  return more;
}

}  // namespace

TEST_CASE("simulate --json gives the whole step") {
  const Workplace work;
  const Json json = work.berth_json(simulate({"--json"}));
  // Two chains side by side; b2's output travels 10 us + 1000 B at 1 GB/s.
  CHECK(json["runtime_us"] == doctest::Approx(3000 + 11 + 10));
  CHECK(json["feasible"] == true);
  CHECK(json["best_single"]["speed_up"] == doctest::Approx(6010.0 / 3021));
  CHECK(json["devices"][0]["busy_us"] == doctest::Approx(3010));
  CHECK(json["devices"][1]["busy_us"] == doctest::Approx(3000));
  REQUIRE(json["links"].size() == 1);
  CHECK(json["links"][0]["src"] == "gpu:1");
  CHECK(json["links"][0]["dst"] == "gpu:0");
  CHECK(json["links"][0]["bytes"] == 1000);
  CHECK(json["links"][0]["transfers"] == 1);
  CHECK(json["links"][0]["busy_us"] == doctest::Approx(11));
  CHECK(json["critical_path"]["compute_us"] == doctest::Approx(3010));
  CHECK(json["critical_path"]["transfer_us"] == doctest::Approx(11));
}

TEST_CASE("simulate follows the semantics that are asked for") {
  const Workplace work;
  const Json json = work.berth_json(simulate({"--json", "--semantics", "placeto"}));
  CHECK(json["semantics"] == "placeto");
  // A pause of 5.7 us after every op, no latency; the bus pauses 25 us after the transfer, last.
  CHECK(json["runtime_us"] == doctest::Approx(3 * 1000 + 2 * 5.7 + 1 + 25));
}

TEST_CASE("simulate without --json shows links and the critical path") {
  const Workplace work;
  const ProcessResult result = work.berth(simulate());
  CHECK(result.status == 0);
  CHECK(result.err == "");
  for (const char* part : {"3.021 ms", "gpu:1 -> gpu:0", "this placement is 1.99x as fast",
                           "waited for", "1000 B of b2", "end (Layer)"}) {
    CAPTURE(part);
    CHECK(result.out.find(part) != std::string::npos);
  }
}

TEST_CASE("simulate --trace writes the step") {
  const Workplace work;
  CHECK(work.berth(simulate({"--trace", "t.json"})).status == 0);
  CHECK(Json::parse(file_text(work / "t.json")).contains("traceEvents"));
}

TEST_CASE("--svg draws the step") {
  const Workplace work;
  CHECK(work.berth(simulate({"--svg", "s.svg"})).status == 0);
  CHECK(file_text(work / "s.svg").starts_with("<svg "));
  CHECK(work.berth({"place", "diamond.graph.json", "--cluster", "pair.cluster.json", "--policy",
                    "topo", "--svg", "p.svg"})
            .status == 0);
  CHECK(file_text(work / "p.svg").ends_with("</svg>\n"));
}

TEST_CASE("where everything is on one device, nothing is said to be split") {
  const Workplace work;
  Json placement = Json::parse(file_text(work / "split.json"));
  for (auto& [op, device] : placement["assignment"].items()) device = "cpu:0";
  work.write("split.json", placement);
  const ProcessResult slow = work.berth(simulate());
  CHECK_MESSAGE(slow.status == 0, slow.err);
  CHECK_MESSAGE(
      slow.out.find("Another device alone is faster than the one that everything is on.") !=
          std::string::npos,
      slow.out);
  CHECK(slow.out.find("Splitting") == std::string::npos);
}

TEST_CASE("several devices without transfers are not said to be one") {
  const Workplace work;
  Json graph = diamond_graph();
  SUBCASE("parts that nothing connects") {
    graph["ops"].erase(6);
    graph["edges"] = {{{"src", 0}, {"output", 0}, {"dst", 1}}};
  }
  SUBCASE("control edges alone") {
    for (Json& edge : graph["edges"]) edge.erase("output");
  }
  Json placement = diamond_placement(std::vector<std::string>(graph["ops"].size(), "gpu:0"));
  placement["assignment"]["b1"] = "gpu:1";
  work.write("diamond.graph.json", graph);
  work.write("split.json", placement);
  const ProcessResult shown = work.berth(simulate({"--report", "page.html"}));
  CHECK_MESSAGE(shown.status == 0, shown.err);
  const std::string line = "No transfers: no device reads what another one makes.";
  CHECK(shown.out.find(line) != std::string::npos);
  CHECK(shown.out.find("everything") == std::string::npos);
  const std::string page = file_text(work / "page.html");
  CHECK(page.find(line) != std::string::npos);
  CHECK(page.find("everything runs on one device") == std::string::npos);
}

TEST_CASE("simulate keeps the policy and seed of the file") {
  const Workplace work;
  REQUIRE(work.berth({"place", "diamond.graph.json", "--cluster", "pair.cluster.json", "--policy",
                      "single", "--seed", "11", "-o", "split.json"})
              .status == 0);
  const Json json = work.berth_json(simulate({"--json"}));
  CHECK(json["policy"] == "single");
  CHECK(json["seed"] == 11);
}

TEST_CASE("a placement that does not fit is simulated and said not to fit") {
  const Workplace work;
  Json cluster = pair_cluster();
  cluster["devices"][0]["memory_bytes"] = 1000000;
  work.write("pair.cluster.json", cluster);
  const Json json = work.berth_json(simulate({"--json"}));
  CHECK(json["feasible"] == false);
  CHECK(std::string(json["excess"]).find("device gpu:0 needs") == 0);
  const ProcessResult text = work.berth(simulate());
  CHECK(text.status == 0);
  CHECK(text.out.find("DOES NOT FIT: device gpu:0 needs") != std::string::npos);
}
