// The state of a step between two events, so that a step can continue from there.
//
// The inputs that ops still wait for (Workspace::state) are left to the code that takes the
// snapshot. Most ops have already run, or no input of theirs has arrived yet, so few need to be
// kept.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/contention.h"
#include "simulator/event_set.h"
#include "simulator/workspace.h"

namespace berth::simulator {

/// Rows count from 0, as if each device's row in the workspace began there.
struct PlacetoSnapshot {
  std::vector<TimeKey> pending;  ///< by source of events
  std::vector<PlacetoDevice> devices;
  std::vector<Index> queue;   ///< the waiting ops, device by device
  std::vector<BusEntry> bus;  ///< the transfers that have not arrived, device by device
  std::uint32_t idle = 0;

  bool operator==(const PlacetoSnapshot&) const = default;
};

struct DataflowSnapshot {
  struct Ready {
    std::uint32_t device;
    std::uint32_t slot;
    Index op;

    bool operator==(const Ready&) const = default;
  };
  std::vector<TimeKey> pending;
  std::vector<DataflowDevice> devices;
  std::vector<Ready> ready;
  std::vector<std::uint32_t> queued;  ///< by engine: how many of `sends` are its
  std::vector<SendEntry> sends;  ///< numbers count back from the next one; so do the heads' below
  std::vector<Signal> signals;   ///< by arrival
  std::vector<SendEntry> mail;   ///< receiver by receiver
  Contention::State contention;
  std::uint64_t idle = 0;
  std::uint64_t filled = 0;

  bool operator==(const DataflowSnapshot&) const = default;
};

}  // namespace berth::simulator
