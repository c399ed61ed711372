/// @file
/// The engine's own file formats, and reports.
///
/// Every format has a page of its own with all keys, units and ranges: share/berth/formats.
/// Readers throw Error(invalid_file) naming the file, the place and the fix. Writers write a
/// temporary file beside the target and rename it, so the target is either complete or untouched;
/// they throw Error(io). `origin` names the text in messages.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "berth/bounds.h"
#include "berth/cluster.h"
#include "berth/costs.h"
#include "berth/export.h"
#include "berth/graph.h"
#include "berth/outcome.h"
#include "berth/problem.h"
#include "berth/simulator.h"

namespace berth {

/// The content of a file. Throws Error(not_found) or Error(io).
[[nodiscard]] BERTH_EXPORT std::string read_file(const std::filesystem::path& path);
/// The same, decompressed where it is gzip's. Throws also Error(invalid_file) for damaged gzip, and
/// for a pointer of Git LFS in the place of the file.
[[nodiscard]] BERTH_EXPORT std::string read_text(const std::filesystem::path& path);
/// Throws Error(invalid_file), saying how to get the file itself, where `content` is such a pointer.
BERTH_EXPORT void refuse_lfs_pointer(std::string_view content, const std::string& file);
/// Writes a temporary file, then renames it, behind links and with the permissions of the old file.
/// Throws Error(io) naming the path and the system's reason.
BERTH_EXPORT void write_file(const std::filesystem::path& path, std::string_view content);

/// Reads berth.graph/1. An edge without "output" is a control edge.
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Graph> parse_graph(std::string_view json,
                                                                    const std::string& origin);
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Graph> load_graph(
    const std::filesystem::path& path);
/// Writes berth.graph/1 with the costs of each kind, so that it can be placed without the model.
[[nodiscard]] BERTH_EXPORT std::string graph_json(const Graph& graph, const Costs& costs,
                                                  const Cluster& cluster);

/// Reads berth.costs/1. It must name every op of `graph` and no other, and every kind of `cluster`.
/// A kind for which an op has no cost cannot run it. A berth.graph/1 file works too: the "cost_us"
/// of its ops with the same names; ops that `graph` lacks are ignored then.
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Costs> parse_costs(std::string_view json,
                                                                    const std::string& origin,
                                                                    const Graph& graph,
                                                                    const Cluster& cluster);
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Costs> load_costs(
    const std::filesystem::path& path, const Graph& graph, const Cluster& cluster);
[[nodiscard]] BERTH_EXPORT std::string costs_json(const Graph& graph, const Costs& costs,
                                                  const Cluster& cluster);

/// Reads berth.cluster/1.
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Cluster> parse_cluster(std::string_view json,
                                                                        const std::string& origin);
/// A preset by name, or a berth.cluster/1 file by path (any text with a '/' or a '.').
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Cluster> load_cluster(
    const std::string& preset_or_path);
[[nodiscard]] BERTH_EXPORT std::string cluster_json(const Cluster& cluster);

/// Reads berth.placement/1 and checks it against the graph and the cluster: it must name every op,
/// no other op, and known devices only.
[[nodiscard]] BERTH_EXPORT Placement parse_placement(std::string_view json,
                                                     const std::string& origin, const Graph& graph,
                                                     const Cluster& cluster);
[[nodiscard]] BERTH_EXPORT Placement load_placement(const std::filesystem::path& path,
                                                    const Graph& graph, const Cluster& cluster);
/// `evaluation` and `origin` may be null. An origin without a policy gives its settings alone.
[[nodiscard]] BERTH_EXPORT std::string placement_json(const Graph& graph, const Cluster& cluster,
                                                      const Placement& placement,
                                                      const Evaluation* evaluation,
                                                      const Origin* origin);

/// Writes berth.certificate/1: a proof that no feasible placement of `problem` is better than the
/// certificate's bound, with all of the problem that the proof uses.
[[nodiscard]] BERTH_EXPORT std::string certificate_json(const Problem& problem,
                                                        const Certificate& certificate);

/// The step in the Chrome trace event format, which Perfetto and chrome://tracing open: one row per
/// device and per link, transfers linked to their producers, memory as counters.
[[nodiscard]] BERTH_EXPORT std::string trace_json(const Problem& problem,
                                                  const Placement& placement,
                                                  const StepTrace& trace);

/// The step as a self-contained SVG: one row per device and per link, the critical path on top,
/// names and times as tooltips. Of more than 24 links, the busiest 24 are shown.
[[nodiscard]] BERTH_EXPORT std::string timeline_svg(const Problem& problem,
                                                    const Placement& placement,
                                                    const StepTrace& trace);

}  // namespace berth
