// The page of a report: its data say what the engine says, and names in it are never markup.
#include "berth/report.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "berth/costs.h"
#include "support/expect_error.h"
#include "support/layered_problem.h"
#include "support/tangled_problem.h"

namespace berth::test {
namespace {

using nlohmann::json;

Report report_of(const std::shared_ptr<const Problem>& problem, const Placement& placement) {
  return {{{"mine", simulated_outcome(problem, {"a model", "somebody"}, placement)}}, {}};
}

/// What stands between two texts, the first time.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin);
  REQUIRE(from != std::string::npos);
  const std::size_t to = text.find(end, from + begin.size());
  REQUIRE(to != std::string::npos);
  return text.substr(from + begin.size(), to - from - begin.size());
}

json data_of(const std::string& page) {
  return json::parse(between(page, "<script type=\"application/json\" id=\"data\">", "</script>"));
}

/// What the data hold of the unit that an op moves with.
const json& unit_of(const json& elsewhere, OpId op) {
  const json& units = elsewhere.at("units");
  const auto found = std::find_if(units.begin(), units.end(), [op](const json& unit) {
    const auto ops = unit.at("ops").get<std::vector<OpId>>();
    return std::find(ops.begin(), ops.end(), op) != ops.end();
  });
  REQUIRE(found != units.end());
  return *found;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t i = text.find(part); i != std::string::npos; i = text.find(part, i + 1)) ++count;
  return count;
}

/// Two devices of one kind; every op costs 10 us and sends 100 bytes on.
std::shared_ptr<const Problem> chain_of(const std::vector<std::string>& names) {
  GraphBuilder builder("named");
  TensorInfo info;
  info.bytes = 100;
  TensorId last = kNoTensor;
  for (const std::string& name : names) {
    const OpId op = builder.add_op(name, "Layer");
    if (last != kNoTensor) builder.add_input(op, last);
    last = builder.add_output(op, info);
    builder.set_cost(op, "gpu", 10);
  }
  const auto cluster = std::make_shared<const Cluster>(
      "two", std::vector<Device>{{"gpu:0", "gpu"}, {"gpu:1", "gpu"}},
      std::vector<LinkSpec>{{"*", "*", 1e9, 1}});
  auto graph = builder.build();
  auto costs = Costs::stated(*graph, *cluster);
  return std::make_shared<const Problem>(std::move(graph), cluster, std::move(costs));
}

json data_of_chain(const std::vector<std::string>& names) {
  return data_of(report_html(report_of(chain_of(names), Placement(names.size(), 0))));
}

/// By scope, how many scopes and ops it holds.
std::map<int, int> children_of(const json& graph) {
  std::map<int, int> count;
  for (const int parent : graph.at("scopes").at("parent")) ++count[parent];
  for (const int scope : graph.at("op").at("scope")) ++count[scope];
  count.erase(-1);
  return count;
}

TEST_CASE("a report's data hold every op, where and when it runs") {
  for (const Semantics semantics : {Semantics::dataflow, Semantics::placeto}) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      CAPTURE(seed);
      Random random(seed);
      const auto problem = tangled_problem(random, semantics, Objective::latency, {});
      const Placement placement = any_placement(random, *problem);
      const json data = data_of(report_html(report_of(problem, placement)));
      const StepTrace trace = Simulator(problem).trace(placement);
      const json& shown = data.at("placements").at(0);
      CHECK(shown.at("device").get<Placement>() == placement);
      CHECK(shown.at("step") == trace.runtime_us);
      CHECK(shown.at("transfers").at("op").size() == trace.transfers.size());
      CHECK(shown.at("path").size() == 2 * trace.critical_path.size());
      for (std::size_t op = 0; op < placement.size(); ++op) {
        CHECK(shown.at("start").at(op).get<double>() ==
              doctest::Approx(trace.op_start_us[op]).epsilon(1e-4));
        const auto& inputs = data.at("graph").at("op").at("inputs").at(op);
        CHECK(inputs.size() == 2 * problem->graph().in_edges(static_cast<OpId>(op)).size());
      }
    }
  }
}

TEST_CASE("what elsewhere would cost is what the evaluator says of the moved placement") {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const auto problem = tangled_problem(random, Semantics::dataflow, Objective::latency, {});
    const Placement placement = any_placement(random, *problem);
    const json data = data_of(report_html(report_of(problem, placement)));
    const json& elsewhere = data.at("placements").at(0).at("elsewhere");
    CHECK(elsewhere.at("all") == true);
    const auto evaluator = make_simulation_evaluator(problem, 1);
    const auto classes = problem->finest_groups();
    for (OpId op = 0; op < problem->graph().op_count(); ++op) {
      const json& unit = unit_of(elsewhere, op);
      for (DeviceId device = 0; device < problem->cluster().device_count(); ++device) {
        const json& entry = unit.at("devices").at(at(device));
        if (device == placement[at(op)]) {
          CHECK(entry.is_null());
          continue;
        }
        Placement moved = placement;
        for (const OpId each : classes->members(classes->of(op))) moved[at(each)] = device;
        if (entry.is_string()) {
          seen.insert("refused");
          CHECK_THROWS_AS(problem->validate(moved), Error);
          continue;
        }
        const Evaluation evaluation = evaluator->evaluate(moved);
        const json& value = entry.is_array() ? entry.at(0) : entry;
        CHECK(value.get<double>() == doctest::Approx(evaluation.objective_us).epsilon(1e-4));
        CHECK((entry.is_array() ? entry.at(1).get<std::int64_t>() : 0) == evaluation.excess_bytes);
        seen.insert(entry.is_array() ? "too large" : "fits");
      }
    }
  }
  CHECK(seen.contains("fits"));
}

TEST_CASE("what is held at the peak, with the parameters, is the peak") {
  int whole = 0;
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    TangledShape shape;
    shape.keeps = seed % 2 == 1;
    shape.lasting = seed % 4 > 1;
    shape.sums = seed % 5 == 4;
    const auto problem = tangled_problem(random, Semantics::dataflow, Objective::latency, shape);
    const Placement placement = any_placement(random, *problem);
    const json data = data_of(report_html(report_of(problem, placement)));
    for (const json& device : data.at("placements").at(0).at("devices")) {
      if (device.at("held").size() != device.at("held_count")) continue;
      std::int64_t sum = device.at("params");
      for (const json& holding : device.at("held")) sum += holding.at(1).get<std::int64_t>();
      CHECK(sum >= device.at("peak").get<std::int64_t>());
      // At one instant some things may end, and others start, after the peak was reached.
      whole += sum == device.at("peak").get<std::int64_t>() ? 1 : 0;
    }
  }
  CHECK(whole > 60);
}

TEST_CASE("a state in the place of its input is not held beside it") {
  GraphBuilder builder("g");
  const OpId old = builder.add_op("old", "Input"), op = builder.add_op("op", "Op");
  for (const OpId each : {old, op}) builder.set_cost(each, "", 1);
  TensorInfo info;
  info.bytes = 100;
  builder.add_input(op, builder.add_output(old, info));
  const std::vector<Graph::State> states = {{builder.add_output(op, info), old}};
  const auto graph = builder.build()->with_states(states);
  const auto cluster = std::make_shared<const Cluster>(
      "one", std::vector<Device>(1, Device{.name = "d", .kind = "k"}), std::vector<LinkSpec>());
  const auto problem =
      std::make_shared<const Problem>(graph, cluster, Costs::stated(*graph, *cluster));
  const json data = data_of(report_html(report_of(problem, {0, 0})));
  const json& device = data.at("placements").at(0).at("devices").at(0);
  CHECK(device.at("peak") == 100);
  REQUIRE(device.at("held").size() == 1);
  CHECK(device.at("held").at(0).at(0) == old);
}

TEST_CASE("scopes follow the separators of names") {
  const json graph = data_of_chain({"/model/layers.0/MatMul", "/model/layers.0/Add",
                                    "/model/layers.1/Add", "end."})
                         .at("graph");
  // layers.0 and layers.1 are two scopes in model/layers; "end." is an op of the root.
  CHECK(graph.at("scopes").at("name") == json({"", "model/layers", "0", "1"}));
  CHECK(graph.at("scopes").at("parent") == json({-1, 0, 1, 1}));
  CHECK(graph.at("op").at("name") == json({"MatMul", "Add", "Add", "end."}));
  CHECK(graph.at("op").at("scope") == json({2, 2, 3, 0}));
}

TEST_CASE("names without scopes are grouped in runs, so that no scope has too many children") {
  std::vector<std::string> names;
  for (int i = 0; i < 5000; ++i) names.push_back("node_" + std::to_string(i));
  for (int i = 0; i < 3; ++i) names.push_back("head/" + std::to_string(i));
  const json graph = data_of_chain(names).at("graph");
  for (const auto& [scope, count] : children_of(graph)) {
    CAPTURE(scope);
    CHECK(count <= 40);
  }
  const auto& scopes = graph.at("scopes").at("name");
  CHECK(std::find(scopes.begin(), scopes.end(), "head") != scopes.end());
  CHECK(std::find(scopes.begin(), scopes.end(), "node_0 ... node_249") != scopes.end());
}

TEST_CASE("hostile names are data, never markup") {
  const std::vector<std::string> names = {"</script><script>alert(1)</script>",
                                          "<img src=x onerror=alert(1)>",
                                          "<!--",
                                          "]]>",
                                          "&lt;b&gt;",
                                          "\xff\xfe not UTF-8",
                                          "\xe2\x80\xa8 a line separator",
                                          "' \" ` ${1} \\",
                                          "BERTH_DATA"};
  const std::string plain = report_html(report_of(chain_of({"a", "b"}), {0, 0}));
  const std::string page = report_html(report_of(chain_of(names), Placement(names.size(), 0)));
  for (const char* const mark : {"<script", "</script", "<!--", "<img", "]]>"}) {
    CAPTURE(mark);
    CHECK(count_of(page, mark) == count_of(plain, mark));
  }
  CHECK(data_of(page).at("graph").at("op").at("name").at(8) == "BERTH_DATA");
  // Nothing but the page's own script and style, and nothing from elsewhere.
  const std::string policy = between(page, "Content-Security-Policy\" content=\"", "\"");
  CHECK(policy.find("default-src 'none'") != std::string::npos);
  CHECK(policy.find("script-src 'sha256-") != std::string::npos);
  CHECK(policy.find("unsafe") == std::string::npos);
  CHECK(count_of(page, "src=\"http") == 0);
  CHECK(count_of(page, "innerHTML") == 0);
}

TEST_CASE("a page for 20,000 ops takes less than 3 MB, with two placements too") {
  std::vector<std::string> names;
  for (int i = 0; i < 20000; ++i) {
    names.push_back("gradients/decoder/layer_" + std::to_string(i % 8) + "/step_" +
                    std::to_string(i / 400) + "/lstm/operation_" + std::to_string(i));
  }
  const auto problem = chain_of(names);
  Placement placement(names.size());
  for (std::size_t op = 0; op < placement.size(); ++op) placement[op] = op % 2;  // all edges cross
  const std::string page = report_html(report_of(problem, placement));
  CHECK(page.size() < 3'000'000);
  const json data = data_of(page);
  const json& transfers = data.at("placements").at(0).at("transfers");
  CHECK(transfers.at("total") == 19'999);
  CHECK(transfers.at("op").size() == 12'000);

  Report both = report_of(problem, placement);
  for (DeviceId& device : placement) device = 1 - device;
  both.placements.push_back({"other", simulated_outcome(problem, {"a model", "me"}, placement)});
  const std::string two = report_html(both);
  CHECK(two.size() < 3'000'000);
  const json shown = data_of(two).at("placements");
  for (const std::size_t i : {0, 1}) CHECK(shown.at(i).at("transfers").at("op").size() == 6'000);
}

TEST_CASE("constraints are told with whether they held") {
  const auto bare = chain_of({"a", "b", "c"});
  ConstraintRule pin;
  pin.ops = {{"a"}};
  pin.devices = {"gpu:0"};
  ConstraintRule together;
  together.kind = ConstraintRule::Kind::colocate;
  together.ops = {{"b"}, {"c"}};
  const auto constraints = std::make_shared<const Constraints>(
      bare->graph(), bare->cluster(), bare->costs(), std::vector<ConstraintRule>{pin, together});
  const auto problem =
      std::make_shared<const Problem>(bare->shared_graph(), bare->shared_cluster(),
                                      bare->shared_costs(), nullptr, ProblemOptions(), constraints);
  const json data = data_of(report_html(report_of(problem, {0, 1, 1})));
  const json& rules = data.at("placements").at(0).at("constraints");
  REQUIRE(rules.size() == 2);
  CHECK(rules.at(0).at("holds") == true);
  CHECK(rules.at(1).at("count") == 2);
  // a is pinned: nothing can be told of it elsewhere but the rule.
  const json& elsewhere = data.at("placements").at(0).at("elsewhere");
  const json& unit = unit_of(elsewhere, 0);
  CHECK(unit.at("devices").at(1).is_string());
  CHECK(unit.at("by").get<std::string>().starts_with("constraints"));
}

TEST_CASE("a report shows one placement or two of one problem") {
  const auto problem = chain_of({"a", "b"});
  Report report = report_of(problem, {0, 0});
  report.placements.push_back({"other", simulated_outcome(problem, {}, {0, 1})});
  report.policies = {{"somebody", &report.placements.front().outcome, {}},
                     {"nobody", nullptr, "it found nothing"}};
  const json data = data_of(report_html(report));
  CHECK(data.at("placements").size() == 2);
  CHECK(data.at("policies").at(0).at("objective") == 20);
  CHECK(data.at("policies").at(1).at("failure") == "it found nothing");

  expect_error(ErrorCode::invalid_argument, {"one placement or two"},
               [] { static_cast<void>(report_html({})); });
  report.placements.back() = {"third", simulated_outcome(chain_of({"a", "b"}), {}, {0, 1})};
  expect_error(ErrorCode::invalid_argument, {"one graph on one machine"},
               [&] { static_cast<void>(report_html(report)); });
}

}  // namespace
}  // namespace berth::test
