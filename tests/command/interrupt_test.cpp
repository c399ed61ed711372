// Ctrl-C and budgets: a search ends cleanly with its best placement so far.
#include "berth.h"

using namespace berth::test;

namespace {

/// A workplace with the policy that searches until it is told to stop; sends `signal` to the
/// command when the search has started.
struct PatientWorkplace : Workplace {
  explicit PatientWorkplace(int signal) {
    settings.environment = {std::string("BERTH_PLUGIN_PATH=") + BERTH_TEST_PLUGINS,
                            "BERTH_TEST_STARTED=" + (*this / "started").string()};
    settings.while_running = [this, signal, sent = false](pid_t pid) mutable {
      if (sent || !std::filesystem::exists(*this / "started")) return;
      kill(pid, signal);
      sent = true;
    };
  }
};

/// Who presses Ctrl-C is told that it was heard, on a pipe too.
const std::string kHeard = "berth: ending with what there is so far; once more ends at once\n";

const std::vector<std::string> kPlacePatiently = {
    "place", "diamond.graph.json", "--cluster", "pair.cluster.json", "--policy", "patient", "-o",
    "p.json"};

}  // namespace

TEST_CASE("the first signal ends the search and keeps the best placement so far") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const PatientWorkplace work(signal);
    const ProcessResult result = work.berth(kPlacePatiently);
    CHECK(result.status == 0);
    const std::string heard = signal == SIGINT ? kHeard : "";
    CHECK(result.err == heard + "berth: warning: interrupted: this is the best placement so far\n");
    CHECK(result.out.find("placed by patient") != std::string::npos);
    CHECK(Json::parse(file_text(work / "p.json"))["assignment"].size() == 7);
  }
}

TEST_CASE("the second signal ends a policy that does not listen, and leaves nothing behind") {
  const struct {
    int first, second;
  } cases[] = {{SIGINT, SIGINT},
               {SIGTERM, SIGTERM},
               {SIGINT, SIGTERM},
               {SIGTERM, SIGINT},
               {SIGHUP, SIGTERM}};
  for (const auto& each : cases) {
    CAPTURE(each.first);
    CAPTURE(each.second);
    Workplace work;
    work.write_text("p.json", "as it was");
    const auto started = work / "started";
    const auto told = work / "told";
    work.settings.environment = {std::string("BERTH_PLUGIN_PATH=") + BERTH_TEST_PLUGINS,
                                 "BERTH_TEST_STARTED=" + started.string(),
                                 "BERTH_TEST_TOLD=" + told.string()};
    int sent = 0;
    work.settings.while_running = [&](pid_t pid) {
      if (sent == 0 && std::filesystem::exists(started)) {
        kill(pid, each.first);
        ++sent;
      } else if (sent == 1 && std::filesystem::exists(told)) {
        // The end of the terminal is told twice, and changes nothing the second time.
        kill(pid, SIGHUP);
        std::filesystem::remove(told);
        ++sent;
      } else if (sent == 2 && std::filesystem::exists(told)) {
        kill(pid, each.second);
        ++sent;
      }
    };
    const ProcessResult result =
        work.berth({"place", "diamond.graph.json", "--cluster", "pair.cluster.json", "--policy",
                    "deaf", "-o", "p.json"});
    CHECK(sent == 3);
    CHECK(result.status == 128 + each.second);
    CHECK(result.out == "");
    CHECK(file_text(work / "p.json") == "as it was");
    CHECK(work.files() == std::vector<std::string>{"diamond.graph.json", "p.json",
                                                   "pair.cluster.json", "split.json", "started",
                                                   "told"});
  }
}

TEST_CASE("compare shows what there is when it is interrupted") {
  const PatientWorkplace work(SIGINT);
  const ProcessResult result = work.berth({"compare", "diamond.graph.json", "--cluster",
                                           "pair.cluster.json", "--policies", "patient,single"});
  CHECK(result.status == 0);
  CHECK(result.out.find("patient  6.010 ms") != std::string::npos);
  CHECK(result.out.find("single   not run: interrupted") != std::string::npos);
}

TEST_CASE("medians over runs that were cut short are no result") {
  const PatientWorkplace work(SIGINT);
  const ProcessResult result =
      work.berth({"compare", "diamond.graph.json", "--clusters", "pair.cluster.json", "--policies",
                  "patient,single", "--seeds", "1..2", "--csv", "runs.csv"});
  CHECK(result.status == 1);
  CHECK(result.err.find("interrupted: 4 of 4 runs were cut short or not made; run it again") !=
        std::string::npos);
  CHECK(result.out.find("patient") != std::string::npos);
  CHECK(std::filesystem::exists(work / "runs.csv"));
}

TEST_CASE("an interrupted report says that its policies had unequal times") {
  const PatientWorkplace work(SIGINT);
  const ProcessResult result =
      work.berth({"report", "diamond.graph.json", "--cluster", "pair.cluster.json", "--policies",
                  "patient,single", "-o", "page.html"});
  CHECK(result.status == 0);
  CHECK(result.err == kHeard + "berth: warning: interrupted: the policies had unequal times\n");
  CHECK(file_text(work / "page.html").find("the comparison was interrupted") != std::string::npos);
}

TEST_CASE("a script learns of the first signal and ends by itself") {
  const PatientWorkplace work(SIGINT);
  work.write_text("wait.lua",
                  "local berth = require 'berth'\n"
                  "assert(io.open(..., 'w')):close()\n"
                  "while not berth.should_stop() do end\n"
                  "print 'ended'\n");
  const ProcessResult result = work.berth({"run", "wait.lua", (work / "started").string()});
  if (result.err.find("built without Lua") != std::string::npos) {
    MESSAGE("skipped: this build has no Lua");
    return;
  }
  CHECK(result.status == 0);
  CHECK(result.err == kHeard);
  CHECK(result.out == "ended\n");
}

TEST_CASE("a signal in the bound of a search that is done ends the bound alone") {
  const Workplace work;
  // It does not ask whether to stop, so that the bound is the first to hear of the signal.
  work.write_text("done.lua",
                  "require 'berth'.register_policy { name = 'done', place = function(problem)\n"
                  "  os.execute 'kill -TERM $PPID'\n"
                  "  return problem:one_device(1) end }\n");
  const ProcessResult result =
      work.berth({"place", "diamond.graph.json", "--cluster", "pair.cluster.json", "--policy",
                  "done.lua", "-o", "p.json"});
  if (result.err.find("built without Lua") != std::string::npos) {
    MESSAGE("skipped: this build has no Lua");
    return;
  }
  CHECK(result.status == 0);
  CHECK(result.err ==
        "berth: warning: interrupted: the search was done, and its lower bound could be larger\n");
  CHECK(result.out.find("stopped by you") == std::string::npos);
  CHECK(result.out.find(", cut short; ") != std::string::npos);
  CHECK(Json::parse(file_text(work / "p.json"))["assignment"].size() == 7);
}

TEST_CASE("a budget ends the search") {
  const PatientWorkplace work(0);
  std::vector<std::string> arguments = kPlacePatiently;
  arguments.insert(arguments.end(), {"--budget", "20ms"});
  const ProcessResult result = work.berth(arguments);
  CHECK(result.status == 0);
  CHECK(result.err == "");
  CHECK(std::filesystem::exists(work / "p.json"));
}

TEST_CASE("a budget that is over at once still gives every policy's first answer") {
  const Workplace work;
  const Json plugins = work.berth_json({"plugins", "--json"});
  for (const Json& plugin : plugins["plugins"]) {
    if (plugin["kind"] != "policy") continue;
    const auto name = plugin["name"].get<std::string>();
    CAPTURE(name);
    const Json json =
        work.berth_json({"place", "diamond.graph.json", "--cluster", "pair.cluster.json",
                         "--policy", name, "--budget", "0.001ms", "--json"});
    CHECK(json["feasible"] == true);
  }
}
