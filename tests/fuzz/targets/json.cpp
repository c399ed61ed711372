// Any text as one of the engine's own files: the format that it names decides which reader sees it.
#include <cstddef>
#include <cstdint>
#include <string>

#include "berth/files.h"
#include "input_file.h"
#include "refused.h"

namespace {

constexpr const char* kGraph = R"({"format": "berth.graph/1", "name": "pair", "ops": [
  {"name": "a", "type": "A", "cost_us": {"gpu": 1, "cpu": 2}, "output_bytes": [8]},
  {"name": "b", "type": "B", "cost_us": {"gpu": 3, "cpu": 4}, "output_bytes": []}],
  "edges": [{"src": 0, "output": 0, "dst": 1}]})";
constexpr const char* kCluster = R"({"format": "berth.cluster/1", "name": "two", "devices": [
  {"name": "gpu:0", "kind": "gpu"}, {"name": "cpu:0", "kind": "cpu", "host": true}],
  "links": [{"src": "*", "dst": "*", "bandwidth_bytes_per_s": 1e9, "latency_us": 1}]})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  static const auto graph = parse_graph(kGraph, "graph");
  static const auto cluster = parse_cluster(kCluster, "cluster");
  const std::string_view text = test::text_of(data, size);
  const auto names = [text](std::string_view format) {
    return text.find(format) != std::string_view::npos;
  };
  test::refused([&] {
    if (names("berth.cluster/")) {
      static_cast<void>(cluster_json(*parse_cluster(text, "input")));
    } else if (names("berth.costs/")) {
      static_cast<void>(
          costs_json(*graph, *parse_costs(text, "input", *graph, *cluster), *cluster));
    } else if (names("berth.placement/")) {
      static_cast<void>(parse_placement(text, "input", *graph, *cluster));
    } else {
      static_cast<void>(parse_graph(text, "input"));
    }
  });
  return 0;
}
