// --log of searches, and `berth watch`.
#include <sstream>

#include "berth.h"

using namespace berth::test;

namespace {

std::vector<Json> events_of(const std::filesystem::path& path) {
  std::vector<Json> events;
  std::istringstream lines(file_text(path));
  for (std::string line; std::getline(lines, line);) events.push_back(Json::parse(line));
  return events;
}

}  // namespace

TEST_CASE("a log tells when each policy starts, improves and ends; watch shows it") {
  const Workplace work;
  const ProcessResult compared =
      work.berth({"compare", "diamond.graph.json", "--cluster", "pair.cluster.json", "--policies",
                  "single,topo", "--log", "search.jsonl"});
  REQUIRE(compared.status == 0);
  const std::vector<Json> events = events_of(work / "search.jsonl");
  std::vector<std::string> ends;
  for (const Json& event : events) {
    if (event["event"] == "start") {
      CHECK(event["format"] == "berth.events/1");
      CHECK(event["machine"] == "pair");
      CHECK(event["bound_us"] > 0);
    }
    if (event["event"] != "end") continue;
    ends.push_back(event["policy"]);
    CHECK((event["end"] == "done" || event["end"] == "proven"));
    CHECK(event["best_us"] >= event["bound_us"]);
  }
  CHECK(ends == std::vector<std::string>{"single", "topo"});

  const ProcessResult watched = work.berth({"watch", "search.jsonl"});
  CHECK(watched.err == "");
  REQUIRE(watched.status == 0);
  for (const char* part : {"diamond.graph.json on pair", "single", "topo", "ended: done"}) {
    CHECK_MESSAGE(watched.out.find(part) != std::string::npos, watched.out, " lacks ", part);
  }
}

TEST_CASE("a policy that fails ends with the reason") {
  Workplace work;
  Json graph = diamond_graph();
  graph["ops"][0]["param_bytes"] = 1000000000000000;
  graph["ops"][0]["cost_us"] = {{"gpu", 1000}};  // the host would hold it
  work.write("huge.graph.json", graph);
  const ProcessResult result =
      work.berth({"place", "huge.graph.json", "--cluster", "pair.cluster.json", "--policy", "topo",
                  "--log", "search.jsonl"});
  CHECK(result.status == 1);
  const std::vector<Json> events = events_of(work / "search.jsonl");
  REQUIRE(!events.empty());
  CHECK(events.back()["event"] == "end");
  CHECK_FALSE(events.back().contains("best_us"));
}

TEST_CASE("watch shows a run that goes on, and waits for the rest of a line") {
  const Workplace work;
  work.write_text(
      "log.jsonl",
      "{\"event\":\"start\",\"policy\":\"\\u001b[2Jauto\",\"bound_us\":100}\n"
      "{\"event\":\"progress\",\"policy\":\"\\u001b[2Jauto\",\"time_s\":1,\"best_us\":300}\n"
      "{\"event\":\"progress\",\"policy\":\"\\u001b[2Jauto\",\"time_s\":2,\"best_us\":150,"
      "\"text\":\"moves\"}\n"
      "{\"event\":\"progress\",\"pol");
  const ProcessResult result = work.berth({"watch", "log.jsonl"});
  CHECK(result.status == 0);
  CHECK(result.out.find("150.0 us") != std::string::npos);
  CHECK(result.out.find("50.0 %") != std::string::npos);
  CHECK(result.out.find("moves") != std::string::npos);
  CHECK(result.out.find('\x1b') == std::string::npos);
}

TEST_CASE("watch and --log say what they cannot read and write") {
  const Workplace work;
  work.write_text("broken.jsonl", "{\"event\":\"start\"}\nnot json\n");
  work.write_text("types.jsonl", "{\"event\":\"progress\",\"best_us\":\"soon\"}\n");
  work.write_text("list.jsonl", "[1]\n");
  const std::pair<const char*, const char*> cases[] = {{"broken.jsonl", "line 2 is no event"},
                                                       {"types.jsonl", "line 1 is no event"},
                                                       {"list.jsonl", "line 1 is no event"},
                                                       {"absent.jsonl", "absent.jsonl"}};
  for (const auto& [file, message] : cases) {
    const ProcessResult result = work.berth({"watch", file});
    CHECK(result.status == 1);
    CHECK_MESSAGE(result.err.find(message) != std::string::npos, result.err, " lacks ", message);
  }
  const ProcessResult onto =
      work.berth({"place", "diamond.graph.json", "--cluster", "pair.cluster.json", "--policy",
                  "single", "--log", "diamond.graph.json"});
  CHECK(onto.status == 1);
  CHECK(onto.err.find("it is the model itself") != std::string::npos);
}
