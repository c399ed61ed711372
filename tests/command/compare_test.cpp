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
  for (const Json& plugin : work.berth_json({"plugins", "--json"})["plugins"]) {
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
