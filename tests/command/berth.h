// The built command on small files of its own.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/process.h"
#include "support/temporary_folder.h"

namespace berth::test {

using Json = nlohmann::json;

/// Two chains of three ops that meet:  a0 -> a1 -> a2 -> end <- b2 <- b1 <- b0. Every op but `end`
/// takes 1000 us on a gpu; the cpu is slow and can run everything.
inline Json diamond_graph() {
  Json ops = Json::array();
  for (const char* name : {"a0", "a1", "a2", "b0", "b1", "b2", "end"}) {
    const double us = std::string(name) == "end" ? 10 : 1000;
    ops.push_back({{"name", name},
                   {"type", "Layer"},
                   {"cost_us", {{"gpu", us}, {"cpu", 100 * us}}},
                   {"output_bytes", {1000}},
                   {"param_bytes", 1000000}});
  }
  Json edges = Json::array();
  for (const auto& [src, dst] :
       std::vector<std::pair<int, int>>{{0, 1}, {1, 2}, {2, 6}, {3, 4}, {4, 5}, {5, 6}}) {
    edges.push_back({{"src", src}, {"output", 0}, {"dst", dst}});
  }
  return {{"format", "berth.graph/1"}, {"name", "diamond"}, {"ops", ops}, {"edges", edges}};
}

/// Two gpus and the host, every link 1 GB/s and 10 us.
inline Json pair_cluster() {
  return {{"format", "berth.cluster/1"},
          {"name", "pair"},
          {"devices",
           {{{"name", "gpu:0"}, {"kind", "gpu"}, {"memory_bytes", 100000000}},
            {{"name", "gpu:1"}, {"kind", "gpu"}, {"memory_bytes", 100000000}},
            {{"name", "cpu:0"}, {"kind", "cpu"}, {"host", true}}}},
          {"links",
           {{{"src", "*"}, {"dst", "*"}, {"bandwidth_bytes_per_s", 1e9}, {"latency_us", 10}}}}};
}

/// The same with one op that only the host can run.
inline Json hosted_diamond_graph() {
  Json graph = diamond_graph();
  graph["ops"][2]["cost_us"] = {{"cpu", 100}};
  return graph;
}

/// A placement of the diamond: `devices` by op, in the order of diamond_graph.
inline Json diamond_placement(const std::vector<std::string>& devices) {
  const Json ops = diamond_graph()["ops"];
  Json assignment = Json::object();
  for (std::size_t i = 0; i < devices.size(); ++i) assignment[ops[i]["name"]] = devices[i];
  return {{"format", "berth.placement/1"},
          {"graph", "diamond"},
          {"devices", {"gpu:0", "gpu:1", "cpu:0"}},
          {"assignment", assignment}};
}

/// A folder with `diamond.graph.json`, `pair.cluster.json` and `split.json` (one chain per gpu).
class Workplace {
 public:
  Workplace() {
    write("diamond.graph.json", diamond_graph());
    write("pair.cluster.json", pair_cluster());
    write("split.json",
          diamond_placement({"gpu:0", "gpu:0", "gpu:0", "gpu:1", "gpu:1", "gpu:1", "gpu:0"}));
    settings.folder = folder_.path();
  }

  void write(const std::string& name, const Json& content) const {
    write_text(name, content.dump());
  }
  void write_text(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const {
    return folder_ / name;
  }
  /// Names of the files that are there, sorted.
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  /// Runs `berth ARGUMENTS` there.
  [[nodiscard]] ProcessResult berth(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), BERTH_COMMAND);
    return run_process(std::move(arguments), settings);
  }
  /// The same, which must succeed and print one JSON object.
  [[nodiscard]] Json berth_json(const std::vector<std::string>& arguments) const {
    const ProcessResult result = berth(arguments);
    CHECK(result.err == "");
    REQUIRE(result.status == 0);
    return Json::parse(result.out);
  }

  ProcessSettings settings;

 private:
  TemporaryFolder folder_;
};

}  // namespace berth::test
