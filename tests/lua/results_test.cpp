// What is kept in scripts/experiments/results, beside what it is of.
#include <filesystem>
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
