// The page of a report in a browser: Chromium without a window, driven through its debugging pipe.
// Where there is none the test says so and counts as skipped.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "berth/costs.h"
#include "berth/files.h"
#include "berth/report.h"
#include "support/process.h"
#include "support/temporary_folder.h"

namespace berth::test {
namespace {

using nlohmann::json;

std::optional<std::string> browser() {
  std::vector<std::string> candidates;
  if (const char* named = std::getenv("BERTH_CHROMIUM")) candidates.emplace_back(named);
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    candidates.push_back(std::string("/usr/bin/") + name);
  }
  for (const std::string& path : candidates) {
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return std::nullopt;
}

/// A page in a browser of its own. Messages are JSON texts, each ended by a NUL.
class Page {
 public:
  Page(const std::string& program, const std::filesystem::path& file) {
    int to[2];
    int from[2];
    REQUIRE(pipe2(to, O_CLOEXEC) == 0);
    REQUIRE(pipe2(from, O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    // The ends may be 3 and 4 themselves, with the other's number: by way of higher ones.
    posix_spawn_file_actions_adddup2(&actions, to[0], 103);
    posix_spawn_file_actions_adddup2(&actions, from[1], 104);
    posix_spawn_file_actions_adddup2(&actions, 103, 3);
    posix_spawn_file_actions_adddup2(&actions, 104, 4);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::vector<std::string> command = {program,
                                        "--headless",
                                        "--no-sandbox",  // tests may run as root
                                        "--disable-gpu",
                                        "--disable-dev-shm-usage",  // small in containers
                                        "--remote-debugging-pipe",
                                        "--user-data-dir=" + profile_.path().string(),
                                        "about:blank"};
    REQUIRE(posix_spawn(&pid_, program.c_str(), &actions, nullptr, detail::pointers(command).data(),
                        environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    to_ = to[1];
    from_ = from[0];
    open(file);
  }
  ~Page() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(to_);
    close(from_);
  }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  /// The value of an expression in the page; what it throws fails the test.
  json value(const std::string& expression) {
    const json result =
        send("Runtime.evaluate",
             {{"expression", expression}, {"returnByValue", true}, {"awaitPromise", true}});
    CHECK_MESSAGE(!result.contains("exceptionDetails"), expression, ": ", result.dump());
    return result.at("result").value("value", json());
  }
  /// What went wrong in the page so far: exceptions, console output, refused loads.
  [[nodiscard]] const std::vector<std::string>& complaints() const { return complaints_; }

  void resize(int width, int height) {
    send("Emulation.setDeviceMetricsOverride",
         {{"width", width}, {"height", height}, {"deviceScaleFactor", 1}, {"mobile", width < 600}});
  }
  void darken() {
    send("Emulation.setEmulatedMedia",
         {{"features", {{{"name", "prefers-color-scheme"}, {"value", "dark"}}}}});
  }

 private:
  void open(const std::filesystem::path& file) {
    const json targets = send("Target.getTargets", json::object()).at("targetInfos");
    std::string target;
    for (const json& each : targets) {
      if (each.at("type") == "page") target = each.at("targetId");
    }
    session_ =
        send("Target.attachToTarget", {{"targetId", target}, {"flatten", true}}).at("sessionId");
    for (const char* part : {"Page.enable", "Runtime.enable", "Log.enable"}) {
      send(part, json::object());
    }
    resize(1200, 900);
    send("Page.navigate", {{"url", "file://" + file.string()}});
    while (value("document.readyState") != "complete") {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  json send(const std::string& method, const json& parameters) {
    json message = {{"id", ++id_}, {"method", method}, {"params", parameters}};
    if (!session_.empty()) message["sessionId"] = session_;
    const std::string text = message.dump();
    REQUIRE(write(to_, text.c_str(), text.size() + 1) == static_cast<ssize_t>(text.size() + 1));
    for (;;) {
      const json answer = receive();
      if (answer.value("id", 0) == id_) {
        REQUIRE_MESSAGE(answer.contains("result"), answer.dump());
        return answer.at("result");
      }
      const std::string event = answer.value("method", "");
      if (event == "Runtime.exceptionThrown" || event == "Runtime.consoleAPICalled" ||
          event == "Log.entryAdded") {
        complaints_.push_back(answer.at("params").dump());
      }
    }
  }

  json receive() {
    std::size_t end = 0;
    while ((end = buffer_.find('\0')) == std::string::npos) {
      char part[65536];
      const ssize_t got = read(from_, part, sizeof part);
      REQUIRE_MESSAGE(got > 0, "the browser has ended");
      buffer_.append(part, static_cast<std::size_t>(got));
    }
    json message = json::parse(buffer_.substr(0, end));
    buffer_.erase(0, end + 1);
    return message;
  }

  TemporaryFolder profile_;
  pid_t pid_ = 0;
  int to_ = -1;
  int from_ = -1;
  int id_ = 0;
  std::string session_;
  std::string buffer_;
  std::vector<std::string> complaints_;
};

constexpr const char* kHostile = "</script><script>window.hostile = 1</script>";

/// model/layers.0 .. 15 with eight ops each, an op with a hostile name at the end; on two devices.
std::shared_ptr<const Problem> layers(const std::string& first_device = "gpu:0") {
  GraphBuilder builder("layers");
  TensorInfo info;
  info.bytes = 1000;
  TensorId last = kNoTensor;
  const auto add = [&](const std::string& name) {
    const OpId op = builder.add_op(name, "<b>Layer</b>");
    if (last != kNoTensor) builder.add_input(op, last);
    last = builder.add_output(op, info);
    builder.set_cost(op, "gpu", 10);
  };
  for (int layer = 0; layer < 16; ++layer) {
    for (const char* part : {"norm/Mul", "attention/Query", "attention/Key", "attention/Softmax",
                             "attention/Out", "mlp/Up", "mlp/Down", "Add"}) {
      add("model/layers." + std::to_string(layer) + "/" + part);
    }
  }
  add(kHostile);
  const auto cluster = std::make_shared<const Cluster>(
      "two", std::vector<Device>{{first_device, "gpu", 1'000'000}, {"gpu:1", "gpu", 1'000'000}},
      std::vector<LinkSpec>{{"*", "*", 1e9, 1}});
  auto graph = builder.build();
  auto costs = Costs::stated(*graph, *cluster);
  return std::make_shared<const Problem>(std::move(graph), cluster, std::move(costs));
}

/// The first `split` ops on gpu:0.
ReportedPlacement placed(const std::shared_ptr<const Problem>& problem, std::size_t split) {
  Placement placement(at(problem->graph().op_count()), 1);
  std::fill_n(placement.begin(), split, 0);
  return {"split at " + std::to_string(split),
          simulated_outcome(problem, {"layers.onnx", "somebody"}, placement)};
}

struct Fixture {
  Fixture() {
    if (!program) MESSAGE("[no browser] Debian's package chromium, or BERTH_CHROMIUM=PATH");
  }
  std::optional<std::string> program = browser();
  TemporaryFolder folder;
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "the page opens without a complaint, and nothing of a name runs") {
  if (!program) return;
  const auto problem = layers();
  write_file(folder / "one.html", report_html({{placed(problem, 64)}, {}}));
  Page page(*program, folder / "one.html");
  CHECK(page.value("document.title") == "layers.onnx on two, placed by Berth");
  CHECK(page.value("document.querySelectorAll('#graph svg .node').length").get<int>() >= 12);
  CHECK(page.value("document.querySelectorAll('#memory svg.plot').length") == 2);
  CHECK(page.value("document.querySelector('#step').height").get<int>() > 80);
  CHECK(page.value("typeof window.hostile") == "undefined");
  CHECK(page.value("document.querySelectorAll('b b, td b, li b').length") == 0);
  // The policy of the page forbids what a name would have to do.
  CHECK(page.complaints().empty());
  CHECK(page.value("try { document.body.innerHTML = '<b>no</b>'; 'done' } catch (e) { e.name }") ==
        "TypeError");
  page.value(
      "const s = document.createElement('script'); try { s.text = 'window.hostile = 1' } catch (e) "
      "{}"
      " document.body.append(s)");
  CHECK(page.value("typeof window.hostile") == "undefined");
  CHECK(!page.complaints().empty());  // the browser says what it refused
}

TEST_CASE_FIXTURE(Fixture, "a click unfolds a scope, another folds it, and the keyboard does too") {
  if (!program) return;
  write_file(folder / "one.html", report_html({{placed(layers(), 64)}, {}}));
  Page page(*program, folder / "one.html");
  const std::string folded = "document.querySelectorAll('#graph .node[aria-expanded=false]')";
  const std::string nodes = "document.querySelectorAll('#graph .node').length";
  const int before = page.value(nodes);
  page.value("window.first = " + folded + "[0].dataset.node");
  page.value(folded + "[0].dispatchEvent(new MouseEvent('click', { bubbles: true }))");
  CHECK(page.value(nodes).get<int>() > before);
  const std::string title = "document.querySelector('#graph .title[data-node=\"' + first + '\"]')";
  CHECK(page.value(title + ".getAttribute('aria-expanded')") == "true");
  CHECK(page.value("document.activeElement === " + title) == true);
  page.value(title +
             ".dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }))");
  CHECK(page.value(nodes) == before);
  CHECK(page.complaints().empty());
}

TEST_CASE_FIXTURE(Fixture,
                  "search finds an op and shows where it is, why, and what elsewhere costs") {
  if (!program) return;
  write_file(folder / "one.html", report_html({{placed(layers(), 64)}, {}}));
  Page page(*program, folder / "one.html");
  page.value(
      "const f = document.getElementById('find'); f.value = 'LAYERS/11/attention/so';"
      "f.dispatchEvent(new Event('input'))");
  CHECK(page.value("document.querySelectorAll('#found button').length") == 1);
  page.value("document.querySelector('#found button').click()");
  const std::string told = page.value("document.getElementById('details').innerText");
  for (const char* part : {"model/layers/11/attention/Softmax", "On gpu:1", "Held there by",
                           "gpu:0", "Reads from", "Is read by"}) {
    CHECK_MESSAGE(told.find(part) != std::string::npos, told, " lacks ", part);
  }
  CHECK(page.value("document.querySelectorAll('#graph .node.chosen').length") == 1);
  // A name with markup in it is found, and shown as it is.
  page.value(
      "f.value = 'hostile'; f.dispatchEvent(new Event('input'));"
      "document.querySelector('#found button').click()");
  const std::string hostile = page.value("document.querySelector('#details h2').textContent");
  CHECK(hostile.find("script") != std::string::npos);
  CHECK(page.value("typeof window.hostile") == "undefined");
  CHECK(page.complaints().empty());
}

TEST_CASE_FIXTURE(Fixture, "two placements stand side by side, with what moved") {
  if (!program) return;
  const auto problem = layers();
  write_file(folder / "two.html", report_html({{placed(problem, 64), placed(problem, 72)}, {}}));
  Page page(*program, folder / "two.html");
  const std::string moved = page.value("document.getElementById('moved').innerText");
  CHECK(moved.find("8 ops of 129") != std::string::npos);
  CHECK(page.value("document.querySelectorAll('#graph circle.moved').length").get<int>() > 0);
  page.value("document.querySelectorAll('#which input')[2].click()");
  CHECK(page.complaints().empty());
}

TEST_CASE_FIXTURE(Fixture, "a long name of a device stays within its card") {
  if (!program) return;
  const auto problem = layers(std::string(120, 'g'));
  write_file(folder / "one.html", report_html({{placed(problem, 64)}, {}}));
  Page page(*program, folder / "one.html");
  CHECK(page.value("document.querySelector('.cards').innerText").get<std::string>().find("gggg") !=
        std::string::npos);
  CHECK(page.value("[...document.querySelectorAll('.card')].every(card => card.scrollWidth <= "
                   "card.clientWidth)") == true);
  CHECK(page.complaints().empty());
}

TEST_CASE_FIXTURE(Fixture, "the page fits a phone, and is dark where the reader's screen is") {
  if (!program) return;
  write_file(folder / "one.html", report_html({{placed(layers(), 64)}, {}}));
  Page page(*program, folder / "one.html");
  page.resize(390, 800);
  CHECK(page.value("document.documentElement.scrollWidth").get<int>() <= 390);
  // A table that is wider than the screen says so until its last column is seen, and no other does.
  page.value(R"(window.after = (holder, x) => new Promise(seen => { holder.scrollLeft = x;
    requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => seen(
      getComputedStyle(holder.querySelector('caption'), '::after').content.includes('more columns'))))); });
    window.tables = [...document.querySelectorAll('.scroll')].filter(e => e.clientWidth > 0);
    window.wide = window.tables.filter(e => e.scrollWidth > e.clientWidth + 1);
    0)");
  CHECK(page.value("window.wide.length").get<int>() > 0);
  CHECK(page.value("Promise.all(window.tables.map(e => window.after(e, 0))).then(all => all.every("
                   "(more, i) => more === window.wide.includes(window.tables[i])))") == true);
  CHECK(page.value("Promise.all(window.wide.map(e => window.after(e, 1e4))).then(all => "
                   "all.every(more => !more))") == true);
  const std::string paper = "getComputedStyle(document.body).backgroundColor";
  CHECK(page.value(paper) == "rgb(255, 255, 255)");
  page.darken();
  CHECK(page.value(paper) == "rgb(13, 17, 23)");
  // What has a picture has a name for those who cannot see it.
  CHECK(page.value("[...document.querySelectorAll('canvas, svg[role=img], button, input')].filter("
                   "e => !(e.getAttribute('aria-label') || e.textContent.trim() || "
                   "(e.labels && e.labels.length))).length") == 0);
  CHECK(page.complaints().empty());
}

}  // namespace berth::test
