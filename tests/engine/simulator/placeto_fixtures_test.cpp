// The results of the simulator released with Placeto (Addanki et al., NeurIPS 2019): the fixture
// files, and small cases that were run through it unchanged.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "berth/files.h"
#include "berth/simulator.h"
#include "support/data.h"

namespace berth::test {
namespace {

using nlohmann::json;

bool same(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), 1.0);
}

/// Compares all that a case states with every call of the simulator.
void check_case(const Simulator& simulator, const Placement& placement, double runtime_us,
                const std::vector<std::int64_t>& peak_bytes, const std::vector<double>& start_us) {
  Simulator::Workspace workspace;
  CHECK(same(simulator.runtime_us(placement, workspace), runtime_us));
  Evaluation evaluation;
  simulator.evaluate(placement, workspace, evaluation);
  CHECK(same(evaluation.runtime_us, runtime_us));
  CHECK(evaluation.peak_bytes == peak_bytes);
  const StepTrace trace = simulator.trace(placement);
  CHECK(trace.runtime_us == evaluation.runtime_us);
  REQUIRE(trace.op_start_us.size() == start_us.size());
  std::size_t differing = 0;
  for (std::size_t op = 0; op < start_us.size(); ++op) {
    differing += same(trace.op_start_us[op], start_us[op]) ? 0 : 1;
  }
  CHECK(differing == 0);
  for (std::size_t d = 0; d < peak_bytes.size(); ++d) {
    CHECK(trace.devices[d].peak_bytes == peak_bytes[d]);
  }
}

TEST_CASE("placeto semantics match every fixture of the published simulator") {
  if (!have_shared_data("the Placeto fixtures")) return;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(shared_path("placeto_sim"))) {
    const std::string file = entry.path().filename().string();
    CAPTURE(file);
    const json fixture = json::parse(read_file(entry.path()));
    const auto graph = parse_graph(fixture.at("graph").dump(), file);
    const auto cluster = parse_cluster(fixture.at("cluster").dump(), file);
    ProblemOptions options;
    options.semantics = Semantics::placeto;
    options.device_gap_us = fixture.at("device_gap_us");
    options.transfer_gap_us = fixture.at("transfer_gap_us");
    const Simulator simulator(std::make_shared<Problem>(
        graph, cluster, Costs::stated(*graph, *cluster), nullptr, options));
    for (std::size_t i = 0; i < fixture.at("cases").size(); ++i) {
      CAPTURE(i);
      const json& known = fixture.at("cases")[i];
      check_case(simulator, known.at("assignment").get<Placement>(), known.at("runtime_us"),
                 known.at("peak_bytes").get<std::vector<std::int64_t>>(),
                 known.at("start_us").get<std::vector<double>>());
    }
    ++files;
  }
  CHECK(files == 11);
}

/// An op of a golden case: "b:a.0,^c" reads output 0 of a and runs after c.
struct GoldenOp {
  const char* name;
  double cost_us;
  std::vector<std::int64_t> output_bytes;
  std::vector<std::pair<int, int>> inputs;  ///< (op, output); output -1 = control edge
};

struct GoldenCase {
  const char* id;
  std::vector<GoldenOp> ops;
  Placement placement;
  double runtime_us;
  std::vector<double> start_us;
  std::vector<std::int64_t> peak_bytes;
};

std::shared_ptr<const Graph> golden_graph(const GoldenCase& golden) {
  GraphBuilder builder(golden.id);
  std::vector<std::vector<TensorId>> outputs;
  for (const GoldenOp& golden_op : golden.ops) {
    const OpId op = builder.add_op(golden_op.name, "Op");
    builder.set_cost(op, "", golden_op.cost_us);
    outputs.emplace_back();
    for (const std::int64_t bytes : golden_op.output_bytes) {
      TensorInfo info;
      info.bytes = bytes;
      outputs.back().push_back(builder.add_output(op, info));
    }
    for (const auto& [src, output] : golden_op.inputs) {
      if (output < 0) {
        builder.add_control_edge(src, op);
      } else {
        builder.add_input(op,
                          outputs[static_cast<std::size_t>(src)][static_cast<std::size_t>(output)]);
      }
    }
  }
  return builder.build();
}

TEST_CASE("placeto semantics match small cases run through the released simulator") {
  // T8 and T11 differ on purpose. T8: the released simulator ships output 0 over a control edge
  // (45.0 us, b starts at 20). Here the edge carries 0 bytes, so b starts at 10; the bus still
  // pauses 25 us after it. T11: there only the last output that b reads is shipped (36.0 us, b
  // starts at 11). Here both are, one after the other: [10, 20], then [45, 46].
  const std::vector<GoldenOp> chain = {
      {"a", 10, {7600}, {}}, {"b", 20, {15200}, {{0, 0}}}, {"c", 30, {100}, {{1, 0}}}};
  const std::vector<GoldenOp> diamond = {{"a", 10, {1000}, {}},
                                         {"l", 100, {2000}, {{0, 0}}},
                                         {"r", 50, {4000}, {{0, 0}}},
                                         {"j", 10, {8000}, {{1, 0}, {2, 0}}}};
  const std::vector<GoldenCase> cases = {
      {"T1", chain, {0, 0, 0}, 77.1, {0, 15.7, 41.4}, {22800, 0}},
      {"T2", chain, {0, 1, 1}, 72.4, {0, 11.0, 36.7}, {7600, 15300}},
      {"T3", chain, {0, 1, 0}, 68.7, {0, 11.0, 33.0}, {7600, 15200}},
      {"T4",
       {{"a", 10, {76000}, {}},
        {"b", 20, {1}, {{0, 0}}},
        {"c", 20, {1}, {{0, 0}}},
        {"d", 20, {1}, {{0, 0}}}},
       {0, 1, 2, 0},
       45.7,
       {0, 20, 20, 15.7},
       {76001, 1, 1}},
      {"T5",
       {{"a", 10, {76000, 76000}, {}}, {"b", 20, {1}, {{0, 0}}}, {"c", 20, {1}, {{0, 1}}}},
       {0, 1, 1},
       80.7,
       {0, 20, 55},
       {152000, 1}},
      {"T6",
       {{"a", 10, {76000}, {}},
        {"b", 10, {76000}, {}},
        {"c", 5, {1}, {{0, 0}}},
        {"d", 5, {1}, {{1, 0}}}},
       {0, 0, 1, 1},
       80.0,
       {0, 15.7, 20, 55},
       {152000, 1}},
      {"T7",
       {{"v", 0, {5000}, {}}, {"a", 10, {1000}, {{0, 0}}}, {"b", 10, {1}, {{1, 0}}}},
       {0, 0, 0},
       31.4,
       {0, 0, 15.7},
       {6000, 0}},
      {"T8",
       {{"a", 10, {76000}, {}}, {"b", 10, {1}, {{0, -1}}}},
       {0, 1},
       35.0,
       {0, 10},
       {76000, 1}},
      {"T9", diamond, {0, 0, 0, 0}, 192.8, {0, 15.7, 121.4, 177.1}, {14000, 0}},
      {"T10", diamond, {0, 0, 1, 0}, 137.1, {0, 15.7, 10 + 1000 / 7600.0, 121.4}, {10000, 4000}},
      {"T11",
       {{"a", 10, {76000, 7600}, {}}, {"b", 10, {1}, {{0, 0}, {0, 1}}}},
       {0, 1},
       71.0,
       {0, 46.0},
       {83600, 1}},
      {"T12",
       {{"a", 10, {1}, {}}, {"x", 5, {1}, {{0, 0}}}, {"y", 5, {1}, {{0, 0}}}},
       {0, 0, 0},
       37.1,
       {0, 15.7, 26.4},
       {2, 0}},
      {"T13",
       {{"p", 30, {1}, {}}, {"q", 10, {1}, {}}, {"r", 10, {1}, {{1, 0}}}},
       {0, 0, 0},
       67.1,
       {0, 35.7, 51.4},
       {2, 0}},
      {"T14",
       {{"a", 10, {7600}, {}}, {"b", 1, {1}, {{0, 0}}}, {"e", 1, {}, {}}},
       {0, 1, 0},
       36.0,
       {0, 11.0, 15.7},
       {7600, 1}},
  };
  for (const GoldenCase& golden : cases) {
    CAPTURE(golden.id);
    std::vector<Device> devices(golden.peak_bytes.size());
    for (std::size_t d = 0; d < devices.size(); ++d) {
      devices[d].name = "gpu:" + std::to_string(d);
      devices[d].kind = "gpu";
    }
    const auto graph = golden_graph(golden);
    const auto cluster = std::make_shared<Cluster>("golden", devices,
                                                   std::vector<LinkSpec>{{"*", "*", 7.6e9, 0, {}}});
    ProblemOptions options;
    options.semantics = Semantics::placeto;
    const Simulator simulator(std::make_shared<Problem>(
        graph, cluster, Costs::stated(*graph, *cluster), nullptr, options));
    check_case(simulator, golden.placement, golden.runtime_us, golden.peak_bytes, golden.start_us);
  }
}

}  // namespace
}  // namespace berth::test
