// Scratch memory of one simulated step. Everything is set anew for every step, so that a workspace
// may go from one plan to another; capacity only grows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "berth/simulator.h"
#include "simulator/contention.h"
#include "simulator/event_set.h"
#include "simulator/memory.h"
#include "simulator/plan.h"
#include "simulator/ready_set.h"
#include "simulator/stage_memory.h"

namespace berth::simulator {

/// One transfer of a device's bus (placeto), in the order in which they leave.
struct BusEntry {
  TimeKey arrival;
  std::uint32_t message;
  bool immediate;  ///< takes no time

  bool operator==(const BusEntry&) const = default;
};

/// One transfer in the queue of an outgoing engine (dataflow).
struct SendEntry {
  std::uint32_t sent;  ///< the message; of a placed plan, the parcel
  std::uint32_t receiver;
  std::uint32_t number;  ///< counts the transfers in the order in which they were queued

  bool operator==(const SendEntry&) const = default;
};

/// A send between devices that holds nothing (dataflow): a control signal, or a
/// transfer over a parallel link.
struct Signal {
  TimeKey arrival;
  std::uint32_t number;
  std::uint32_t sent;  ///< as in SendEntry
  std::uint32_t receiver;

  bool operator==(const Signal&) const = default;
};

/// A transfer in a list, of those that wait for an engine or of those that have arrived (dataflow).
struct Listed {
  SendEntry sent;
  std::uint32_t next;  ///< of the same list; kNoneListed = none
};
inline constexpr std::uint32_t kNoneListed = std::numeric_limits<std::uint32_t>::max();

struct TransferList {
  std::uint32_t first = kNoneListed;
  std::uint32_t last = kNoneListed;

  [[nodiscard]] bool empty() const noexcept { return first == kNoneListed; }
  /// Appends entry `place` of `entries`, whose `next` is none.
  void append(Listed* entries, std::uint32_t place) noexcept {
    (empty() ? first : entries[last].next) = place;
    last = place;
  }
};

struct PlacetoDevice {
  double free_us;      ///< when it may start the next op
  double bus_free_us;  ///< when its bus may start the next transfer
  double start_us;     ///< of the running op
  const double* duration_us;
  std::uint32_t head, tail;  ///< its part of `queue`: waiting ops; those before have run
  std::uint32_t running;
  std::uint32_t bus_head, bus_tail;  ///< its part of `bus`

  bool operator==(const PlacetoDevice&) const = default;
};

struct DataflowDevice {
  const double* duration_us;
  std::uint32_t running;
  bool busy;       ///< runs an op, or receives
  bool receiving;  ///< the first of its mail

  bool operator==(const DataflowDevice&) const = default;
};

struct Workspace {
  /// Fills `state` and gives every device its row of `begin`.
  void prepare(const Plan& plan, std::span<const DeviceId> placement);
  /// Whether no op waits for an input any more, as at the end of a step.
  [[nodiscard]] bool all_released() const {
    return std::none_of(state.begin(), state.end(),
                        [](std::uint32_t word) { return word >= kOneInput; });
  }

  std::vector<std::uint32_t> state;  ///< by Index: inputs still missing, and the device
  /// The start of each device's row in the arrays below; a row has room for every op or transfer
  /// of the device and one more.
  std::vector<std::uint32_t> begin;
  std::uint32_t row_total = 0;

  ScanEvents<8> events_4;    ///< up to 4 devices, with one engine each
  ScanEvents<16> events_8;   ///< up to 8
  ScanEvents<32> events_16;  ///< up to 16
  TreeEvents events_many;
  std::vector<std::uint32_t> touched;  ///< devices to look at, where they are many

  std::vector<Index> queue;
  std::vector<BusEntry> bus;
  std::vector<PlacetoDevice> placeto_devices;
  std::vector<std::uint32_t> place_of_message;

  ReadySets ready;
  std::vector<std::uint32_t> next_slot;  ///< by priority class
  std::vector<Index> op_of_slot;
  std::vector<DataflowDevice> dataflow_devices;
  std::vector<Listed> sends;  ///< of all engines, as they are queued
  std::vector<TransferList>
      outgoing;  ///< by engine: those that wait for it, and the one that it carries
  Contention contention;
  std::vector<std::uint32_t> sent_to;  ///< by device: the last message queued for it, plus one
  std::vector<double> channel_us;      ///< by channel: its load (throughput)
  std::vector<Signal> signals;
  std::vector<SendEntry> departing;  ///< over parallel links, when transfers start next
  std::vector<Listed> mail;          ///< of all devices, as it arrives
  std::vector<TransferList> inbox;  ///< by device, where receivers copy: what it has not copied yet

  // Throughput.
  std::vector<std::uint32_t> device_of;  ///< by Index
  std::vector<StageNeed> needs;          ///< by device
  StageMemory stage;

  std::vector<double> op_start_us;  ///< by Index (placeto, or where asked for)
  MemoryScratch memory;

 private:
  std::vector<std::uint32_t> counts_;
};

}  // namespace berth::simulator

namespace berth {

struct Simulator::Workspace::State : simulator::Workspace {};

}  // namespace berth
