#include "berth/sdk/measured_costs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "support/median.h"

namespace berth {
namespace {

std::shared_ptr<const Costs> roofline_for_the_rest(const Graph& graph, const Cluster& cluster,
                                                   const std::string& source) {
  try {
    return Costs::roofline(graph, cluster);
  } catch (const Error& error) {
    throw Error(error.code(),
                cat(source, ": measures not all ops on all kinds of devices; for the rest: ",
                    error.what()));
  }
}

}  // namespace

MeasuredCosts costs_of_measured(MeasuredTimes times, const Graph& graph, const Cluster& cluster,
                                const std::string& source) {
  std::string ops;
  bool complete = true;
  for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
    const auto& us = times.us[at(kind)];
    const auto measured =
        std::count_if(us.begin(), us.end(), [](double each) { return !std::isnan(each); });
    complete = complete && measured == graph.op_count();
    ops += cat(ops.empty() ? "" : ", ", measured, " on ", cluster.kind_name(kind));
  }
  MeasuredCosts made;
  made.note = cat("measured ops of ", graph.op_count(), ": ", ops,
                  complete ? "" : "; the rest cost what the roofline model says");
  std::vector<std::int64_t> workspace;
  if (!complete) {
    const auto roofline = roofline_for_the_rest(graph, cluster, source);
    for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
      for (OpId op = 0; op < graph.op_count(); ++op) {
        double& us = times.us[at(kind)][at(op)];
        if (std::isnan(us)) us = roofline->op_us(op, kind);
      }
    }
    for (OpId op = 0; op < graph.op_count(); ++op) {
      workspace.push_back(roofline->workspace_bytes(op));
    }
  }
  made.costs = Costs::of_step(
      std::make_shared<const Costs>(std::move(times.us), std::move(workspace), source), graph,
      cluster);
  return made;
}

MeasuredEvents::MeasuredEvents(const Graph& graph) : graph_(graph), us_(at(graph.op_count())) {}

void MeasuredEvents::add(std::string_view name, Where where, double us) {
  constexpr std::size_t kStrangersTold = 4;
  if (const auto op = graph_.find_op(name)) {
    us_[at(*op)][where].push_back(us);
  } else if (strangers_.size() < kStrangersTold) {
    strangers_.emplace(name);
  }
}

MeasuredCosts MeasuredEvents::costs(const Cluster& cluster, const std::string& source,
                                    std::string_view advice) const {
  MeasuredTimes measured(graph_, cluster);
  bool any = false;
  for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
    const Where where = cluster.kind_device(kind).host ? kOnHost : kOnGpu;
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      const auto& times = us_[at(op)];
      if (times[where].empty() || (where == kOnHost && !times[kOnGpu].empty())) continue;
      measured.us[at(kind)][at(op)] = median(times[where]);
      any = true;
    }
  }
  const auto launches = std::count_if(us_.begin(), us_.end(), [](const auto& times) {
    return !times[kOnHost].empty() && !times[kOnGpu].empty();
  });
  if (any) {
    MeasuredCosts made = costs_of_measured(std::move(measured), graph_, cluster, source);
    if (launches > 0) {
      made.note += cat("; of ", launches,
                       " ops that ran on a GPU the host's time is that of launching them and does "
                       "not count");
    }
    return made;
  }
  if (launches > 0) {
    throw Error(ErrorCode::invalid_file,
                cat(source, ": measures ops of graph '", graph_.name(),
                    "' on a GPU alone, of which cluster '", cluster.name(),
                    "' has none; record a step on the processor, or choose a cluster with a GPU"));
  }
  const std::string seen = join(std::vector<std::string>(strangers_.begin(), strangers_.end()), 4);
  throw Error(ErrorCode::invalid_file,
              cat(source, ": measures no op of graph '", graph_.name(),
                  "' on a kind of device of cluster '", cluster.name(), "'",
                  seen.empty() ? "" : cat("; its events are called ", seen), "; ", advice));
}

}  // namespace berth
