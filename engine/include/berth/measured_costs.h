/// @file
/// Costs from times that another tool measured, for some ops of a graph.
#pragma once

#include <limits>
#include <memory>
#include <string>
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

/// What was not measured costs what Costs::roofline says. `source` is the file of the times, for
/// messages. Throws what Costs::roofline throws, where it is needed.
[[nodiscard]] BERTH_EXPORT MeasuredCosts costs_of_measured(MeasuredTimes times, const Graph& graph,
                                                           const Cluster& cluster,
                                                           const std::string& source);

}  // namespace berth
