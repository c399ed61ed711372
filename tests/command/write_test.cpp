// --write FORMAT=FILE of place and simulate.
#include "berth.h"

using namespace berth::test;

TEST_CASE("simulate and place write a plan in every form that is asked for") {
  const Workplace work;
  const ProcessResult stored =
      work.berth({"simulate", "diamond.graph.json", "--cluster", "pair.cluster.json", "--placement",
                  "split.json", "--write", "csv=plan.csv", "--write", "graphviz=plan.dot"});
  REQUIRE(stored.status == 0);
  CHECK(file_text(work / "plan.csv").starts_with("op,type,device,device_number\r\na0,Layer,gpu:0"));
  CHECK(file_text(work / "plan.dot").starts_with("digraph \"diamond\""));
  const ProcessResult placed =
      work.berth({"place", "diamond.graph.json", "--cluster", "pair.cluster.json", "--policy",
                  "single", "--write", "csv=single.csv"});
  REQUIRE(placed.status == 0);
  CHECK(placed.out.find("wrote single.csv (--write csv)") != std::string::npos);
}

TEST_CASE("settings name plans and a page too; the command line's plans stand instead") {
  const Workplace work;
  work.write("settings.json", {{"format", "berth.settings/1"},
                               {"cluster", "pair.cluster.json"},
                               {"policy", "single"},
                               {"report", "page.html"},
                               {"write", {"csv=plan.csv", "graphviz=plan.dot"}}});
  const std::vector<std::string> place = {"place", "diamond.graph.json", "--config",
                                          "settings.json"};
  const ProcessResult result = work.berth(place);
  CHECK(result.err == "");
  REQUIRE(result.status == 0);
  for (const char* file : {"page.html", "plan.csv", "plan.dot"}) {
    CAPTURE(file);
    CHECK(std::filesystem::remove(work / file));
  }
  std::vector<std::string> instead = place;
  instead.insert(instead.end(), {"--write", "csv=mine.csv"});
  REQUIRE(work.berth(instead).status == 0);
  CHECK(std::filesystem::exists(work / "mine.csv"));
  CHECK_FALSE(std::filesystem::exists(work / "plan.csv"));
}

TEST_CASE("a model that a tool cannot have is refused without advice that would fail as well") {
  const Workplace work;
  for (const std::string tool : {"llama.cpp", "vllm"}) {
    CAPTURE(tool);
    const ProcessResult refused = work.berth({"place", "diamond.graph.json", "--cluster",
                                              "pair.cluster.json", "--write", tool + "=plan"});
    CHECK(refused.status == 1);
    CHECK_MESSAGE(refused.err.find("--write " + tool + ": ") != std::string::npos, refused.err);
    CHECK(refused.err.find("--for") == std::string::npos);
  }
}

TEST_CASE("--write says what it cannot write") {
  const Workplace work;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"vlm=plan", "did you mean 'vllm'?"},
      {"csv", "is no FORMAT=FILE"},
      {"csv=", "is no FORMAT=FILE"},
      {"csv=absent/plan", "cannot write --write csv"},
      {"csv=split.json", "it is the placement itself"},
      {"device_map=map.json", "has the name of a module"}};
  for (const auto& [text, message] : cases) {
    CAPTURE(text);
    const ProcessResult result =
        work.berth({"simulate", "diamond.graph.json", "--cluster", "pair.cluster.json",
                    "--placement", "split.json", "--write", text});
    CHECK(result.status != 0);
    CHECK_MESSAGE(result.err.find(message) != std::string::npos, result.err, " lacks ", message);
  }
  // A full disk is no reason to search for another plan.
  const ProcessResult full =
      work.berth({"place", "diamond.graph.json", "--cluster", "pair.cluster.json", "--policy",
                  "single", "--write", "csv=/dev/full"});
  CHECK(full.err.find("--write csv was not written") != std::string::npos);
  CHECK(full.err.find("--for") == std::string::npos);
}

TEST_CASE("a file that cannot be written costs neither the other files nor the result") {
  const struct {
    std::vector<std::string> arguments;
    std::string lost;  ///< the option whose file is not written
    std::vector<std::string> kept = {"kept.json"};
  } cases[] = {
      {{"place", "--policy", "single", "-o", "/dev/full", "--trace", "kept.json", "--write",
        "csv=kept.csv"},
       "-o",
       {"kept.json", "kept.csv"}},
      {{"place", "--policy", "single", "-o", "kept.json", "--svg", "/dev/full", "--write",
        "csv=kept.csv"},
       "--svg",
       {"kept.json", "kept.csv"}},
      {{"compare", "--policies", "topo,single", "--csv", "/dev/full", "--report", "kept.json"},
       "--csv"},
      {{"compare", "--policies", "topo,single", "--csv", "kept.json", "--report", "/dev/full"},
       "--report"},
      {{"compare", "--policies", "topo,single", "--seeds", "1..2", "--csv", "/dev/full"},
       "--csv",
       {}},
      {{"simulate", "--placement", "split.json", "--trace", "/dev/full", "--report", "kept.json"},
       "--trace"},
      {{"simulate", "--placement", "split.json", "--report", "/dev/full", "--svg", "kept.json"},
       "--report"}};
  for (const auto& each : cases) {
    const Workplace work;
    std::vector<std::string> arguments = each.arguments;
    arguments.insert(arguments.begin() + 1,
                     {"diamond.graph.json", "--cluster", "pair.cluster.json"});
    const ProcessResult result = work.berth(arguments);
    CAPTURE(arguments[0]);
    CAPTURE(result.err);
    CHECK(result.status == 1);
    CHECK(result.err.find("warning: " + each.lost + " was not written: /dev/full") !=
          std::string::npos);
    CHECK(result.out.find("runtime") != std::string::npos);
    CHECK(result.out.find("(" + each.lost + ")") == std::string::npos);
    for (const std::string& file : each.kept) CHECK(std::filesystem::file_size(work / file) > 0);
  }
}
