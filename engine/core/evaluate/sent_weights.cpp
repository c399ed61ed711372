#include "evaluate/sent_weights.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "berth/graph.h"
#include "berth/support/index.h"

namespace berth {
namespace {

/// A tensor that stands for all weights of the op: its largest parameter. Where the graph states their bytes
/// alone, what the op makes of them.
TensorId shown_tensor(const Graph& graph, OpId op) {
  const auto parameters = graph.parameters(op);
  const auto largest =
      std::max_element(parameters.begin(), parameters.end(),
                       [&](TensorId a, TensorId b) { return graph.bytes(a) < graph.bytes(b); });
  if (largest != parameters.end()) return *largest;
  return graph.outputs(op).empty() ? kNoTensor : graph.outputs(op).front();
}

class SentWeights {
 public:
  explicit SentWeights(Outcome& outcome)
      : outcome_(outcome),
        problem_(*outcome.problem),
        trace_(outcome.trace),
        sent_(at(problem_.graph().op_count()), -1) {}

  void show() {
    show_workers();
    for (OpId op = 0; op < problem_.graph().op_count(); ++op) show(op);
    for (DeviceId d = 0; d < problem_.cluster().device_count(); ++d) {
      if (problem_.cluster().works_in(d) != d) show_idle(d);
    }
    show_critical_path();
    sort_transfers();
    std::sort(trace_.links.begin(), trace_.links.end(), [](const LinkUsage& a, const LinkUsage& b) {
      return std::pair(a.src, a.dst) < std::pair(b.src, b.dst);
    });
  }

 private:
  /// Tensors are where they are worked with: on the way from a host to its worker nothing is sent.
  void show_workers() {
    const Cluster& cluster = problem_.cluster();
    std::vector<Transfer> kept;
    std::vector<std::int32_t> place;
    for (Transfer transfer : trace_.transfers) {
      transfer.src = cluster.works_in(transfer.src);
      if (transfer.dst != kNoDevice) transfer.dst = cluster.works_in(transfer.dst);
      const bool stays = transfer.src == transfer.dst;
      place.push_back(stays ? -1 : static_cast<std::int32_t>(kept.size()));
      if (!stays) kept.push_back(transfer);
    }
    trace_.transfers = std::move(kept);
    number_steps(place);
    for (const LinkUsage& link : std::exchange(trace_.links, {})) {
      const DeviceId src = cluster.works_in(link.src);
      const DeviceId dst = link.dst == kNoDevice ? kNoDevice : cluster.works_in(link.dst);
      if (src != dst) add_usage({src, dst, link.bytes, link.transfers, link.busy_us});
    }
  }

  /// Numbers the transfers of the critical path anew; those of -1 leave it.
  void number_steps(const std::vector<std::int32_t>& place) {
    std::erase_if(trace_.critical_path, [&](CriticalStep& step) {
      if (step.op != kNoOp) return false;
      step.transfer = place[at(step.transfer)];
      return step.transfer < 0;
    });
  }

  /// The time for which the op waits for its weights.
  [[nodiscard]] double sending_us(OpId op, DeviceId host, DeviceId worker) const {
    const Cluster& cluster = problem_.cluster();
    const double there = problem_.costs().op_us(op, cluster.kind_of(host));
    const double here = problem_.costs().op_us(op, cluster.kind_of(worker));
    return there < kCannotRun && here < there ? there - here : 0;
  }

  void show(OpId op) {
    const DeviceId host = outcome_.placement[at(op)];
    const DeviceId worker = problem_.cluster().works_in(host);
    if (worker == host) return;
    double& start_us = trace_.op_start_us[at(op)];
    const double end_us = trace_.op_end_us[at(op)];
    const TensorId weights = shown_tensor(problem_.graph(), op);
    double us = 0;
    if (weights != kNoTensor) us = std::min(sending_us(op, host, worker), end_us - start_us);
    add_busy(worker, end_us - start_us - us);
    if (us <= 0) return;
    sent_[at(op)] = static_cast<std::int32_t>(trace_.transfers.size());
    trace_.transfers.push_back({weights, op, host, worker, problem_.graph().param_bytes(op),
                                start_us, start_us, start_us + us});
    add_usage({host, worker, problem_.graph().param_bytes(op), 1, us});
    start_us += us;
  }

  void add_busy(DeviceId device, double us) {
    trace_.devices[at(device)].busy_us += us;
    trace_.devices[at(device)].idle_us -= us;
    if (is_latency()) outcome_.evaluation.busy_us[at(device)] += us;
  }

  void show_idle(DeviceId host) {
    trace_.devices[at(host)].busy_us = 0;
    trace_.devices[at(host)].idle_us = trace_.runtime_us;
    if (is_latency()) outcome_.evaluation.busy_us[at(host)] = 0;
  }

  /// Else busy_us is the load of a pipeline, which stays where the search has it.
  [[nodiscard]] bool is_latency() const {
    return problem_.options().objective == Objective::latency;
  }

  void add_usage(const LinkUsage& usage) {
    auto link = std::find_if(trace_.links.begin(), trace_.links.end(), [&](const LinkUsage& each) {
      return each.src == usage.src && each.dst == usage.dst;
    });
    if (link == trace_.links.end()) {
      trace_.links.push_back(usage);
      return;
    }
    link->bytes += usage.bytes;
    link->transfers += usage.transfers;
    link->busy_us += usage.busy_us;
  }

  void show_critical_path() {
    std::vector<CriticalStep> path;
    for (CriticalStep step : trace_.critical_path) {
      const std::int32_t sent = step.op == kNoOp ? -1 : sent_[at(step.op)];
      if (sent >= 0) {
        const double there_us = trace_.transfers[at(sent)].end_us;
        const bool waited = step.reason == CriticalStep::Reason::device_busy;
        path.push_back({kNoOp, sent, step.start_us, there_us,
                        waited ? CriticalStep::Reason::link_busy : step.reason});
        step.start_us = there_us;
        step.reason = CriticalStep::Reason::input;
      }
      path.push_back(step);
    }
    trace_.critical_path = std::move(path);
  }

  /// Sorted by start, then sender, as a trace has them.
  void sort_transfers() {
    std::vector<std::int32_t> order(trace_.transfers.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
      const Transfer &x = trace_.transfers[at(a)], &y = trace_.transfers[at(b)];
      return std::pair(x.start_us, x.src) < std::pair(y.start_us, y.src);
    });
    std::vector<Transfer> sorted;
    std::vector<std::int32_t> place(order.size());
    for (const std::int32_t i : order) {
      place[at(i)] = static_cast<std::int32_t>(sorted.size());
      sorted.push_back(trace_.transfers[at(i)]);
    }
    trace_.transfers = std::move(sorted);
    number_steps(place);
  }

  Outcome& outcome_;
  const Problem& problem_;
  StepTrace& trace_;
  std::vector<std::int32_t> sent_;  // by op: the transfer of its weights; -1 = none
};

}  // namespace

void show_sent_weights(Outcome& outcome) {
  if (outcome.problem->cluster().has_keepers()) SentWeights(outcome).show();
}

}  // namespace berth
