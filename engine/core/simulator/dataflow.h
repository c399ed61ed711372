// One step of an asynchronous executor. The rules, in the order in which they apply:
//
// Time. A step is a sequence of instants. At each instant, ends come first: ops by device, then
// transfers by sender and receiver, then what holds nothing (control signals, and transfers over parallel links)
// by the order of sending. Then transfers start: over parallel links all that are queued, then the
// others (contention.h). Then every idle device with ready ops starts one. Whatever started and takes no
// time ends at the same instant, in a further round of ends and starts.
//
// Ops. A device runs one op at a time, for its cost plus the device's per-op overhead (an op that
// costs 0 pays none). It takes the ready op of the highest priority (priorities_us); among
// equals the one that was ready first, which includes the order of releases within an instant. At
// time 0 the ops without inputs are ready, in the graph's order.
//
// The end of an op releases its consumers on its own device: tensor by tensor in port order, the
// most urgent consumer first (among equals, the first in the graph), control edges last. In the
// same order it queues one transfer per tensor and receiving device, and sends one signal per
// receiving device over its control edges. A transfer of 0 bytes is a transfer too.
//
// A transfer takes latency + bytes / bandwidth. For all of this time it holds the sender's outgoing
// engine, the receiver's incoming engine and the route's channels, where a device has one engine of each
// sort for all its links, or one of each per link (Device::engine_per_link); over a parallel link it holds
// nothing and waits for nothing. Its end releases the tensor's consumers on the receiver, the most
// urgent first. Where the receiver copies (LinkSpec::receiver_us), a transfer holds nothing for its
// latency and is then mail of the receiver. A device that is free takes its mail, in the order of
// arrival, before it starts an op: each transfer starts there, keeps the device busy for receiver_us
// + bytes / bandwidth, and ends. A control signal arrives after the route's
// latency (if that is 0, among the ends of the same round) and holds nothing.
//
// Memory: memory.h.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <limits>

#include "berth/support/index.h"
#include "simulator/observer.h"
#include "simulator/plan.h"
#include "simulator/snapshot.h"
#include "simulator/workspace.h"

namespace berth::simulator {

template <typename Wiring, typename Events, typename Observer>
class DataflowStep {
 public:
  /// `workspace` has been prepared with the placement; `wiring` is the plan, or the plan compiled
  /// for the placement.
  DataflowStep(const Plan& plan, const Wiring& wiring, Workspace& workspace, Events& events,
               Observer& observer)
      : plan_(plan),
        wiring_(wiring),
        workspace_(workspace),
        events_(events),
        observer_(observer),
        state_(workspace.state.data()),
        consumers_(wiring.consumers.data()) {}

  /// The runtime of the step.
  double run() {
    begin();
    go_on();
    return runtime_us();
  }

  /// The parts of a run that may pause. First one of these two; `from` is of a step whose workspace
  /// had the same inputs missing, and `workspace.state` says which. It had made
  /// `sent_before` transfers, so that the next one gets the number that it had there.
  void begin() {
    set_up();
    for (const Index op : plan_.sources) make_ready(op, state_[op] & kDeviceMask, 0, {});
    start(0);
  }
  void resume(const DataflowSnapshot& from, std::uint32_t sent_before);
  /// Until the step is over (true) or the observer pauses.
  bool go_on() {
    double now_us = now_us_;
    for (;;) {
      NextEvent event = events_.next();
      TimeKey instant = event.key;
      if (!signals_.empty()) instant = std::min(instant, signals_.front().arrival);
      if (is_idle(instant)) {
        now_us_ = now_us;
        assert(workspace_.all_released());
        return true;
      }
      if constexpr (Observer::kPauses) {
        if (observer_.pauses()) {
          now_us_ = now_us;
          return false;
        }
      }
      assert(time_of(instant) >= now_us);
      now_us = time_of(instant);
      while (event.key == instant) {
        if (event.source < plan_.device_count) {
          end_op(event.source, now_us);
        } else {
          end_transfer(event.source - plan_.device_count, now_us);
        }
        if (!event.tie) break;
        event = events_.next();
      }
      while (!signals_.empty() && signals_.front().arrival == instant) end_signal(now_us);
      start(now_us);
    }
  }

  /// When it is over.
  [[nodiscard]] double runtime_us() const { return now_us_; }
  /// During a pause.
  void save(DataflowSnapshot& to) const;
  /// Transfers and signals so far; their numbers are below.
  [[nodiscard]] std::uint32_t sent() const { return send_count_; }
  [[nodiscard]] TimeKey pending(std::uint32_t source) const { return events_.key(source); }
  /// The device, which may be receiving, starts no further op before.
  [[nodiscard]] double earliest_us(std::uint32_t d) const {
    return devices_[d].busy ? time_of(events_.key(d)) : now_us_;
  }

 private:
  void set_up() {
    const std::uint32_t devices = plan_.device_count;
    workspace_.ready.reset(devices, plan_.op_count);
    workspace_.next_slot = plan_.first_slot;
    workspace_.op_of_slot.resize(plan_.op_count);
    workspace_.sends.resize(plan_.total_sends);
    workspace_.outgoing.assign(plan_.engine_count, {});
    workspace_.dataflow_devices.resize(devices);
    workspace_.contention.reset(plan_);
    workspace_.sent_to.assign(devices, 0);
    workspace_.touched.clear();
    workspace_.touched.reserve(2 * at(devices) + plan_.op_count);
    signals_.clear();
    if (plan_.has_signals || plan_.cluster().has_parallel_routes()) {
      signals_.reserve(plan_.consumers.size());
    }
    departing_.clear();
    if (plan_.cluster().has_parallel_routes()) departing_.reserve(plan_.consumers.size());
    if (receivers_copy_) {
      workspace_.mail.clear();
      workspace_.mail.reserve(plan_.consumers.size());
      workspace_.inbox.assign(devices, {});
    }
    next_slot_ = workspace_.next_slot.data();
    op_of_slot_ = workspace_.op_of_slot.data();
    sent_to_ = workspace_.sent_to.data();
    sends_ = workspace_.sends.data();
    outgoing_ = workspace_.outgoing.data();
    devices_ = workspace_.dataflow_devices.data();
    events_.reset(devices + plan_.engine_count);
    for (std::uint32_t d = 0; d < devices; ++d) {
      devices_[d] = {plan_.durations_on(static_cast<DeviceId>(d)), 0, false, false};
    }
    idle_ = Events::kFewDevices ? (1ULL << devices) - 1 : 0;
  }

  void make_ready(Index op, std::uint32_t d, double now_us, Cause cause) {
    const std::uint32_t slot = next_slot_[priority_class_[op]]++;
    op_of_slot_[slot] = op;
    workspace_.ready.insert(d, slot);
    if constexpr (Events::kFewDevices) {
      filled_ |= 1ULL << d;
    } else {
      if (!devices_[d].busy) workspace_.touched.push_back(d);
    }
    if constexpr (Observer::kWatchesReleases) observer_.released(op, now_us, cause);
  }

  /// If `here`, one of `op`'s inputs has arrived. There is no branch on `here`, because it would be
  /// mispredicted; an op that is not meant still waits for this input.
  void release_if(bool here, Index op, std::uint32_t d, double now_us, Cause cause) {
    assert(!here || state_[op] >= kOneInput);
    const std::uint32_t word = state_[op] - (here ? kOneInput : 0);
    state_[op] = word;
    if (here & (word < kOneInput)) make_ready(op, d, now_us, cause);
  }

  void end_op(std::uint32_t d, double now_us) {
    DataflowDevice& device = devices_[d];
    assert(device.busy);
    device.busy = false;
    events_.set(d, idle_key(d));
    if constexpr (Events::kFewDevices) {
      idle_ |= 1ULL << d;
    } else {
      workspace_.touched.push_back(d);
    }
    if (receivers_copy_ && device.receiving) return end_receiving(d, now_us);
    const Index op = device.running;
    assert((state_[op] & kDeviceMask) == d);
    const OpRow row = wiring_.rows[op];
    if constexpr (Wiring::kPlaced) {
      for (std::uint32_t e = row.begin; e < row.end; ++e) {
        release_if(true, consumers_[e], d, now_us, {Cause::Kind::op_end, op});
      }
      for (std::uint32_t p = row.first_message; p < row.first_message + row.message_count; ++p) {
        send(p, d, wiring_.parcels[p].receiver, now_us);
      }
    } else {
      tell_consumers(op, row, d, now_us);
    }
    observer_.op_ended(op, d, now_us);
  }

  void tell_consumers(Index op, const OpRow& row, std::uint32_t d, double now_us) {
    for (std::uint32_t m = row.first_message; m < row.first_message + row.message_count; ++m) {
      const Message message = plan_.messages[m];
      for (std::uint32_t e = message.begin; e < message.end; ++e) {
        const Index consumer = consumers_[e];
        const std::uint32_t receiver = state_[consumer] & kDeviceMask;
        release_if(receiver == d, consumer, d, now_us, {Cause::Kind::op_end, op});
        if (receiver != d && sent_to_[receiver] != m + 1) {
          sent_to_[receiver] = m + 1;
          send(m, d, receiver, now_us);
        }
      }
    }
  }

  /// A message is sent; in a placed plan, a parcel.
  [[nodiscard]] std::uint32_t message_of(std::uint32_t sent) const {
    if constexpr (Wiring::kPlaced) return wiring_.parcels[sent].message;
    return sent;
  }
  [[nodiscard]] double duration_us(std::uint32_t sent, std::uint32_t d,
                                   std::uint32_t receiver) const {
    if constexpr (Wiring::kPlaced) return wiring_.parcels[sent].duration_us;
    return plan_.transfer_us(sent, static_cast<DeviceId>(d), static_cast<DeviceId>(receiver));
  }

  void send(std::uint32_t sent, std::uint32_t d, std::uint32_t receiver, double now_us) {
    const std::uint32_t number = send_count_++;
    const auto dst = static_cast<DeviceId>(receiver);
    const std::uint32_t message = message_of(sent);
    observer_.transfer_queued(number, message, d, dst, now_us);
    if (plan_.message_tensor[message] != kNoTensor) {
      if (plan_.is_parallel(d, receiver)) {
        departing_.push_back({sent, receiver, number});
      } else {
        queue({sent, receiver, number}, d);
      }
      return;
    }
    const double arrival_us =
        now_us + plan_.cluster().route(static_cast<DeviceId>(d), dst).latency_us;
    fly({sent, receiver, number}, d, now_us, arrival_us, /*copied=*/false);
  }

  /// Holds nothing on its way. A transfer that is copied where it arrives starts there.
  void fly(const SendEntry& sent, std::uint32_t d, double now_us, double arrival_us, bool copied) {
    signals_.push_back({time_key(arrival_us), sent.number, sent.sent, sent.receiver});
    std::push_heap(signals_.begin(), signals_.end(), later);
    if (copied) return;
    observer_.transfer_started(sent.number, message_of(sent.sent), d,
                               static_cast<DeviceId>(sent.receiver), now_us, arrival_us);
  }

  static bool later(const Signal& a, const Signal& b) {
    return a.arrival != b.arrival ? a.arrival > b.arrival : a.number > b.number;
  }

  void queue(const SendEntry& sent, std::uint32_t d) {
    TransferList& outgoing = outgoing_[plan_.engine(d, sent.receiver)];
    if (outgoing.empty()) workspace_.contention.wait(sent.number, d, sent.receiver);
    sends_[listed_] = {sent, kNoneListed};
    outgoing.append(sends_, listed_++);
  }

  void end_transfer(std::uint32_t engine, double now_us) {
    TransferList& outgoing = outgoing_[engine];
    const auto [sent, next] = sends_[outgoing.first];
    outgoing.first = next;
    const std::uint32_t d = plan_.sender(engine);
    events_.set(plan_.device_count + engine, idle_key(plan_.device_count + engine));
    workspace_.contention.release(plan_, d, sent.receiver);
    arrive(sent.sent, sent.receiver, now_us, {Cause::Kind::transfer, sent.number});
    observer_.transfer_ended(sent.number, message_of(sent.sent), d,
                             static_cast<DeviceId>(sent.receiver), now_us);
    if (outgoing.empty()) return;
    const SendEntry& head = sends_[next].sent;
    workspace_.contention.wait(head.number, d, head.receiver);
  }

  void end_signal(double now_us) {
    std::pop_heap(signals_.begin(), signals_.end(), later);
    const Signal signal = signals_.back();
    signals_.pop_back();
    if (receivers_copy_ && is_copied(signal.sent, signal.receiver)) {
      receive({signal.sent, signal.receiver, signal.number});
      return;
    }
    arrive(signal.sent, signal.receiver, now_us, {Cause::Kind::transfer, signal.number});
    const std::uint32_t message = message_of(signal.sent);
    observer_.transfer_ended(signal.number, message, sender_of(message),
                             static_cast<DeviceId>(signal.receiver), now_us);
  }

  /// Whether the receiver copies what it is sent; else it is there.
  [[nodiscard]] bool is_copied(std::uint32_t sent, std::uint32_t receiver) const {
    const std::uint32_t message = message_of(sent);
    return plan_.message_tensor[message] != kNoTensor &&
           route(message, receiver).receiver_us.has_value();
  }
  [[nodiscard]] const Route& route(std::uint32_t message, std::uint32_t receiver) const {
    return plan_.cluster().route(static_cast<DeviceId>(sender_of(message)),
                                 static_cast<DeviceId>(receiver));
  }

  void receive(const SendEntry& sent) {
    const auto place = static_cast<std::uint32_t>(workspace_.mail.size());
    workspace_.mail.push_back({sent, kNoneListed});
    workspace_.inbox[sent.receiver].append(workspace_.mail.data(), place);
  }

  void start_receiving(std::uint32_t d, double now_us) {
    const SendEntry& sent = workspace_.mail[workspace_.inbox[d].first].sent;
    const std::uint32_t message = message_of(sent.sent);
    const std::uint32_t sender = sender_of(message);
    const double lasts_us = duration_us(sent.sent, sender, d) - route(message, d).latency_us;
    const double end_us = now_us + std::max(0.0, lasts_us);
    devices_[d].busy = devices_[d].receiving = true;
    if constexpr (Events::kFewDevices) idle_ &= ~(1ULL << d);
    events_.set(d, time_key(end_us));
    observer_.transfer_started(sent.number, message, sender, static_cast<DeviceId>(d), now_us,
                               end_us);
  }

  void end_receiving(std::uint32_t d, double now_us) {
    TransferList& inbox = workspace_.inbox[d];
    const auto [sent, next] = workspace_.mail[inbox.first];
    inbox.first = next;
    devices_[d].receiving = false;
    const std::uint32_t message = message_of(sent.sent);
    arrive(sent.sent, d, now_us, {Cause::Kind::transfer, sent.number});
    observer_.transfer_ended(sent.number, message, sender_of(message), static_cast<DeviceId>(d),
                             now_us);
  }

  [[nodiscard]] std::uint32_t sender_of(std::uint32_t message) const {
    return state_[plan_.message_producer[message]] & kDeviceMask;
  }

  void arrive(std::uint32_t sent, std::uint32_t receiver, double now_us, Cause cause) {
    if constexpr (Wiring::kPlaced) {
      const auto parcel = wiring_.parcels[sent];
      observer_.arrived(sent);
      for (std::uint32_t e = parcel.begin; e < parcel.end; ++e) {
        release_if(true, consumers_[e], receiver, now_us, cause);
      }
      return;
    }
    const Message message = plan_.messages[sent];
    for (std::uint32_t e = message.begin; e < message.end; ++e) {
      const Index consumer = consumers_[e];
      release_if((state_[consumer] & kDeviceMask) == receiver, consumer, receiver, now_us, cause);
    }
  }

  void start(double now_us) {
    for (const SendEntry& sent : departing_) {
      const std::uint32_t message = message_of(sent.sent);
      const std::uint32_t d = sender_of(message);
      const bool copied = receivers_copy_ && is_copied(sent.sent, sent.receiver);
      const double lasts_us = copied ? route(message, sent.receiver).latency_us
                                     : duration_us(sent.sent, d, sent.receiver);
      fly(sent, d, now_us, now_us + lasts_us, copied);
    }
    departing_.clear();
    workspace_.contention.start_heads(
        plan_, [&](const Contention::Head& head) { start_transfer(head, now_us); });
    if (receivers_copy_) {
      for (std::uint32_t d = 0; d < plan_.device_count; ++d) {
        if (!devices_[d].busy && !workspace_.inbox[d].empty()) start_receiving(d, now_us);
      }
    }
    if constexpr (Events::kFewDevices) {
      for (std::uint64_t d = idle_ & filled_; d != 0; d &= d - 1) {
        start_op(static_cast<std::uint32_t>(std::countr_zero(d)), now_us);
      }
    } else {
      for (const std::uint32_t d : workspace_.touched) {
        if (!devices_[d].busy && !workspace_.ready.empty(d)) start_op(d, now_us);
      }
      workspace_.touched.clear();
    }
  }

  void start_transfer(const Contention::Head& head, double now_us) {
    const std::uint32_t engine = plan_.engine(head.sender, head.receiver);
    assert(is_idle(events_.key(plan_.device_count + engine)) && !outgoing_[engine].empty());
    const SendEntry& sent = sends_[outgoing_[engine].first].sent;
    assert(sent.number == head.number);
    const double end_us = now_us + duration_us(sent.sent, head.sender, sent.receiver);
    events_.set(plan_.device_count + engine, time_key(end_us));
    observer_.transfer_started(sent.number, message_of(sent.sent), head.sender,
                               static_cast<DeviceId>(sent.receiver), now_us, end_us);
  }

  void start_op(std::uint32_t d, double now_us) {
    const Index op = op_of_slot_[workspace_.ready.take_lowest(d)];
    if constexpr (Events::kFewDevices) {
      idle_ &= ~(1ULL << d);
      if (workspace_.ready.empty(d)) filled_ &= ~(1ULL << d);
    }
    DataflowDevice& device = devices_[d];
    assert(!device.busy && state_[op] == d);
    const double end_us = now_us + device.duration_us[op];
    device.running = op;
    device.busy = true;
    events_.set(d, time_key(end_us));
    observer_.op_started(op, d, now_us, end_us);
  }

  const Plan& plan_;
  const Wiring& wiring_;
  Workspace& workspace_;
  Events& events_;
  Observer& observer_;
  std::uint32_t* const state_;
  const Index* const consumers_;
  const std::uint32_t* const priority_class_ = plan_.priority_class.data();
  std::uint32_t* next_slot_ = nullptr;
  Index* op_of_slot_ = nullptr;
  std::uint32_t* sent_to_ = nullptr;
  Listed* sends_ = nullptr;
  TransferList* outgoing_ = nullptr;
  DataflowDevice* devices_ = nullptr;
  std::vector<Signal>& signals_ = workspace_.signals;
  std::vector<SendEntry>& departing_ = workspace_.departing;
  const bool receivers_copy_ = plan_.cluster().has_copying_receivers();
  std::uint32_t send_count_ = 0;  ///< transfers and signals
  std::uint32_t listed_ = 0;      ///< of sends_: those in use
  std::uint64_t idle_ = 0;        ///< by bit, where devices are few: runs nothing
  std::uint64_t filled_ = 0;      ///< by bit, where devices are few: has ready ops
  double now_us_ = 0;             ///< outside of go_on
};

template <typename Wiring, typename Events, typename Observer>
void DataflowStep<Wiring, Events, Observer>::save(DataflowSnapshot& to) const {
  to.pending.clear();
  to.devices.clear();
  to.ready.clear();
  to.queued.clear();
  to.sends.clear();
  to.mail.clear();
  to.idle = idle_;
  to.filled = filled_;
  to.signals = signals_;
  std::sort(to.signals.begin(), to.signals.end(),
            [](const Signal& a, const Signal& b) { return later(b, a); });
  for (Signal& signal : to.signals) signal.number -= send_count_;
  to.contention = workspace_.contention.state();
  for (Contention::Head& head : to.contention.heads) head.number -= send_count_;
  for (std::uint32_t source = 0; source < plan_.device_count + plan_.engine_count; ++source) {
    to.pending.push_back(events_.key(source));
  }
  const auto add = [&](const TransferList& list, const Listed* entries,
                       std::vector<SendEntry>& saved) {
    for (std::uint32_t i = list.first; i != kNoneListed; i = entries[i].next) {
      const SendEntry& sent = entries[i].sent;
      saved.push_back({sent.sent, sent.receiver, sent.number - send_count_});
    }
  };
  for (const TransferList& outgoing : workspace_.outgoing) {
    const std::size_t before = to.sends.size();
    add(outgoing, sends_, to.sends);
    to.queued.push_back(static_cast<std::uint32_t>(to.sends.size() - before));
  }
  for (std::uint32_t d = 0; d < plan_.device_count; ++d) {
    DataflowDevice device = devices_[d];
    workspace_.ready.for_each(d, [&](std::uint32_t slot) {
      to.ready.push_back({d, slot, op_of_slot_[slot]});
    });
    if (receivers_copy_) add(workspace_.inbox[d], workspace_.mail.data(), to.mail);
    if (!device.busy || device.receiving) device.running = 0;
    to.devices.push_back(device);
  }
}

template <typename Wiring, typename Events, typename Observer>
void DataflowStep<Wiring, Events, Observer>::resume(const DataflowSnapshot& from,
                                                    std::uint32_t sent_before) {
  set_up();
  idle_ = from.idle;
  filled_ = from.filled;
  send_count_ = sent_before;
  // Ops of a class that are ready, or have run, have taken a slot each.
  for (Index op = 0; op < plan_.op_count; ++op) {
    next_slot_[priority_class_[op]] += state_[op] < kOneInput ? 1 : 0;
  }
  for (const DataflowSnapshot::Ready& ready : from.ready) {
    workspace_.ready.insert(ready.device, ready.slot);
    op_of_slot_[ready.slot] = ready.op;
  }
  signals_ = from.signals;
  for (Signal& signal : signals_) signal.number += send_count_;
  std::make_heap(signals_.begin(), signals_.end(), later);
  workspace_.contention.state() = from.contention;
  for (Contention::Head& head : workspace_.contention.state().heads) head.number += send_count_;
  const SendEntry* sent = from.sends.data();
  for (std::uint32_t engine = 0; engine < plan_.engine_count; ++engine) {
    for (std::uint32_t i = 0; i < from.queued[engine]; ++i, ++sent) {
      sends_[listed_] = {{sent->sent, sent->receiver, sent->number + send_count_}, kNoneListed};
      outgoing_[engine].append(sends_, listed_++);
    }
  }
  std::copy(from.devices.begin(), from.devices.end(), devices_);
  for (const SendEntry& mail : from.mail) {
    receive({mail.sent, mail.receiver, mail.number + send_count_});
  }
  for (std::uint32_t source = 0; source < from.pending.size(); ++source) {
    events_.set(source, from.pending[source]);
  }
}

}  // namespace berth::simulator
