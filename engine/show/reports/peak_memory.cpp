#include "reports/peak_memory.h"

#include <algorithm>
#include <map>
#include <utility>

#include "berth/graph.h"
#include "berth/support/index.h"

namespace berth::reports {
namespace {

/// When a tensor is on a device.
struct Stay {
  double from_us = 0;
  double to_us = 0;
  bool instant = false;  ///< what needed it last took no time: it was there at to_us
};

class Holders {
 public:
  Holders(const Problem& problem, const Placement& placement, const StepTrace& trace)
      : problem_(problem),
        graph_(problem.graph()),
        cluster_(problem.cluster()),
        costs_(problem.costs()),
        dataflow_(problem.options().semantics == Semantics::dataflow),
        placement_(placement),
        trace_(trace),
        found_(trace.devices.size()),
        over_us_(trace.op_end_us),
        over_at_once_(trace.op_end_us.size()) {}

  std::vector<PeakHoldings> find() {
    for (std::size_t d = 0; d < found_.size(); ++d) {
      found_[d].param_bytes = trace_.devices[d].param_bytes;
    }
    find_sends();
    follow_views();
    add_copies();
    for (OpId op = 0; op < graph_.op_count(); ++op) add_outputs(op);
    for (PeakHoldings& device : found_) {
      std::stable_sort(device.holdings.begin(), device.holdings.end(),
                       [](const Holding& a, const Holding& b) { return a.bytes > b.bytes; });
    }
    return std::move(found_);
  }

 private:
  using Copy = std::pair<TensorId, DeviceId>;

  void find_sends() {
    for (const Transfer& transfer : trace_.transfers) {
      if (transfer.tensor == kNoTensor) continue;
      double& sent_us = sent_us_[transfer.tensor];
      sent_us = std::max(sent_us, transfer.end_us);
    }
  }

  /// A view needs its inputs until its outputs are gone.
  void follow_views() {
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      over_at_once_[at(op)] = trace_.op_start_us[at(op)] == trace_.op_end_us[at(op)];
    }
    const auto order = graph_.topological_order();
    for (auto op = order.rbegin(); op != order.rend(); ++op) {
      if (!problem_.is_view(*op)) continue;
      for (const TensorId tensor : graph_.outputs(*op)) {
        const Stay held = output_stay(*op, tensor);
        if (held.to_us >= over_us_[at(*op)]) over_at_once_[at(*op)] = held.instant;
        over_us_[at(*op)] = std::max(over_us_[at(*op)], held.to_us);
      }
    }
  }

  /// From `from_us` until the last consumer on the device has ended, `to_us` at the earliest.
  [[nodiscard]] Stay stay(double from_us, double to_us, OpId producer, TensorId tensor,
                          DeviceId device) const {
    Stay stay{from_us, to_us, from_us == to_us};
    for (const Edge& edge : graph_.out_edges(producer)) {
      if (edge.tensor != tensor || placement_[at(edge.dst)] != device) continue;
      const TensorId kept = problem_.overwritten(edge.dst);
      const bool to_its_end = kept != kNoTensor && kept != tensor;
      const double end_us = to_its_end ? trace_.op_end_us[at(edge.dst)] : over_us_[at(edge.dst)];
      const bool instant =
          to_its_end ? trace_.op_start_us[at(edge.dst)] == end_us : over_at_once_[at(edge.dst)];
      if (end_us > stay.to_us) stay.instant = false;
      if (end_us >= stay.to_us) stay.instant = stay.instant || instant;
      stay.to_us = std::max(stay.to_us, end_us);
    }
    return stay;
  }

  void hold(DeviceId device, Stay stay, const Holding& holding) {
    if (dataflow_) device = cluster_.works_in(device);
    const double peak_us = trace_.devices[at(device)].peak_us;
    const bool gone = stay.to_us < peak_us || (stay.to_us == peak_us && !stay.instant);
    if (holding.bytes <= 0 || stay.from_us > peak_us || gone) return;
    found_[at(device)].holdings.push_back(holding);
  }

  void add_copies() {
    for (const Transfer& transfer : trace_.transfers) {
      if (transfer.tensor == kNoTensor || transfer.dst == kNoDevice) continue;
      hold(transfer.dst,
           stay(transfer.start_us, transfer.end_us, transfer.producer, transfer.tensor,
                transfer.dst),
           {transfer.producer, Holding::What::copy, transfer.bytes});
    }
  }

  [[nodiscard]] Stay output_stay(OpId op, TensorId tensor) const {
    const double start_us = trace_.op_start_us[at(op)];
    if (dataflow_ && (graph_.is_input(op) || graph_.is_result(tensor))) {
      return {graph_.is_input(op) ? 0 : start_us, trace_.runtime_us, true};
    }
    Stay held = stay(start_us, trace_.op_end_us[at(op)], op, tensor, placement_[at(op)]);
    const auto sent = sent_us_.find(tensor);
    if (sent != sent_us_.end() && sent->second > held.to_us) held = {start_us, sent->second};
    return held;
  }

  [[nodiscard]] bool is_state(TensorId tensor) const {
    return std::any_of(graph_.states().begin(), graph_.states().end(),
                       [&](const Graph::State& state) { return state.result == tensor; });
  }

  void add_outputs(OpId op) {
    const DeviceId device = placement_[at(op)];
    if (!graph_.is_constant(op) && !problem_.is_view(op)) {
      // An output in the place of an input is the input's.
      std::int64_t reused = dataflow_ ? graph_.reused_bytes(op) : 0;
      for (const TensorId tensor : graph_.outputs(op)) {
        std::int64_t bytes = graph_.bytes(tensor);
        if (reused > 0 && is_state(tensor)) {
          const std::int64_t in_place = std::min(reused, bytes);
          reused -= in_place;
          bytes -= in_place;
        }
        hold(device, output_stay(op, tensor), {op, Holding::What::output, bytes});
      }
    }
    if (!dataflow_) return;
    const double start_us = trace_.op_start_us[at(op)];
    const double end_us = trace_.op_end_us[at(op)];
    hold(device, {start_us, end_us, start_us == end_us},
         {op, Holding::What::workspace, costs_.workspace_bytes(op)});
  }

  const Problem& problem_;
  const Graph& graph_;
  const Cluster& cluster_;
  const Costs& costs_;
  const bool dataflow_;
  const Placement& placement_;
  const StepTrace& trace_;
  std::map<TensorId, double> sent_us_;  // when the last transfer of the tensor is done
  std::vector<PeakHoldings> found_;
  std::vector<double> over_us_;     // by op: until when it needs what it reads
  std::vector<bool> over_at_once_;  // by op: what needs that last took no time
};

}  // namespace

std::vector<PeakHoldings> holdings_at_peaks(const Problem& problem, const Placement& placement,
                                            const StepTrace& trace) {
  return Holders(problem, placement, trace).find();
}

}  // namespace berth::reports
