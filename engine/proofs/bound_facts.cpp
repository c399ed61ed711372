#include "proofs/bound_facts.h"

#include <algorithm>
#include <utility>

#include "berth/support/index.h"
#include "problem/op_time.h"

namespace berth::bounds {
Facts::Facts(const Problem& problem, std::function<bool()> should_stop)
    : problem_(problem), should_stop_(std::move(should_stop)), classes_(problem.finest_groups()) {
  const Cluster& cluster = problem.cluster();
  device_count_.assign(at(kind_count()), 0);
  for (DeviceId d = 0; d < cluster.device_count(); ++d) device_count_[at(cluster.kind_of(d))] += 1;

  const bool dataflow = problem.options().semantics == Semantics::dataflow;
  links_.assign(at(kind_count()) * at(kind_count()), {kCannotRun, 0, dataflow, dataflow});
  for (DeviceId src = 0; src < cluster.device_count(); ++src) {
    for (DeviceId dst = 0; dst < cluster.device_count(); ++dst) {
      if (src == dst) continue;
      const Route& route = cluster.route(src, dst);
      Link& link = links_[at(cluster.kind_of(src)) * at(kind_count()) + at(cluster.kind_of(dst))];
      // The placeto simulator knows none.
      link.latency_us = std::min(link.latency_us, dataflow ? route.latency_us : 0);
      link.bandwidth_bytes_per_s =
          std::max(link.bandwidth_bytes_per_s, route.bandwidth_bytes_per_s);
      const auto in_turn = [&](DeviceId end) {
        return !route.parallel && !cluster.device(end).engine_per_link;
      };
      link.sends_in_turn = link.sends_in_turn && in_turn(src);
      link.queues = link.queues && in_turn(dst);
    }
  }

  mark_forbidden();
  class_us_.assign(at(kind_count()) * at(classes_->count()), 0);
  for (KindId kind = 0; kind < kind_count(); ++kind) {
    for (OpId op = 0; op < graph().op_count(); ++op) {
      class_us_[at(kind) * at(classes_->count()) + at(classes_->of(op))] +=
          op_us(op, kind) + pause_us(op, kind);
    }
  }
}

/// A kind none of whose devices may hold a class is as good as one that cannot run it.
void Facts::mark_forbidden() {
  if (problem_.constraints() == nullptr) return;
  const Cluster& cluster = problem_.cluster();
  forbidden_.assign(at(kind_count()) * at(classes_->count()), true);
  for (GroupId group = 0; group < classes_->count(); ++group) {
    for (DeviceId d = 0; d < cluster.device_count(); ++d) {
      if (!problem_.constraints()->class_can_be_on(group, d)) continue;
      forbidden_[at(cluster.kind_of(d)) * at(classes_->count()) + at(group)] = false;
    }
  }
}

double Facts::op_us(OpId op, KindId kind) const noexcept {
  if (!forbidden_.empty() && forbidden_[at(kind) * at(classes_->count()) + at(classes_->of(op))]) {
    return kCannotRun;
  }
  return busy_us(problem_, op, kind);
}

double Facts::pause_us(OpId op, KindId kind) const noexcept {
  const bool pauses = problem_.options().objective == Objective::latency &&
                      problem_.options().semantics == Semantics::placeto &&
                      problem_.costs().op_us(op, kind) != 0;
  return pauses ? problem_.options().device_gap_us : 0;
}

std::vector<double> Facts::speeds() const {
  std::vector<double> fastest(at(kind_count()), 0), own(at(kind_count()), 0);
  for (OpId op = 0; op < graph().op_count(); ++op) {
    double least_us = kCannotRun;
    for (KindId kind = 0; kind < kind_count(); ++kind) {
      least_us = std::min(least_us, op_us(op, kind));
    }
    for (KindId kind = 0; kind < kind_count(); ++kind) {
      if (op_us(op, kind) == kCannotRun) continue;
      fastest[at(kind)] += least_us;
      own[at(kind)] += op_us(op, kind);
    }
  }
  std::vector<double> speeds(at(kind_count()), 0);
  for (KindId kind = 0; kind < kind_count(); ++kind) {
    if (own[at(kind)] > 0) speeds[at(kind)] = fastest[at(kind)] / own[at(kind)];
  }
  return speeds;
}

std::vector<double> Facts::weights_by_speed() const {
  constexpr double kLeast = 1e-9;  // of a kind that runs nothing
  std::vector<double> weights = speeds();
  double total = 0;
  for (KindId kind = 0; kind < kind_count(); ++kind) {
    weights[at(kind)] = std::max(weights[at(kind)], kLeast);
    total += weights[at(kind)] * devices_of(kind);
  }
  for (double& weight : weights) weight /= total;
  return weights;
}

double Facts::transfer_us(TensorId tensor, KindId src, KindId dst) const noexcept {
  const Link link = this->link(src, dst);
  if (link.bandwidth_bytes_per_s == 0) return kCannotRun;
  const double bytes = tensor == kNoTensor ? 0 : static_cast<double>(graph().bytes(tensor));
  // The simulator's own expressions, so that rounding cannot make the bound pass its result.
  if (problem_.options().semantics == Semantics::placeto) {
    return bytes / (link.bandwidth_bytes_per_s / 1e6);
  }
  return link.latency_us + bytes / link.bandwidth_bytes_per_s * 1e6;
}

bool Facts::counts_parameters() const noexcept {
  return problem_.options().semantics == Semantics::dataflow ||
         problem_.options().objective == Objective::throughput;
}

}  // namespace berth::bounds
