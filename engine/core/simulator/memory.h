// Memory of one simulated step, by the rules of both semantics.
//
// dataflow; at every instant, memory is freed by what ends before it is taken by what starts:
//   parameters   resident on the devices of the ops that read them; a shared one once per device;
//   inputs       of the model: where their ops are, from the start of the step to its end;
//   outputs      from the op's start until its last consumer on the device has ended and its last
//                transfer is done; an output without consumers until the op's end; what the step
//                returns until the step's end; those of a view (Problem::is_view) take nothing, and what it
//                reads stays as long as they do; of one that writes over an input, that input alone;
//   copies       on a receiving device, from the transfer's start until the tensor's last consumer
//                there has ended;
//   workspace    while the op runs.
// All but parameters are where ops work (Cluster::works_in).
//
// placeto, as in the released simulator: only outputs count, on the op's own device. They are held
// from the op's start until the latest (consumer's start + consumer's cost - 1, each rounded
// towards zero) of all its consumers, or until its own start if that is later. At the same instant,
// what is taken counts before what is freed.
#pragma once

#include <cassert>
#include <cstdint>
#include <span>
#include <vector>

#include "simulator/observer.h"
#include "simulator/plan.h"

namespace berth::simulator {

/// The highest use of one device's memory.
struct Peak {
  std::int64_t bytes = 0;
  double us = 0;    ///< when it is first reached
  OpId op = kNoOp;  ///< the op that started then, or whose input began to arrive; kNoOp: what is
                    ///< there before the step starts
};

struct MemoryScratch {
  std::vector<std::int64_t> usage_bytes;  ///< by device
  std::vector<Peak> peaks;                ///< by device
  // dataflow
  /// Ops and transfers that still need a tensor: by message for the tensor at home, then by
  /// transfer number for its copies.
  std::vector<std::uint32_t> holders;
  std::vector<std::uint32_t> held_message;    ///< by transfer number
  std::vector<std::uint32_t> holder_of_edge;  ///< by position in Plan::consumers
  std::vector<std::uint32_t> kept_by_view;    ///< by Index: what still is of Plan::kept_by_view
  std::vector<Index> over;                    ///< views that are over, whose inputs are let go
  // placeto
  std::vector<double> row_start_us;
  std::vector<std::int64_t> row_bytes;
  std::vector<std::uint32_t> marks;  ///< by device
};

/// Parameters and inputs of the model on each device, into `scratch.usage_bytes`.
void resident_tensors(const Plan& plan, std::span<const DeviceId> placement,
                      MemoryScratch& scratch);
/// The parameters alone.
void resident_parameters(const Plan& plan, std::span<const DeviceId> placement,
                         MemoryScratch& scratch);

/// Observes a dataflow step and fills scratch.peaks. Calls `log(device, us, bytes)` at every
/// change.
template <typename Log>
class DataflowMemory : public NoObserver {
 public:
  DataflowMemory(const Plan& plan, std::span<const DeviceId> placement,
                 const std::vector<std::uint32_t>& state, MemoryScratch& scratch, Log log)
      : plan_(plan), state_(state), scratch_(scratch), log_(log) {
    resident_tensors(plan, placement, scratch);
    scratch.peaks.assign(plan.device_count, {});
    for (std::uint32_t d = 0; d < plan.device_count; ++d) {
      scratch.peaks[d].bytes = scratch.usage_bytes[d];
      log_(d, 0.0, scratch.usage_bytes[d]);
    }
    const std::size_t edges = plan.consumers.size();
    scratch.holders.assign(plan.messages.size() + edges, 0);
    scratch.held_message.resize(edges);
    scratch.holder_of_edge.resize(edges);
    scratch.kept_by_view = plan.kept_by_view;
    scratch.over.reserve(plan.views.size());
  }

  void op_started(Index op, std::uint32_t d, double start_us, double /*end_us*/) {
    take(d, plan_.taken_bytes[op] + plan_.workspace_bytes[op], start_us, op);
  }

  void op_ended(Index op, std::uint32_t d, double now_us) {
    std::int64_t freed = plan_.workspace_bytes[op] + plan_.unread_bytes[op];
    const OpRow& row = plan_.rows[op];
    for (std::uint32_t m = row.first_message; m < row.first_message + row.message_count; ++m) {
      if (plan_.message_bytes[m] != 0) scratch_.holders[m] += hold(m, d, m);
    }
    const bool keeps = !plan_.views.empty() && scratch_.kept_by_view[op] != 0;
    freed += keeps ? let_go_of_others(op) : let_go(op);
    give(d, freed + let_go_of_views(), now_us);
  }

  void transfer_queued(std::uint32_t, std::uint32_t message, std::uint32_t, DeviceId, double) {
    ++scratch_.holders[message];
  }

  void transfer_started(std::uint32_t number, std::uint32_t message, std::uint32_t,
                        DeviceId receiver, double start_us, double) {
    if (plan_.message_bytes[message] == 0) return;
    const auto holder = static_cast<std::uint32_t>(plan_.messages.size()) + number;
    const auto d = static_cast<std::uint32_t>(receiver);
    scratch_.held_message[number] = message;
    scratch_.holders[holder] = hold(message, d, holder);
    take(d, plan_.message_bytes[message], start_us, first_consumer(message, d));
  }

  void transfer_ended(std::uint32_t, std::uint32_t message, std::uint32_t sender, DeviceId,
                      double now_us) {
    give(sender, drop(message) + let_go_of_views(), now_us);
  }

 private:
  /// Lets the consumers of `message` on `d` hold it as `holder`. Returns their number.
  std::uint32_t hold(std::uint32_t message, std::uint32_t d, std::uint32_t holder) {
    std::uint32_t count = 0;
    const Message& held = plan_.messages[message];
    for (std::uint32_t e = held.begin; e < held.end; ++e) {
      if ((state_[plan_.consumers[e]] & kDeviceMask) != d) continue;
      scratch_.holder_of_edge[e] = holder;
      ++count;
    }
    return count;
  }

  /// One that held it does no more. Returns what that frees.
  std::int64_t drop(std::uint32_t holder) {
    assert(scratch_.holders[holder] > 0);
    if (--scratch_.holders[holder] != 0) return 0;
    if (!plan_.views.empty() && holder < plan_.messages.size() &&
        plan_.message_bytes[holder] != 0) {
      const Index producer = plan_.message_producer[holder];
      std::uint32_t& kept = scratch_.kept_by_view[producer];
      if (kept != 0 && --kept == 0) scratch_.over.push_back(producer);
    }
    return bytes_of(holder);
  }

  /// The op holds its inputs no more. Returns what that frees.
  std::int64_t let_go(Index op) {
    std::int64_t freed = 0;
    for (std::uint32_t i = plan_.input_begin[op]; i < plan_.input_begin[op + 1]; ++i) {
      freed += drop(scratch_.holder_of_edge[plan_.input_edges[i]]);
    }
    return freed;
  }

  /// The same for the inputs that a view does not keep, and no others.
  std::int64_t let_go_of_others(Index view) {
    if (plan_.overwritten[view] == kNoMessage) return 0;
    std::int64_t freed = 0;
    for (std::uint32_t i = plan_.input_begin[view]; i < plan_.input_begin[view + 1]; ++i) {
      const std::uint32_t edge = plan_.input_edges[i];
      if (!plan_.keeps(view, edge)) freed += drop(scratch_.holder_of_edge[edge]);
    }
    return freed;
  }

  /// The views whose outputs are gone hold what they kept no more; it may be views' outputs.
  std::int64_t let_go_of_views() {
    std::int64_t freed = 0;
    while (!scratch_.over.empty()) {
      const Index view = scratch_.over.back();
      scratch_.over.pop_back();
      if (plan_.overwritten[view] == kNoMessage) {
        freed += let_go(view);
      } else {
        freed += drop(scratch_.holder_of_edge[kept_edge(view)]);
      }
    }
    return freed;
  }

  /// The edge by which a view reads what it writes over.
  [[nodiscard]] std::uint32_t kept_edge(Index view) const {
    std::uint32_t i = plan_.input_begin[view];
    while (!plan_.keeps(view, plan_.input_edges[i])) ++i;
    return plan_.input_edges[i];
  }

  [[nodiscard]] Index first_consumer(std::uint32_t message, std::uint32_t d) const {
    std::uint32_t e = plan_.messages[message].begin;
    while ((state_[plan_.consumers[e]] & kDeviceMask) != d) ++e;
    return plan_.consumers[e];
  }

  /// What is free once nobody holds it any more.
  [[nodiscard]] std::int64_t bytes_of(std::uint32_t holder) const {
    const auto messages = static_cast<std::uint32_t>(plan_.messages.size());
    return holder < messages ? plan_.home_bytes[holder]
                             : plan_.message_bytes[scratch_.held_message[holder - messages]];
  }

  void take(std::uint32_t d, std::int64_t bytes, double now_us, Index op) {
    if (bytes == 0) return;
    d = plan_.works_in[d];
    const std::int64_t usage = scratch_.usage_bytes[d] += bytes;
    if (usage > scratch_.peaks[d].bytes) scratch_.peaks[d] = {usage, now_us, plan_.ids[op]};
    log_(d, now_us, usage);
  }

  void give(std::uint32_t d, std::int64_t bytes, double now_us) {
    if (bytes == 0) return;
    d = plan_.works_in[d];
    scratch_.usage_bytes[d] -= bytes;
    assert(scratch_.usage_bytes[d] >= 0);
    log_(d, now_us, scratch_.usage_bytes[d]);
  }

  const Plan& plan_;
  const std::vector<std::uint32_t>& state_;
  MemoryScratch& scratch_;
  Log log_;
};

}  // namespace berth::simulator
