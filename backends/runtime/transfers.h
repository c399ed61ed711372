// Which transfer goes next: the order of engine/core/simulator/contention.h, on real engines.
//
// When a transfer starts, it takes its sender's outgoing engine, its receiver's incoming engine and
// every channel of the route at once. When it ends, it gives all of them back. Devices of backends have
// one engine of each sort (no Device::engine_per_link), so that a profile of them holds. A sender's transfers
// leave in the order in which they were queued. Of the heads of these queues, the oldest is served
// first; one that must wait keeps younger ones from what it waits for.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "berth/cluster.h"

namespace berth::runtime {

/// [thread-safe]
class TransferQueue {
 public:
  explicit TransferQueue(const Cluster& cluster);

  struct Entry {
    std::uint32_t message;
    DeviceId src;
    DeviceId dst;
  };

  void reset();
  /// Both append to `started` the transfers that may start now; the caller starts them.
  void enqueue(std::span<const Entry> entries, std::vector<Entry>& started);
  void finish(const Entry& entry, std::vector<Entry>& started);
  /// From now on, nothing starts.
  void stop();
  /// Transfers that have started and not finished.
  [[nodiscard]] bool idle() const;

 private:
  struct Queued {
    Entry entry;
    std::uint64_t number;
  };
  void start_heads(std::vector<Entry>& started);
  bool may_start(const Entry& entry);
  void occupy(const Entry& entry, bool busy);

  const Cluster& cluster_;
  mutable std::mutex mutex_;
  std::vector<std::deque<Queued>> queues_;  // by sender
  std::vector<char> sending_, receiving_, channel_busy_;
  std::vector<char> receiver_claimed_, channel_claimed_;  // within one round
  std::vector<std::size_t> heads_;
  std::uint64_t next_ = 0;
  std::uint32_t active_ = 0;
  bool stopped_ = false;
};

}  // namespace berth::runtime
