// Kept results (scripts/experiments/results), beside what they are of.
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "support/host_fixture.h"
#include "support/lines.h"
#include "support/paths.h"

namespace berth {
namespace {

std::filesystem::path results() {
  return test::source_path("scripts/experiments/results");
}

std::vector<std::filesystem::path> kept_tables() {
  std::vector<std::filesystem::path> tables;
  for (const auto& entry : std::filesystem::directory_iterator(results())) {
    if (entry.path().extension() == ".csv") tables.push_back(entry.path());
  }
  return tables;
}

TEST_CASE("no table that is kept has a row twice") {
  const auto tables = kept_tables();
  REQUIRE(!tables.empty());
  for (const auto& table : tables) {
    CAPTURE(table.filename().string());
    std::set<std::string> seen;
    for (const std::string& row : test::lines_of(table)) {
      CAPTURE(row);
      CHECK(seen.insert(row).second);
    }
  }
}

TEST_CASE("the best of a curve that is kept never rises") {
  int curves = 0;
  for (const auto& table : kept_tables()) {
    const std::vector<std::string> rows = test::lines_of(table);
    if (!rows.at(0).ends_with(",episodes,runtime_ms,best_ms")) continue;
    std::map<std::string, double> best_by_curve;
    for (std::size_t i = 1; i < rows.size(); ++i) {
      const std::string& row = rows[i];
      const std::size_t best_at = row.rfind(',');
      const std::size_t episodes_at = row.rfind(',', row.rfind(',', best_at - 1) - 1);
      double& before =
          best_by_curve
              .try_emplace(row.substr(0, episodes_at), std::numeric_limits<double>::infinity())
              .first->second;
      const double best = std::stod(row.substr(best_at + 1));  // inf where nothing fits yet
      INFO(table.filename().string(), ": ", row);
      CHECK(best <= before);
      before = best;
    }
    curves += static_cast<int>(best_by_curve.size());
  }
  CHECK(curves > 0);
}

TEST_CASE_FIXTURE(test::HostFixture,
                  "the page on groups has the numbers of groups that there are") {
  run(R"(
    local berth = require "berth"
    local file = assert(io.open(arg[1]))
    local page = file:read "*a"
    file:close()
    local function number(text) return tonumber((text:gsub(",", ""))) end
    for title, name in pairs { RNNLM = "rnnlm_b64", NMT = "nmt_b64", ["Inception%-V3"] = "inception_v3_b32",
                               ["NASNet%-A"] = "nasnet_b64" } do
      local graph = berth.load(arg[2] .. "/" .. name .. ".pb.gz")
      local ops, classes, groups = page:match("\n| " .. title .. " | ([%d,]+) | ([%d,]+) | ([%d,]+) |")
      assert(ops, "no row of " .. title)
      local function compare(what, printed, is)
        assert(number(printed) == is, ("%s, %s: the page has %s, there are %d"):format(title, what, printed, is))
      end
      compare("ops", ops, graph:op_count())
      for grouping, printed in pairs { colocation = classes, icml2017 = groups } do
        local problem = berth.problem { graph = graph, cluster = "k80x4", grouping = grouping }
        compare(grouping, printed, problem:groups():count())
      end
    end)",
      {(results() / "grouping.md").string(), test::source_path("examples/models/tf").string()});
}

}  // namespace
}  // namespace berth
