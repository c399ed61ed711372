#include "berth.h"

using namespace berth::test;

namespace {

std::vector<std::string> compare(std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"compare", "diamond.graph.json", "--cluster", "pair.cluster.json"});
  return more;
}

}  // namespace

TEST_CASE("compare --json ranks the policies, best first") {
  Workplace work;
  const Json json = work.berth_json(compare({"--json"}));
  const Json& rows = json["policies"];
  REQUIRE(!rows.empty());
  CHECK(json["policy"] == rows[0]["policy"]);
  CHECK(json["runtime_us"] == rows[0]["runtime_us"]);
  CHECK(rows[0]["feasible"] == true);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].contains("error")) break;
    CHECK(rows[i - 1]["runtime_us"] <= rows[i]["runtime_us"]);
  }
  const Json plugins = work.berth_json({"plugins", "--json"});
  for (const Json& plugin : plugins["plugins"]) {
    if (plugin["kind"] != "policy") continue;
    const auto found = std::find_if(
        rows.begin(), rows.end(), [&](const Json& row) { return row["policy"] == plugin["name"]; });
    CHECK_MESSAGE(found != rows.end(), plugin["name"]);
  }
}

TEST_CASE("compare runs the policies it is told to, each once") {
  Workplace work;
  work.settings.environment = {std::string("BERTH_PLUGIN_PATH=") + BERTH_TEST_PLUGINS};
  const Json rows =
      work.berth_json(compare({"--json", "--policies", "careless,single,careless"}))["policies"];
  REQUIRE(rows.size() == 2);
}

TEST_CASE("compare asks a policy with several settings of its options") {
  const Workplace work;
  const Json rows = work.berth_json(
      compare({"--json", "--policies", "single:device=gpu:1,single:device=cpu:0"}))["policies"];
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["policy"] == "single:device=gpu:1");
  CHECK(rows[0]["runtime_us"] == 6010);
  CHECK(rows[1]["policy"] == "single:device=cpu:0");
  CHECK(rows[1]["runtime_us"] > 6010);
  const std::string text = work.berth(compare({"--policies", "single:device=gpu:1"})).out;
  CHECK(text.find("Best: single:device=gpu:1, ") != std::string::npos);
}

TEST_CASE("what does not fit and what fails comes last, with the reason") {
  Workplace work;
  work.settings.environment = {std::string("BERTH_PLUGIN_PATH=") + BERTH_TEST_PLUGINS};
  Json cluster = pair_cluster();
  cluster["devices"][0]["memory_bytes"] = 1000000;
  cluster["devices"][1]["memory_bytes"] = 1000000;
  work.write("pair.cluster.json", cluster);
  SUBCASE("something fits") {
    const ProcessResult result = work.berth(compare({"--policies", "careless,single"}));
    CHECK(result.status == 0);
    const std::size_t single = result.out.find("\n  single ");
    const std::size_t careless = result.out.find("\n  careless ");
    CHECK(single < careless);
    CHECK(result.out.find("does not fit: device gpu:0 needs") != std::string::npos);
  }
  SUBCASE("nothing fits") {
    cluster["devices"][2]["memory_bytes"] = 1000000;
    work.write("pair.cluster.json", cluster);
    const ProcessResult result = work.berth(compare({"--policies", "careless,single"}));
    CHECK(result.status == 1);
    CHECK(result.out.find("does not fit") != std::string::npos);
    CHECK(result.err.find("no policy found a placement that fits") != std::string::npos);
  }
}

TEST_CASE("compare --csv writes a line per policy") {
  const Workplace work;
  CHECK(work.berth(compare({"--policies", "single", "--csv", "c.csv"})).status == 0);
  const std::string csv = file_text(work / "c.csv");
  CHECK(csv.starts_with("policy,feasible,runtime_us,"));
  CHECK(csv.find("\r\n\"single\",true,6010") != std::string::npos);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 2);
}

TEST_CASE("compare over clusters and seeds: the best and the median of each policy") {
  const Workplace work;
  Json other = pair_cluster();
  other["name"] = "other";
  other["devices"][0]["memory_bytes"] = 1000000;
  other["devices"][1]["memory_bytes"] = 1000000;
  work.write("other.cluster.json", other);
  const std::vector<std::string> arguments = {"compare",    "diamond.graph.json",
                                              "--clusters", "pair.cluster.json,other.cluster.json",
                                              "--policies", "random,single",
                                              "--seeds",    "0..2,7",
                                              "--csv",      "runs.csv"};
  std::vector<std::string> with_json = arguments;
  with_json.push_back("--json");
  const Json json = work.berth_json(with_json);
  REQUIRE(json["runs"].size() == 2 * 2 * 4);
  REQUIRE(json["summary"].size() == 4);
  // Every run is the one that `place` makes with that cluster and seed.
  std::vector<double> random_us;
  for (const Json& run : json["runs"]) {
    if (run["policy"] != "random" || run["cluster"] != "pair.cluster.json") continue;
    const Json placed =
        work.berth_json({"place", "diamond.graph.json", "--cluster", "pair.cluster.json",
                         "--policy", "random", "--json", "--seed", run["seed"].dump()});
    CHECK(run["runtime_us"] == placed["runtime_us"]);
    random_us.push_back(run["runtime_us"]);
  }
  REQUIRE(random_us.size() == 4);
  std::sort(random_us.begin(), random_us.end());
  for (const Json& row : json["summary"]) {
    if (row["policy"] != "random" || row["cluster"] != "pair.cluster.json") continue;
    CHECK(row["best_us"] == random_us[0]);
    CHECK(row["median_us"] == random_us[1]);
    CHECK(row["runs"] == 4);
  }
  const std::string csv = file_text(work / "runs.csv");
  CHECK(csv.starts_with("cluster,seed,policy,feasible,"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 17);

  const ProcessResult text = work.berth(arguments);
  CHECK(text.status == 0);
  CHECK(text.out.find("\npair.cluster.json\n") < text.out.find("\nother.cluster.json\n"));
  CHECK(text.out.find("median") != std::string::npos);
}

TEST_CASE("compare: a machine that is text goes by its name, with a number where two have it") {
  const Workplace work;
  Json other = pair_cluster();
  other["links"][0]["latency_us"] = 500;
  const Json settings = {{"format", "berth.settings/1"},
                         {"clusters", {pair_cluster().dump(), other.dump(), "pair.cluster.json"}}};
  work.write("s.json", settings);
  const std::vector<std::string> arguments = {"compare", "diamond.graph.json", "--config",
                                              "s.json",  "--policies",         "single",
                                              "--csv",   "runs.csv",           "--json"};
  std::vector<std::string> names;
  const Json json = work.berth_json(arguments);
  for (const Json& run : json["runs"]) names.push_back(run["cluster"]);
  CHECK(names == std::vector<std::string>{"pair", "pair (2)", "./pair.cluster.json"});
  CHECK(file_text(work / "runs.csv").find('{') == std::string::npos);
}

TEST_CASE("compare: lists that are none are usage errors") {
  const Workplace work;
  for (const char* seeds : {"", "x", "3..1", "1..", "1,,2", "0..99999999", "-1", "1.5"}) {
    CAPTURE(seeds);
    const ProcessResult result = work.berth(compare({"--policies", "single", "--seeds", seeds}));
    CHECK(result.status == 2);
  }
  CHECK(work.berth({"compare", "diamond.graph.json", "--seeds", "0,1"}).status == 2);
}

TEST_CASE("what one policy proves bounds all rows") {
  const Workplace work;
  Json ops = Json::array();
  for (const char* name : {"a", "b", "c"}) {
    const std::string op = name;
    ops.push_back({{"name", op},
                   {"type", "Op"},
                   {"cost_us", 10},
                   {"output_bytes", op == "c" ? Json::array() : Json({op == "a" ? 10 : 10000})}});
  }
  work.write(
      "apart.graph.json",
      {{"format", "berth.graph/1"},
       {"name", "apart"},
       {"ops", ops},
       {"edges",
        {{{"src", 0}, {"output", 0}, {"dst", 1}}, {{"src", 1}, {"output", 0}, {"dst", 2}}}}});
  Json cluster = pair_cluster();
  cluster["links"][0]["latency_us"] = 1;
  work.write("one.cluster.json", cluster);
  const std::vector<std::string> apart = {"compare",          "apart.graph.json", "--cluster",
                                          "one.cluster.json", "--separate",       "b;c",
                                          "--policies"};
  for (const char* const policies : {"heft,exact", "exact,heft"}) {
    CAPTURE(std::string(policies));
    std::vector<std::string> command = apart;
    command.insert(command.end(), {policies, "--csv", "t.csv", "--json"});
    const Json json = work.berth_json(command);
    CHECK(json["lower_bound_us"].get<double>() == doctest::Approx(41));
    for (const Json& row : json["policies"]) CHECK(row["gap"].get<double>() < 1e-6);
  }
  std::vector<std::string> sweep = apart;
  sweep.insert(sweep.end(), {"heft,exact", "--seeds", "0..1", "--json"});
  const Json json = work.berth_json(sweep);
  for (const Json& run : json["runs"]) CHECK(run["gap"].get<double>() < 1e-6);
  for (const Json& row : json["summary"]) {
    CHECK(row["lower_bound_us"].get<double>() == doctest::Approx(41));
  }
}
