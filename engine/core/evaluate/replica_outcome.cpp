// What the steps of replicas show.
#include <algorithm>

#include "berth/outcome.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "support/units.h"

namespace berth {

ReplicaTimes replica_times(const Outcome& outcome) {
  const ReplicaFigures& figures = *outcome.replicas;
  const StepTrace& trace = outcome.trace;
  ReplicaTimes times;
  times.computed_us.assign(figures.replicas.size(), 0);
  const Graph& graph = outcome.problem->graph();
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (!figures.reduces[at(op)]) continue;
    times.reduced_us = std::max(times.reduced_us, trace.op_end_us[at(op)]);
    for (const Edge& edge : graph.in_edges(op)) {
      if (figures.reduces[at(edge.src)] || edge.tensor == kNoTensor) continue;
      double& computed = times.computed_us[at(figures.replica_of[at(edge.src)])];
      computed = std::max(computed, trace.op_end_us[at(edge.src)]);
    }
  }
  for (const CriticalStep& step : trace.critical_path) {
    OpId op = step.op;
    if (op == kNoOp) {
      const TensorId tensor = trace.transfers[static_cast<std::size_t>(step.transfer)].tensor;
      op = tensor == kNoTensor ? kNoOp : graph.producer(tensor);
    }
    if (op != kNoOp && figures.reduces[at(op)]) times.waits_us += step.end_us - step.start_us;
  }
  return times;
}

std::vector<std::string> replica_lines(const Outcome& outcome) {
  std::vector<std::string> lines;
  if (outcome.replicas == nullptr) return lines;
  const ReplicaFigures& figures = *outcome.replicas;
  const Cluster& cluster = outcome.problem->cluster();
  const ReplicaTimes times = replica_times(outcome);
  for (std::size_t r = 0; r < figures.replicas.size(); ++r) {
    std::string line =
        cat("replica ", r, " on ", join(device_names(cluster, figures.replicas[r].devices)), ": ",
            figures.replicas[r].share, " of ", figures.batch, " samples");
    if (figures.replicas.size() > 1) {
      line += cat(", its last gradient after ", format_us(times.computed_us[r]));
    }
    lines.push_back(std::move(line));
  }
  if (figures.replicas.size() < 2) return lines;
  lines.push_back(cat("reduction: ", figures.gradients, " gradients, ",
                      format_bytes(figures.gradient_bytes), " summed and ",
                      format_bytes(figures.gathered_bytes), " gathered in ", figures.buckets,
                      " buckets, done after ", format_us(times.reduced_us),
                      "; the step waits for it ", format_us(times.waits_us)));
  return lines;
}

}  // namespace berth
