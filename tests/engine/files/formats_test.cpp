// The pages of the file formats against the readers: every example is read, and every key that a
// reader knows has a row.
#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "berth/error.h"
#include "berth/files.h"
#include "berth/sdk/op_rules.h"
#include "berth/simulator.h"
#include "support/format_page.h"

namespace berth {
namespace {

using nlohmann::json;
using test::FormatPage;

/// Reads a document that has one key too many, and returns the keys that the error lists.
std::set<std::string> known_keys(json document, const std::string& object,
                                 const std::function<void(const std::string&)>& read) {
  document[json::json_pointer(object)]["no such key"] = 0;
  try {
    read(document.dump());
  } catch (const Error& error) {
    return test::names_after(error.what(), "Known: ");
  }
  FAIL_CHECK("an unknown key is accepted in '", object, "'");
  return {};
}

/// The reader takes the page's example, and its keys are the rows of the page.
void check_page(const FormatPage& page, const std::vector<std::string>& objects,
                const std::function<void(const std::string&)>& read) {
  const std::string example = page.block("json");
  read(example);
  json bound = json::parse(example);
  bound["$schema"] = "cluster.schema.json";
  read(bound.dump());
  bound["$schema"] = 1;
  CHECK_THROWS_AS(read(bound.dump()), Error);
  std::set<std::string> known;
  for (const std::string& object : objects) {
    known.merge(known_keys(json::parse(example), object, read));
  }
  CHECK(page.keys() == known);
}

TEST_CASE("the pages of the formats hold what the readers accept") {
  const FormatPage graph_page("graph.md"), cluster_page("cluster.md");
  const auto graph = parse_graph(graph_page.block("json"), "graph.md");
  const auto cluster = parse_cluster(cluster_page.block("json"), "cluster.md");
  check_page(graph_page, {"", "/ops/0", "/edges/0"},
             [](const std::string& text) { (void)parse_graph(text, "graph.md"); });
  check_page(cluster_page, {"", "/devices/0", "/links/0"},
             [](const std::string& text) { (void)parse_cluster(text, "cluster.md"); });
  check_page(FormatPage("costs.md"), {""}, [&](const std::string& text) {
    (void)parse_costs(text, "costs.md", *graph, *cluster);
  });
  check_page(FormatPage("ops.md"), {"", "/ops/0", "/ops/1/outputs/0"},
             [](const std::string& text) { (void)OpRules::parse(text, "ops.md"); });
  check_page(FormatPage("placement.md"), {""}, [&](const std::string& text) {
    (void)parse_placement(text, "placement.md", *graph, *cluster);
  });
}

TEST_CASE("the examples of the pages belong together") {
  const auto cluster = parse_cluster(FormatPage("cluster.md").block("json"), "cluster.md");
  const auto graph = parse_graph(FormatPage("graph.md").block("json"), "graph.md");
  const json placement = json::parse(FormatPage("placement.md").block("json"));
  const Simulator simulator(
      std::make_shared<const Problem>(graph, cluster, Costs::stated(*graph, *cluster)));
  Simulator::Workspace workspace;
  Evaluation evaluation;
  simulator.evaluate(parse_placement(placement.dump(), "placement.md", *graph, *cluster), workspace,
                     evaluation);
  const json& results = placement.at("results");
  CHECK(evaluation.feasible == results.at("feasible").get<bool>());
  CHECK(evaluation.peak_bytes == results.at("peak_bytes").get<std::vector<std::int64_t>>());
  CHECK(evaluation.runtime_us == doctest::Approx(results.at("runtime_us").get<double>()));
  CHECK_FALSE(placement.at("settings").contains("dims"));
  std::int64_t bytes = 0;
  for (OpId op = 0; op < graph->op_count(); ++op) bytes += graph->output_bytes(op);
  CHECK(json::parse(FormatPage("costs.md").block("json")).at("tensor_bytes") == bytes);
}

}  // namespace
}  // namespace berth
