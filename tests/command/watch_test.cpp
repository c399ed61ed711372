// --log of searches, and `berth watch`.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <map>
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

/// A process of this machine that has ended.
pid_t dead_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  REQUIRE(child > 0);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  return child;
}

std::string this_host() {
  char name[256] = {};
  REQUIRE(gethostname(name, sizeof name - 1) == 0);
  return name;
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
      CHECK(event["pid"] > 0);
      CHECK(event["host"] == this_host());
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
      "{\"event\":\"start\",\"policy\":\"\\u001b[2Jauto\",\"bound_us\":100,\"budget_s\":7200}\n"
      "{\"event\":\"progress\",\"policy\":\"\\u001b[2Jauto\",\"time_s\":1,\"best_us\":300}\n"
      "{\"event\":\"progress\",\"policy\":\"\\u001b[2Jauto\",\"time_s\":2,\"best_us\":150,"
      "\"text\":\"moves\"}\n"
      "{\"event\":\"progress\",\"pol");
  // Nothing was found since: time goes on, towards the budget.
  std::filesystem::last_write_time(
      work / "log.jsonl", std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  const ProcessResult result = work.berth({"watch", "log.jsonl"});
  CHECK(result.status == 0);
  CHECK_MESSAGE(result.out.find("3602 s of 7200 s") != std::string::npos, result.out);
  CHECK(result.out.find("150.0 us") != std::string::npos);
  CHECK(result.out.find("50.0 %") != std::string::npos);
  CHECK(result.out.find("moves") != std::string::npos);
  CHECK(result.out.find('\x1b') == std::string::npos);
}

TEST_CASE("watch shows the logs of several workers, and tells which of them are no more") {
  const Workplace work;
  const auto log = [&](const char* file, const std::string& host, pid_t pid, double best_us) {
    const Json start = {{"event", "start"},   {"policy", "auto"}, {"model", "m.onnx"},
                        {"machine", "k80x4"}, {"host", host},     {"pid", pid}};
    const Json progress = {
        {"event", "progress"}, {"policy", "auto"}, {"time_s", 1}, {"best_us", best_us}};
    work.write_text(file, start.dump() + "\n" + progress.dump() + "\n");
    // Long enough ago that a worker which lives might have written since.
    std::filesystem::last_write_time(
        work / file, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  };
  const pid_t dead = dead_process();
  log("dead.jsonl", this_host(), dead, 40);
  log("alive.jsonl", this_host(), getpid(), 30);
  log("elsewhere.jsonl", "another-host", dead, 20);
  work.write_text("empty.jsonl", "");
  const ProcessResult watched =
      work.berth({"watch", "dead.jsonl", "alive.jsonl", "elsewhere.jsonl", "empty.jsonl"});
  CHECK(watched.err == "");
  REQUIRE(watched.status == 0);
  std::istringstream lines(watched.out);
  std::map<std::string, std::string> line_of;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  ")) line_of[line.substr(2, line.find(' ', 2) - 2)] = line;
  }
  const auto has = [&](const std::string& worker, const char* part) {
    CHECK_MESSAGE(line_of[worker].find(part) != std::string::npos, watched.out, " of ", worker);
  };
  const std::string here = this_host() + ":";
  has(here + std::to_string(dead), "ended: its process is no more");
  has(here + std::to_string(getpid()), "30.00 us");
  has("another-host:" + std::to_string(dead), "20.00 us");
  has("empty.jsonl", "has not begun");
  CHECK(watched.out.find("4 workers, 3 of them running; the best so far is 20.00 us, by auto of "
                         "another-host:") != std::string::npos);

  // One log alone: no column of workers.
  const ProcessResult alone = work.berth({"watch", "dead.jsonl"});
  CHECK(alone.out.find("its process is no more") != std::string::npos);
  CHECK(alone.out.find("worker") == std::string::npos);
}

TEST_CASE("a log that another search writes is refused, and stays as it is") {
  const Workplace work;
  work.write_text("log.jsonl", "");
  const int file = open((work / "log.jsonl").c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(flock(file, LOCK_EX) == 0);
  const std::vector<std::string> place = {
      "place", "diamond.graph.json", "--cluster", "pair.cluster.json", "--policy", "single",
      "--log", "log.jsonl"};
  const ProcessResult refused = work.berth(place);
  CHECK(refused.status == 1);
  CHECK(refused.err.find("another search writes it") != std::string::npos);
  CHECK(file_text(work / "log.jsonl").empty());
  close(file);
  CHECK(work.berth(place).status == 0);
  CHECK(work.berth({"watch", "log.jsonl"}).status == 0);
}

TEST_CASE("a log that cannot be written is told, also by the status, and the search goes on") {
  const std::vector<std::string> commands[] = {{"place", "--policy", "heft"},
                                               {"compare", "--policies", "heft,single"},
                                               {"report", "--policy", "heft", "-o", "page.html"}};
  for (std::vector<std::string> arguments : commands) {
    const Workplace work;
    CAPTURE(arguments[0]);
    arguments.insert(arguments.begin() + 1, {"diamond.graph.json", "--cluster", "pair.cluster.json",
                                             "--log", "/dev/full"});
    const ProcessResult result = work.berth(arguments);
    CAPTURE(result.err);
    CHECK(result.status == 1);
    CHECK(result.err.find("/dev/full: cannot be written any more") != std::string::npos);
    CHECK_FALSE(result.out.empty());
    CHECK(result.out.find("wrote /dev/full") == std::string::npos);
  }
}

TEST_CASE("watch and --log say what they cannot read and write") {
  const Workplace work;
  work.write_text("broken.jsonl", "{\"event\":\"start\"}\nnot json\n");
  work.write_text("types.jsonl", "{\"event\":\"progress\",\"best_us\":\"soon\"}\n");
  work.write_text("list.jsonl", "[1]\n");
  work.write_text("later.jsonl", R"({"format":"berth.events/2","event":"start"})"
                                 "\n");
  work.write_text("hello.txt", "hello");
  work.write_text("other.jsonl", R"({"format":"berth.graph/1","name":"x"})");
  const std::pair<const char*, const char*> cases[] = {
      {"hello.txt", "hello.txt: it begins with no event"},
      {"other.jsonl", "it begins with no event; name a file that `berth place --log` wrote"},
      {"broken.jsonl", "line 2 is no event"},
      {"types.jsonl", "line 1 is no event"},
      {"list.jsonl", "line 1 is no event"},
      {"later.jsonl", "its format is 'berth.events/2', expected 'berth.events/1'"},
      {"absent.jsonl", "absent.jsonl"}};
  for (const auto& [file, message] : cases) {
    const ProcessResult result = work.berth({"watch", file});
    CHECK(result.status == 1);
    CHECK_MESSAGE(result.err.find(message) != std::string::npos, result.err, " lacks ", message);
  }
  for (const char* begun : {"", "{", "{\"form", R"({"format": "berth.events/1", "ev)"}) {
    work.write_text("begun.jsonl", begun);
    CAPTURE(begun);
    CHECK(work.berth({"watch", "begun.jsonl"}).status == 0);
  }
  const ProcessResult onto =
      work.berth({"place", "diamond.graph.json", "--cluster", "pair.cluster.json", "--policy",
                  "single", "--log", "diamond.graph.json"});
  CHECK(onto.status == 1);
  CHECK(onto.err.find("it is the model itself") != std::string::npos);
}
