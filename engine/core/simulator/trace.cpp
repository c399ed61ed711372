#include "simulator/trace.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "berth/support/index.h"
#include "simulator/critical_path.h"
#include "simulator/load.h"
#include "simulator/memory.h"
#include "simulator/placeto_memory.h"
#include "simulator/run.h"
#include "simulator/workspace.h"

namespace berth::simulator {
namespace {

/// Fits behind the simulators' observer interface; writes into a TracedStep.
class Recorder : public NoObserver {
 public:
  static constexpr bool kWatchesReleases = true;

  Recorder(const Plan& plan, TracedStep& record) : plan_(plan), record_(record) {
    record.ops.assign(plan.op_count, {});
    last_on_.assign(plan.device_count, {});
    last_out_.assign(plan.engine_count, kNone);
    last_in_.assign(plan.device_count, kNone);
    last_on_channel_.assign(at(plan.cluster().channel_count()), kNone);
  }

  void released(Index op, double now_us, Cause cause) {
    record_.ops[op].ready_us = now_us;
    record_.ops[op].cause = cause;
  }

  void op_started(Index op, std::uint32_t device, double start_us, double end_us) {
    TracedStep::Op& seen = record_.ops[op];
    seen.start_us = start_us;
    seen.end_us = end_us;
    seen.device = device;
    seen.previous = std::exchange(last_on_[device], {Cause::Kind::op_end, op});
  }

  void transfer_queued(std::uint32_t number, std::uint32_t message, std::uint32_t sender,
                       DeviceId receiver, double now_us) {
    if (number >= record_.transfers.size()) record_.transfers.resize(number + 1);
    TracedStep::Sent& seen = record_.transfers[number];
    seen.message = message;
    seen.sender = sender;
    seen.receiver = receiver;
    seen.queued_us = now_us;
  }

  void transfer_started(std::uint32_t number, std::uint32_t message, std::uint32_t sender,
                        DeviceId receiver, double start_us, double end_us) {
    TracedStep::Sent& seen = record_.transfers[number];
    seen.start_us = start_us;
    seen.end_us = end_us;
    if (plan_.message_tensor[message] == kNoTensor && !plan_.placeto) return;  // holds nothing
    if (receiver == kNoDevice) {
      occupy(last_out_[sender], number, seen);
      return;
    }
    const Route& route = plan_.cluster().route(static_cast<DeviceId>(sender), receiver);
    if (route.receiver_us && !plan_.placeto) {
      seen.arrival_us = seen.queued_us + route.latency_us;
      seen.previous = std::exchange(last_on_[at(receiver)], {Cause::Kind::transfer, number});
    }
    if (route.parallel && !plan_.placeto) return;
    const auto dst = static_cast<std::uint32_t>(receiver);
    occupy(last_out_[plan_.engine(sender, dst)], number, seen);
    if (!plan_.has_engine_per_link(dst)) occupy(last_in_[dst], number, seen);
    for (const ChannelId channel : route.channels) {
      occupy(last_on_channel_[at(channel)], number, seen);
    }
  }

 private:
  /// The transfer that held a resource before `number` did, if that is what it waited for: the
  /// latest to end of all its resources' last holders.
  void occupy(std::uint32_t& last, std::uint32_t number, TracedStep::Sent& seen) {
    const std::uint32_t before = std::exchange(last, number);
    if (before == kNone) return;
    if (seen.blocked_by == kNone ||
        record_.transfers[before].end_us > record_.transfers[seen.blocked_by].end_us) {
      seen.blocked_by = before;
    }
  }

  const Plan& plan_;
  TracedStep& record_;
  std::vector<Cause> last_on_;           // by device
  std::vector<std::uint32_t> last_out_;  // by outgoing engine
  std::vector<std::uint32_t> last_in_;   // by device
  std::vector<std::uint32_t> last_on_channel_;
};

/// A Recorder that follows the memory of a dataflow step too.
template <typename Log>
class MemoryRecorder : public Recorder {
 public:
  MemoryRecorder(const Plan& plan, std::span<const DeviceId> placement, Workspace& workspace,
                 TracedStep& record, Log log)
      : Recorder(plan, record), memory_(plan, placement, workspace.state, workspace.memory, log) {}

  void op_started(Index op, std::uint32_t device, double start_us, double end_us) {
    Recorder::op_started(op, device, start_us, end_us);
    memory_.op_started(op, device, start_us, end_us);
  }
  void op_ended(Index op, std::uint32_t device, double now_us) {
    memory_.op_ended(op, device, now_us);
  }
  void transfer_queued(std::uint32_t number, std::uint32_t message, std::uint32_t sender,
                       DeviceId receiver, double now_us) {
    Recorder::transfer_queued(number, message, sender, receiver, now_us);
    memory_.transfer_queued(number, message, sender, receiver, now_us);
  }
  void transfer_started(std::uint32_t number, std::uint32_t message, std::uint32_t sender,
                        DeviceId receiver, double start_us, double end_us) {
    Recorder::transfer_started(number, message, sender, receiver, start_us, end_us);
    memory_.transfer_started(number, message, sender, receiver, start_us, end_us);
  }
  void transfer_ended(std::uint32_t number, std::uint32_t message, std::uint32_t sender,
                      DeviceId receiver, double now_us) {
    memory_.transfer_ended(number, message, sender, receiver, now_us);
  }

 private:
  DataflowMemory<Log> memory_;
};

/// Every change of a placeto step's memory, by time.
std::vector<MemorySample> placeto_samples(const Plan& plan, const Workspace& workspace) {
  std::vector<MemorySample> samples;
  for (Index op = 0; op < plan.op_count; ++op) {
    const Stay stay = placeto_stay(plan, workspace, op);
    if (stay.bytes == 0) continue;
    const auto device = static_cast<DeviceId>(stay.device);
    samples.push_back({device, stay.begin_us, stay.bytes});
    samples.push_back({device, stay.end_us, -stay.bytes});
  }
  std::sort(samples.begin(), samples.end(), [](const MemorySample& a, const MemorySample& b) {
    if (a.us != b.us) return a.us < b.us;
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.device < b.device;
  });
  std::vector<std::int64_t> usage(plan.device_count, 0);
  for (MemorySample& sample : samples) {
    sample.bytes = usage[at(sample.device)] += sample.bytes;
  }
  return samples;
}

/// The record's transfers by (start, sender); `place[number]` is where each went.
std::vector<Transfer> sorted_transfers(const Plan& plan, const TracedStep& record,
                                       std::vector<std::int32_t>& place) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t number = 0; number < record.transfers.size(); ++number) {
    if (record.transfers[number].message != kNone) order.push_back(number);
  }
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const TracedStep::Sent& x = record.transfers[a];
    const TracedStep::Sent& y = record.transfers[b];
    return std::tuple(x.start_us, x.sender, a) < std::tuple(y.start_us, y.sender, b);
  });
  place.assign(record.transfers.size(), -1);
  std::vector<Transfer> transfers;
  transfers.reserve(order.size());
  for (const std::uint32_t number : order) {
    const TracedStep::Sent& sent = record.transfers[number];
    place[number] = static_cast<std::int32_t>(transfers.size());
    transfers.push_back(
        {plan.message_tensor[sent.message], plan.ids[plan.message_producer[sent.message]],
         static_cast<DeviceId>(sent.sender), sent.receiver, plan.message_bytes[sent.message],
         sent.queued_us, sent.start_us, sent.end_us});
  }
  return transfers;
}

std::vector<LinkUsage> link_usage(const Plan& plan, const std::vector<Transfer>& transfers) {
  std::vector<LinkUsage> links;
  std::vector<std::size_t> order;
  for (std::size_t t = 0; t < transfers.size(); ++t) {
    // A signal of the dataflow semantics holds no link.
    if (transfers[t].tensor != kNoTensor || plan.placeto) order.push_back(t);
  }
  const auto ends = [&](std::size_t t) { return std::pair(transfers[t].src, transfers[t].dst); };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return ends(a) < ends(b); });
  for (const std::size_t t : order) {
    const Transfer& transfer = transfers[t];
    if (links.empty() || std::pair(links.back().src, links.back().dst) != ends(t)) {
      links.push_back({transfer.src, transfer.dst, 0, 0, 0});
    }
    links.back().bytes += transfer.bytes;
    ++links.back().transfers;
    links.back().busy_us += transfer.end_us - transfer.start_us;
  }
  return links;
}

std::vector<DeviceUsage> device_usage(const Plan& plan, std::span<const DeviceId> placement,
                                      double runtime_us, MemoryScratch& memory) {
  std::vector<double> busy_us;
  device_compute(plan, placement, busy_us);
  std::vector<DeviceUsage> devices(plan.device_count);
  if (!plan.placeto) resident_parameters(plan, placement, memory);
  for (std::uint32_t d = 0; d < plan.device_count; ++d) {
    const Peak& peak = memory.peaks[d];
    devices[d] = {busy_us[d], runtime_us - busy_us[d],
                  peak.bytes, plan.placeto ? 0 : memory.usage_bytes[d],
                  peak.us,    peak.op};
  }
  return devices;
}

}  // namespace

StepTrace trace_step(const Plan& plan, std::span<const DeviceId> placement) {
  Workspace workspace;
  workspace.prepare(plan, placement);
  TracedStep record;
  StepTrace trace;
  if (plan.placeto) {
    Recorder recorder(plan, record);
    trace.runtime_us = run_placeto(plan, workspace, recorder);
    for (const TracedStep::Op& op : record.ops) workspace.op_start_us.push_back(op.start_us);
    placeto_peaks(plan, workspace);
    trace.memory = placeto_samples(plan, workspace);
  } else {
    MemoryRecorder recorder(plan, placement, workspace, record,
                            [&](std::uint32_t d, double us, std::int64_t bytes) {
                              trace.memory.push_back({static_cast<DeviceId>(d), us, bytes});
                            });
    trace.runtime_us = run_dataflow(plan, workspace, recorder);
  }
  for (OpId op = 0; op < plan.graph().op_count(); ++op) {
    const TracedStep::Op& seen = record.ops[plan.index_of(op)];
    trace.op_start_us.push_back(seen.start_us);
    trace.op_end_us.push_back(seen.end_us);
  }
  std::vector<std::int32_t> place;
  trace.transfers = sorted_transfers(plan, record, place);
  trace.links = link_usage(plan, trace.transfers);
  trace.devices = device_usage(plan, placement, trace.runtime_us, workspace.memory);
  trace.critical_path = critical_path(plan, record, place, trace.runtime_us);
  return trace;
}

}  // namespace berth::simulator
