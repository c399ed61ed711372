// `berth report`, and --report of the commands that place.
#include <sstream>

#include "berth.h"

using namespace berth::test;

namespace {

bool is_page(const std::string& text) {
  return text.starts_with("<!DOCTYPE html>") && text.ends_with("</html>\n");
}

}  // namespace

TEST_CASE("report shows stored placements, one or two side by side") {
  const Workplace work;
  work.write("single.json",
             diamond_placement({"gpu:0", "gpu:0", "gpu:0", "gpu:0", "gpu:0", "gpu:0", "gpu:0"}));
  const std::vector<std::vector<std::string>> chosen = {{"split.json"},
                                                        {"split.json", "single.json"}};
  for (const auto& placements : chosen) {
    std::vector<std::string> arguments = {"report", "diamond.graph.json"};
    arguments.insert(arguments.end(), placements.begin(), placements.end());
    for (const char* more : {"--cluster", "pair.cluster.json", "-o", "page.html"}) {
      arguments.emplace_back(more);
    }
    const ProcessResult result = work.berth(arguments);
    CHECK(result.err == "");
    REQUIRE(result.status == 0);
    const std::string page = file_text(work / "page.html");
    CHECK(is_page(page));
    for (const std::string& placement : placements) {
      CHECK(page.find("\"label\":\"" + placement + "\"") != std::string::npos);
    }
  }
}

TEST_CASE("place, compare and simulate write the page too") {
  const Workplace work;
  const std::vector<std::vector<std::string>> commands = {
      {"place", "diamond.graph.json", "--policy", "single"},
      {"compare", "diamond.graph.json", "--policies", "single"},
      {"simulate", "diamond.graph.json", "--placement", "split.json"}};
  for (std::vector<std::string> command : commands) {
    for (const char* more : {"--cluster", "pair.cluster.json", "--report", "page.html"}) {
      command.emplace_back(more);
    }
    CAPTURE(command.front());
    REQUIRE(work.berth(command).status == 0);
    CHECK(is_page(file_text(work / "page.html")));
    std::filesystem::remove(work / "page.html");
  }
}

TEST_CASE("report says what it cannot show") {
  const Workplace work;
  const std::vector<std::string> start = {"report", "diamond.graph.json"};
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"-o", "page.html", "split.json"}, "--cluster"},
      {{"--cluster", "pair.cluster.json", "split.json"}, "--output"},
      {{"--cluster", "pair.cluster.json", "-o", "p.html", "split.json", "split.json", "split.json"},
       "one placement, or two"},
      {{"--cluster", "pair.cluster.json", "-o", "p.html", "split.json", "--policies", "single"},
       "--policies: a placement is named"},
      {{"--cluster", "pair.cluster.json", "-o", "split.json", "split.json"},
       "it is the placement itself"}};
  for (const auto& [more, message] : cases) {
    std::vector<std::string> arguments = start;
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProcessResult result = work.berth(arguments);
    CHECK(result.status != 0);
    CHECK_MESSAGE(result.err.find(message) != std::string::npos, result.err, " lacks ", message);
  }
}

TEST_CASE("report asks the settings' policy; several share the budget") {
  const Workplace work;
  work.write("s.json", {{"format", "berth.settings/1"},
                        {"cluster", "pair.cluster.json"},
                        {"policy", "single"},
                        {"options", {{"device", "gpu:1"}}}});
  const std::vector<std::string> report = {"report", "diamond.graph.json", "--config", "s.json",
                                           "-o",     "page.html",          "--budget", "8s",
                                           "--log",  "log.jsonl"};
  const auto starts = [&] {
    std::vector<std::pair<std::string, double>> found;
    std::istringstream lines(file_text(work / "log.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      const Json event = Json::parse(line);
      if (event["event"] == "start") found.emplace_back(event["policy"], event["budget_s"]);
    }
    return found;
  };
  REQUIRE(work.berth(report).status == 0);
  CHECK(starts() == std::vector<std::pair<std::string, double>>{{"single", 8}});
  CHECK(file_text(work / "page.html").find("\"label\":\"single\"") != std::string::npos);
  std::vector<std::string> several = report;
  several.insert(several.end(), {"--policies", "single,topo"});
  REQUIRE(work.berth(several).status == 0);
  CHECK(starts() == std::vector<std::pair<std::string, double>>{{"single", 4}, {"topo", 4}});
}
