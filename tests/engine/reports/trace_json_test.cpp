#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "berth/files.h"
#include "support/tangled_problem.h"

namespace berth::test {
namespace {

using nlohmann::json;

std::vector<json> events_of(const json& document, const std::string& phase,
                            const std::string& category = {}) {
  std::vector<json> chosen;
  for (const json& event : document.at("traceEvents")) {
    if (event.at("ph") != phase) continue;
    if (category.empty() || event.value("cat", "") == category) chosen.push_back(event);
  }
  return chosen;
}

/// Row names by (pid, tid).
std::map<std::pair<int, int>, std::string> rows_of(const json& document) {
  std::map<std::pair<int, int>, std::string> rows;
  for (const json& event : events_of(document, "M")) {
    if (event.at("name") != "thread_name") continue;
    rows[{event.at("pid"), event.at("tid")}] = event.at("args").at("name");
  }
  return rows;
}

std::string row(const std::map<std::pair<int, int>, std::string>& rows, const json& event) {
  return rows.at({event.at("pid"), event.at("tid")});
}

TEST_CASE("trace_json holds every op, transfer and memory change of the trace") {
  for (const Semantics semantics : {Semantics::placeto, Semantics::dataflow}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      CAPTURE(seed);
      Random random(seed);
      const auto problem = tangled_problem(random, semantics, Objective::latency, {});
      const Placement placement = any_placement(random, *problem);
      const StepTrace trace = Simulator(problem).trace(placement);
      const json document = json::parse(trace_json(*problem, placement, trace));
      const Graph& graph = problem->graph();
      const Cluster& cluster = problem->cluster();
      const auto rows = rows_of(document);
      CHECK(document.at("otherData").at("runtime_us") == trace.runtime_us);

      const auto ops = events_of(document, "X", "op");
      REQUIRE(ops.size() == placement.size());
      for (const json& event : ops) {
        const auto op =
            static_cast<std::size_t>(*graph.find_op(event.at("name").get<std::string>()));
        CHECK(event.at("ts") == trace.op_start_us[op]);
        CHECK(event.at("dur") == trace.op_end_us[op] - trace.op_start_us[op]);
        CHECK(row(rows, event) == cluster.device(placement[op]).name);
      }

      // In the order of the trace; the signals of the dataflow semantics are instants.
      std::vector<Transfer> spans;
      std::size_t signals = 0;
      for (const Transfer& transfer : trace.transfers) {
        if (transfer.tensor == kNoTensor && semantics == Semantics::dataflow) {
          ++signals;
        } else {
          spans.push_back(transfer);
        }
      }
      CHECK(events_of(document, "i", "signal").size() == signals);
      const auto transfers = events_of(document, "X", "transfer");
      const auto starts = events_of(document, "s", "flow");
      const auto ends = events_of(document, "f", "flow");
      REQUIRE(transfers.size() == spans.size());
      REQUIRE(starts.size() == spans.size());
      REQUIRE(ends.size() == spans.size());
      for (std::size_t i = 0; i < spans.size(); ++i) {
        const Transfer& transfer = spans[i];
        const std::string& src = cluster.device(transfer.src).name;
        CHECK(transfers[i].at("ts") == transfer.start_us);
        CHECK(transfers[i].at("dur") == transfer.end_us - transfer.start_us);
        CHECK(transfers[i].at("args").at("bytes") == transfer.bytes);
        // A parallel link has more rows.
        const std::string link = row(rows, transfers[i]);
        CHECK(link.substr(0, link.find(" (")) ==
              (transfer.dst == kNoDevice ? "bus of " + src
                                         : src + " to " + cluster.device(transfer.dst).name));
        CHECK(starts[i].at("id") == ends[i].at("id"));
        CHECK(row(rows, starts[i]) == src);
        CHECK(row(rows, ends[i]) == row(rows, transfers[i]));
      }

      const auto counters = events_of(document, "C");
      REQUIRE(counters.size() == trace.memory.size());
      for (std::size_t i = 0; i < counters.size(); ++i) {
        CHECK(counters[i].at("ts") == trace.memory[i].us);
        CHECK(counters[i].at("args").at("bytes") == trace.memory[i].bytes);
      }

      const auto critical = [](const json& event) {
        return event.at("args").at("critical") == true;
      };
      CHECK(static_cast<std::size_t>(std::count_if(ops.begin(), ops.end(), critical)) ==
            static_cast<std::size_t>(
                std::count_if(trace.critical_path.begin(), trace.critical_path.end(),
                              [](const CriticalStep& step) { return step.op != kNoOp; })));
    }
  }
}

TEST_CASE("trace_json has a row for each of the transfers that a parallel link has at once") {
  GraphBuilder builder("parallel");
  const TensorInfo big{DType::f32, true, {250000}, kUnknownBytes};
  const OpId end = builder.add_op("end", "Op");
  for (int i = 0; i < 3; ++i) {
    const OpId op = builder.add_op("op" + std::to_string(i), "Op");
    builder.add_input(end, builder.add_output(op, big));
  }
  for (OpId op = 0; op < 4; ++op) builder.set_cost(op, "", 10);
  const auto graph = builder.build();
  std::vector<Device> devices(2);
  devices[0].name = "a";
  devices[1].name = "b";
  devices[0].kind = devices[1].kind = "k";
  for (const bool parallel : {true, false}) {
    LinkSpec link{"*", "*", 1e9, 5, {}};
    link.parallel = parallel;
    const auto cluster =
        std::make_shared<const Cluster>("two", devices, std::vector<LinkSpec>{link});
    const auto problem =
        std::make_shared<const Problem>(graph, cluster, Costs::stated(*graph, *cluster));
    const Placement placement = {1, 0, 0, 0};
    const json document =
        json::parse(trace_json(*problem, placement, Simulator(problem).trace(placement)));
    const auto rows = rows_of(document);
    std::map<std::string, double> busy_until;
    for (const json& event : events_of(document, "X", "transfer")) {
      double& until = busy_until[row(rows, event)];
      CHECK(event.at("ts") >= until);
      until = event.at("ts").get<double>() + event.at("dur").get<double>();
    }
    CHECK(busy_until.size() == (parallel ? 3 : 1));
    CHECK(busy_until.contains("a to b"));
    CHECK(busy_until.contains("a to b (3)") == parallel);
  }
}

TEST_CASE("trace_json stays valid JSON whatever the names hold") {
  GraphBuilder builder("quote \" and \xff");
  const OpId op = builder.add_op("line\nbreak \xc3\x28", "Op");
  builder.set_cost(op, "", 1);
  const auto graph = builder.build();
  Device device;
  device.name = "tab\t";
  device.kind = "k";
  const auto cluster =
      std::make_shared<const Cluster>("one", std::vector<Device>{device}, std::vector<LinkSpec>{});
  const auto problem =
      std::make_shared<const Problem>(graph, cluster, Costs::stated(*graph, *cluster));
  const json document =
      json::parse(trace_json(*problem, {0}, Simulator(problem).trace(Placement{0})));
  CHECK(events_of(document, "X").size() == 1);
  CHECK(rows_of(document).at({1, 0}) == "tab\t");
}

}  // namespace
}  // namespace berth::test
