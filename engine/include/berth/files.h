// The engine's own file formats (DESIGN §8) and reports. All readers throw Error(invalid_file)
// naming the file, the place and the fix; all writers write to a temporary file beside the target
// and rename it, so that a target is whole or untouched, and throw Error(io).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "berth/cluster.h"
#include "berth/costs.h"
#include "berth/export.h"
#include "berth/graph.h"
#include "berth/options.h"
#include "berth/policy.h"
#include "berth/problem.h"
#include "berth/simulator.h"

namespace berth {

/// Whole file as bytes. Throws Error(not_found) or Error(io).
[[nodiscard]] BERTH_EXPORT std::string read_file(const std::filesystem::path& path);
/// Write, then rename. Throws Error(io) naming the path and the system's reason.
BERTH_EXPORT void write_file(const std::filesystem::path& path, std::string_view content);

/// berth.graph/1. An edge without "output" is a control edge. `origin` names the text in messages.
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Graph> parse_graph(std::string_view json,
                                                                    const std::string& origin);
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Graph> load_graph(
    const std::filesystem::path& path);
/// The graph with the costs of each kind, so that it can be placed without its model file.
[[nodiscard]] BERTH_EXPORT std::string graph_json(const Graph& graph, const Costs& costs,
                                                  const Cluster& cluster);

/// berth.costs/1: {"format", "graph", "kinds": [..], "ops": {"op name": {"kind": us}},
/// "workspace_bytes"?: {"op name": bytes}}. Every op of `graph` and no other; every kind of the
/// cluster is among "kinds", and a kind of those that an op lacks cannot run it.
/// A berth.graph/1 file is read too: the "cost_us" of its ops of the same names; ops of the file
/// that `graph` lacks do not matter there.
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Costs> parse_costs(std::string_view json,
                                                                    const std::string& origin,
                                                                    const Graph& graph,
                                                                    const Cluster& cluster);
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Costs> load_costs(
    const std::filesystem::path& path, const Graph& graph, const Cluster& cluster);
[[nodiscard]] BERTH_EXPORT std::string costs_json(const Graph& graph, const Costs& costs,
                                                  const Cluster& cluster);

/// berth.cluster/1.
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Cluster> parse_cluster(std::string_view json,
                                                                        const std::string& origin);
/// A preset's name, or the path of a berth.cluster/1 file (anything with a '/' or a '.').
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Cluster> load_cluster(
    const std::string& preset_or_path);
[[nodiscard]] BERTH_EXPORT std::string cluster_json(const Cluster& cluster);

/// Where a placement came from.
struct Provenance {
  std::string policy;
  std::map<std::string, OptionValue, std::less<>> options;
  std::uint64_t seed = 0;
};

/// berth.placement/1. Reading checks it against the graph and the cluster: every op, no other op,
/// known devices.
[[nodiscard]] BERTH_EXPORT Placement parse_placement(std::string_view json,
                                                     const std::string& origin, const Graph& graph,
                                                     const Cluster& cluster);
[[nodiscard]] BERTH_EXPORT Placement load_placement(const std::filesystem::path& path,
                                                    const Graph& graph, const Cluster& cluster);
/// `evaluation` and `provenance` may be null.
[[nodiscard]] BERTH_EXPORT std::string placement_json(const Graph& graph, const Cluster& cluster,
                                                      const Placement& placement,
                                                      const Evaluation* evaluation,
                                                      const Provenance* provenance);

/// The step in the Chrome trace event format that Perfetto and chrome://tracing open: a row per
/// device and per link, transfers tied to their producers, memory as counters.
[[nodiscard]] BERTH_EXPORT std::string trace_json(const Problem& problem,
                                                  const Placement& placement,
                                                  const StepTrace& trace);

/// The same as a picture: a self-contained SVG with a row per device and per link, the critical
/// path on top, names and times as tooltips. Of more than 24 links the busiest are shown.
[[nodiscard]] BERTH_EXPORT std::string timeline_svg(const Problem& problem,
                                                    const Placement& placement,
                                                    const StepTrace& trace);

}  // namespace berth
