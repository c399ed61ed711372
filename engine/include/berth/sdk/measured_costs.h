/// @file
/// Costs from times that another tool measured, for some ops of a graph.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/cluster.h"
#include "berth/costs.h"
#include "berth/export.h"
#include "berth/graph.h"

namespace berth {

inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

/// Times of ops as they were measured: `us[kind][op]`, kNotMeasured where nothing was.
struct MeasuredTimes {
  std::vector<std::vector<double>> us;

  MeasuredTimes(const Graph& graph, const Cluster& cluster)
      : us(static_cast<std::size_t>(cluster.kind_count()),
           std::vector<double>(static_cast<std::size_t>(graph.op_count()), kNotMeasured)) {}
};

struct MeasuredCosts {
  std::shared_ptr<const Costs> costs;
  std::string note;  ///< "measured ops of 120: 118 on cpu, 0 on gpu; the rest ..."
};

/// Ops without a measurement cost what Costs::roofline says. `source` is the file of the times, for
/// messages. Throws what Costs::roofline throws, where it is needed.
[[nodiscard]] BERTH_EXPORT MeasuredCosts costs_of_measured(MeasuredTimes times, const Graph& graph,
                                                           const Cluster& cluster,
                                                           const std::string& source);

/// Collects the durations of single events of a profile: an op that ran several times has several.
/// [thread-compatible]
class BERTH_EXPORT MeasuredEvents {
 public:
  /// `graph` must outlive the events.
  explicit MeasuredEvents(const Graph& graph);

  enum Where : std::uint8_t { kOnHost, kOnGpu };

  /// An event counts for the op that has its name; others are ignored. `us` >= 0.
  void add(std::string_view name, Where where, double us);

  /// The median of each op's events: those on the host for the kinds that are hosts, those on a GPU
  /// for all other kinds. An op with events on a GPU only launched them on the host, in a time that is
  /// none of its own there: it has none for hosts, and the note says so. Throws Error(invalid_file)
  /// where none is of an op of the graph on a kind of the cluster, with `advice` at the end ("mark ops
  /// by their names"); else as costs_of_measured.
  [[nodiscard]] MeasuredCosts costs(const Cluster& cluster, const std::string& source,
                                    std::string_view advice) const;

 private:
  const Graph& graph_;
  std::vector<std::array<std::vector<double>, 2>> us_;  // by op and place
  std::set<std::string, std::less<>> strangers_;        // some names that no op has
};

}  // namespace berth
