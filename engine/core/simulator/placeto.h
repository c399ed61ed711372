// One step by the rules of the simulator released with Placeto (Addanki et al., NeurIPS 2019), to
// the last tie.
//
// There, events are ordered by (time, kind, name): first the releases of consumers (by producer,
// then consumer), then buses that look for work, then devices that look for work. Here two kinds of
// events are enough, because the others follow from them at once:
//   an op ends       Its consumers on the device are released. Its transfers are appended to the
//                    device's bus. If an op is waiting, it is the device's next: queues are first
//                    come, first served, so nothing that happens later comes before it.
//   a bus arrives    The message's consumers elsewhere are released. A device without work starts
//                    the first of them as soon as its pause is over.
// A bus is first come, first served too, and its transfers are queued in the order in which ops
// end. So the times of a transfer are known when it is queued. Each device and each bus has one
// pending event: there are 2 x devices sources, and no heap.
//
// Equal times. An event is a release unless it takes no time. An op without duration happens when
// the released simulator runs its device, a transfer without duration when it runs its bus. So the
// order of events at one instant is (release < bus < device), then the producer's name for releases
// and the device's name for the others. Events that an instant adds to itself (only the latter two
// kinds do) are seen by the next choice, as there.
//
// Decisions where the released simulator is silent, or where its rule is a defect:
// - an op that reads two outputs of another gets both;
// - the control edges of an op that leave its device are one message of 0 bytes, after its tensors
//   where both go to the same op; it takes no time, and the bus pauses after it as after any other;
// - for memory, an op after a control edge counts as a consumer, as it does there;
// - a broadcast moves at its slowest receiver's bandwidth.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <limits>

#include "simulator/observer.h"
#include "simulator/plan.h"
#include "simulator/snapshot.h"
#include "simulator/workspace.h"

namespace berth::simulator {

template <typename Wiring, typename Events, typename Observer>
class PlacetoStep {
 public:
  /// `workspace` has been prepared with the placement; `wiring` is the plan, or the plan compiled
  /// for the placement.
  PlacetoStep(const Plan& plan, const Wiring& wiring, Workspace& workspace, Events& events,
              Observer& observer)
      : plan_(plan),
        wiring_(wiring),
        workspace_(workspace),
        events_(events),
        observer_(observer),
        state_(workspace.state.data()),
        consumers_(wiring.consumers.data()),
        device_gap_us_(plan.problem->options().device_gap_us),
        transfer_gap_us_(plan.problem->options().transfer_gap_us) {}

  /// The runtime of the step.
  double run() {
    begin();
    go_on();
    return runtime_us();
  }

  /// The parts of a run that may pause. First one of these two; `from` is of a step whose workspace
  /// had the same inputs missing, and `workspace.state` says which.
  void begin() { set_up(); }
  void resume(const PlacetoSnapshot& from);
  /// Until the step is over (true) or the observer pauses.
  bool go_on() {
    for (NextEvent event = events_.next(); !is_idle(event.key); event = events_.next()) {
      if constexpr (Observer::kPauses) {
        if (observer_.pauses()) return false;
      }
      const std::uint32_t source = event.tie ? first_by_name(event.key) : event.source;
      const double now_us = time_of(event.key);
      if (source < plan_.device_count) {
        end_op(source, now_us);
      } else {
        arrive(source - plan_.device_count, now_us);
      }
    }
    assert(workspace_.all_released());
    return true;
  }
  /// When it is over.
  [[nodiscard]] double runtime_us() const {
    double runtime_us = 0;
    for (std::uint32_t d = 0; d < plan_.device_count; ++d) {
      runtime_us = std::max({runtime_us, devices_[d].free_us, devices_[d].bus_free_us});
    }
    return runtime_us;
  }
  /// During a pause.
  void save(PlacetoSnapshot& to) const;
  [[nodiscard]] TimeKey pending(std::uint32_t source) const { return events_.key(source); }
  /// The device starts no further op before.
  [[nodiscard]] double earliest_us(std::uint32_t d) const { return devices_[d].free_us; }

 private:
  static constexpr Index kIdle = std::numeric_limits<Index>::max();

  void attach() {
    workspace_.place_of_message.resize(plan_.messages.size());
    workspace_.placeto_devices.resize(plan_.device_count);
    workspace_.touched.clear();
    workspace_.touched.reserve(plan_.device_count);
    queue_ = workspace_.queue.data();
    bus_ = workspace_.bus.data();
    devices_ = workspace_.placeto_devices.data();
    events_.reset(2 * plan_.device_count);
  }

  void set_up() {
    // The row after the last is written to, never read; see release().
    workspace_.queue.assign(workspace_.row_total, 0);
    workspace_.bus.resize(workspace_.row_total);
    attach();
    for (std::uint32_t d = 0; d < plan_.device_count; ++d) {
      const std::uint32_t begin = workspace_.begin[d];
      devices_[d] = {0,     0,     0,    plan_.durations_on(static_cast<DeviceId>(d)), begin, begin,
                     kIdle, begin, begin};
    }
    for (const Index op : plan_.sources) {
      queue_[devices_[state_[op] & kDeviceMask].tail++] = op;
      if constexpr (Observer::kWatchesReleases) observer_.released(op, 0, {});
    }
    idle_ = 0;
    for (std::uint32_t d = 0; d < plan_.device_count; ++d) start_next(d);
  }

  /// Starts the first op in the device's queue, or notes that there is none.
  void start_next(std::uint32_t d) {
    PlacetoDevice& device = devices_[d];
    if (device.head == device.tail) {
      device.running = kIdle;
      idle_ |= Events::kFewDevices ? 1U << d : 0U;
      events_.set(d, idle_key(d));
      return;
    }
    const Index op = queue_[device.head++];
    const double duration_us = device.duration_us[op];
    const double start_us = device.free_us;
    const double end_us = start_us + duration_us;
    device.running = op;
    device.start_us = start_us;
    device.free_us = end_us + (duration_us == 0 ? 0.0 : device_gap_us_);
    events_.set(d, time_key(end_us));
    observer_.op_started(op, d, start_us, end_us);
  }

  void end_op(std::uint32_t d, double now_us) {
    PlacetoDevice& device = devices_[d];
    const Index op = device.running;
    assert(op != kIdle && state_[op] == d);
    const OpRow row = wiring_.rows[op];
    std::uint32_t tail = device.tail;
    std::uint32_t elsewhere = Wiring::kPlaced ? row.message_count : 0;
    for (std::uint32_t e = row.begin; e < row.end; ++e) {
      const Index consumer = consumers_[e];
      std::uint32_t word = state_[consumer];
      const std::uint32_t here = Wiring::kPlaced || (word & kDeviceMask) == d ? 1 : 0;
      elsewhere |= here ^ 1U;
      assert(here == 0 || word >= kOneInput);
      word -= here << kDeviceBits;
      state_[consumer] = word;
      // Always written, but kept only if it was the last input; a consumer elsewhere still waits
      // for this op. A branch here would be mispredicted every other time.
      queue_[tail] = consumer;
      const bool ready = word < kOneInput;
      tail += ready ? 1 : 0;
      if constexpr (Observer::kWatchesReleases) {
        if (ready) observer_.released(consumer, now_us, {Cause::Kind::op_end, op});
      }
    }
    device.tail = tail;
    if (elsewhere != 0) send(op, row, d, now_us);
    observer_.op_ended(op, d, now_us);
    start_next(d);
  }

  void send(Index op, const OpRow& row, std::uint32_t d, double now_us) {
    if constexpr (Wiring::kPlaced) {
      for (std::uint32_t i = row.first_message; i < row.first_message + row.message_count; ++i) {
        append(wiring_.sends[i], d, now_us, wiring_.messages[wiring_.sends[i]].alone_us);
      }
    } else if (row.message_count == 1 && plan_.uniform_routes) {
      append(row.first_message, d, now_us, plan_.messages[row.first_message].alone_us);
    } else {
      send_each(op, row, d, now_us);
    }
    events_.set(plan_.device_count + d, bus_[devices_[d].bus_head].arrival);
  }

  /// Messages in the order of their first consumer elsewhere, in the graph's order.
  void send_each(Index op, const OpRow& row, std::uint32_t d, double now_us) {
    const std::uint32_t first = devices_[d].bus_tail;
    // A message is in this row where it says so and the row agrees: needs no clearing.
    std::vector<std::uint32_t>& place = workspace_.place_of_message;
    for (const Edge& edge : plan_.graph().out_edges(plan_.ids[op])) {
      if ((state_[plan_.index_of(edge.dst)] & kDeviceMask) == d) continue;
      const std::uint32_t message = plan_.message_of(row, edge.tensor);
      const std::uint32_t tail = devices_[d].bus_tail;
      const std::uint32_t at = place[message];
      if (at >= first && at < tail && bus_[at].message == message) continue;
      place[message] = tail;
      append(message, d, now_us, broadcast_us(message, d));
    }
  }

  [[nodiscard]] double broadcast_us(std::uint32_t message, std::uint32_t d) const {
    const Message& sent = plan_.messages[message];
    if (plan_.uniform_routes) return sent.alone_us;
    double slowest_us = 0;
    for (std::uint32_t e = sent.begin; e < sent.end; ++e) {
      const std::uint32_t receiver = state_[consumers_[e]] & kDeviceMask;
      if (receiver == d) continue;
      slowest_us = std::max(slowest_us, plan_.transfer_us(message, static_cast<DeviceId>(d),
                                                          static_cast<DeviceId>(receiver)));
    }
    return slowest_us;
  }

  void append(std::uint32_t message, std::uint32_t d, double now_us, double duration_us) {
    PlacetoDevice& device = devices_[d];
    const double start_us = std::max(now_us, device.bus_free_us);
    const double arrival_us = start_us + duration_us;
    device.bus_free_us = arrival_us + transfer_gap_us_;
    const std::uint32_t number = device.bus_tail++;
    bus_[number] = {time_key(arrival_us), message, arrival_us == start_us};
    bus_[device.bus_tail].arrival = idle_key(plan_.device_count + d);
    observer_.transfer_queued(number, message, d, kNoDevice, now_us);
    observer_.transfer_started(number, message, d, kNoDevice, start_us, arrival_us);
  }

  void arrive(std::uint32_t d, double now_us) {
    const std::uint32_t number = devices_[d].bus_head++;
    events_.set(plan_.device_count + d, bus_[number + 1].arrival);
    const Message message = wiring_.messages[bus_[number].message];
    observer_.arrived(bus_[number].message);
    std::uint32_t touched = 0;
    for (std::uint32_t e = message.begin; e < message.end; ++e) {
      const Index consumer = consumers_[e];
      std::uint32_t word = state_[consumer];
      const std::uint32_t receiver = word & kDeviceMask;
      const std::uint32_t there = Wiring::kPlaced || receiver != d ? 1 : 0;
      assert(there == 0 || word >= kOneInput);
      word -= there << kDeviceBits;
      state_[consumer] = word;
      const std::uint32_t ready = there & (word < kOneInput ? 1U : 0U);
      queue_[devices_[receiver].tail] = consumer;
      devices_[receiver].tail += ready;
      if constexpr (Events::kFewDevices) {
        touched |= ready << receiver;
      } else {
        if (ready != 0 && devices_[receiver].running == kIdle) {
          workspace_.touched.push_back(receiver);
        }
      }
      if constexpr (Observer::kWatchesReleases) {
        if (ready != 0) observer_.released(consumer, now_us, {Cause::Kind::transfer, number});
      }
    }
    if constexpr (Events::kFewDevices) {
      for (touched &= idle_; touched != 0; touched &= touched - 1) {
        wake(static_cast<std::uint32_t>(std::countr_zero(touched)), now_us);
      }
    } else {
      for (const std::uint32_t receiver : workspace_.touched) {
        if (devices_[receiver].running == kIdle) wake(receiver, now_us);
      }
      workspace_.touched.clear();
    }
  }

  void wake(std::uint32_t d, double now_us) {
    idle_ &= Events::kFewDevices ? ~(1U << d) : 0U;
    devices_[d].free_us = std::max(devices_[d].free_us, now_us);
    start_next(d);
  }

  /// The source of the first of the pending events at `key`'s time.
  [[nodiscard]] std::uint32_t first_by_name(TimeKey key) const {
    std::uint32_t first = 0;
    std::uint64_t first_order = std::numeric_limits<std::uint64_t>::max();
    for (std::uint32_t source = 0; source < 2 * plan_.device_count; ++source) {
      if (events_.key(source) != key) continue;
      const std::uint64_t order = order_at_instant(source, key);
      if (order < first_order) {
        first_order = order;
        first = source;
      }
    }
    return first;
  }

  /// (kind, name) as one number.
  [[nodiscard]] std::uint64_t order_at_instant(std::uint32_t source, TimeKey key) const {
    constexpr std::uint64_t kBus = std::uint64_t{1} << 32;
    constexpr std::uint64_t kDevice = std::uint64_t{2} << 32;
    if (source < plan_.device_count) {
      const PlacetoDevice& device = devices_[source];
      const bool immediate = time_key(device.start_us) == key;
      return immediate ? kDevice + plan_.device_name_rank[source] : plan_.name_rank[device.running];
    }
    const std::uint32_t d = source - plan_.device_count;
    const BusEntry& entry = bus_[devices_[d].bus_head];
    return entry.immediate ? kBus + plan_.device_name_rank[d]
                           : plan_.name_rank[plan_.message_producer[entry.message]];
  }

  const Plan& plan_;
  const Wiring& wiring_;
  Workspace& workspace_;
  Events& events_;
  Observer& observer_;
  std::uint32_t* const state_;
  const Index* const consumers_;
  const double device_gap_us_;
  const double transfer_gap_us_;
  Index* queue_ = nullptr;
  BusEntry* bus_ = nullptr;
  PlacetoDevice* devices_ = nullptr;
  std::uint32_t idle_ = 0;  ///< by bit, where devices are few
};

template <typename Wiring, typename Events, typename Observer>
void PlacetoStep<Wiring, Events, Observer>::save(PlacetoSnapshot& to) const {
  to.pending.clear();
  to.devices.clear();
  to.queue.clear();
  to.bus.clear();
  to.idle = idle_;
  for (std::uint32_t source = 0; source < 2 * plan_.device_count; ++source) {
    to.pending.push_back(events_.key(source));
  }
  for (std::uint32_t d = 0; d < plan_.device_count; ++d) {
    PlacetoDevice device = devices_[d];
    to.queue.insert(to.queue.end(), queue_ + device.head, queue_ + device.tail);
    to.bus.insert(to.bus.end(), bus_ + device.bus_head, bus_ + device.bus_tail);
    device.tail -= device.head;
    device.bus_tail -= device.bus_head;
    device.head = device.bus_head = 0;
    // The last op of an idle device matters no more.
    if (device.running == kIdle) device.start_us = 0;
    to.devices.push_back(device);
  }
}

template <typename Wiring, typename Events, typename Observer>
void PlacetoStep<Wiring, Events, Observer>::resume(const PlacetoSnapshot& from) {
  workspace_.queue.resize(workspace_.row_total);
  workspace_.bus.resize(workspace_.row_total);
  attach();
  idle_ = from.idle;
  auto waiting = from.queue.begin();
  auto sent = from.bus.begin();
  for (std::uint32_t d = 0; d < plan_.device_count; ++d) {
    const std::uint32_t begin = workspace_.begin[d];
    PlacetoDevice& device = devices_[d] = from.devices[d];
    std::copy(waiting, waiting + device.tail, queue_ + begin);
    std::copy(sent, sent + device.bus_tail, bus_ + begin);
    waiting += device.tail;
    sent += device.bus_tail;
    device.head = device.bus_head = begin;
    device.tail += begin;
    device.bus_tail += begin;
    bus_[device.bus_tail].arrival = idle_key(plan_.device_count + d);
  }
  for (std::uint32_t source = 0; source < 2 * plan_.device_count; ++source) {
    events_.set(source, from.pending[source]);
  }
}

}  // namespace berth::simulator
