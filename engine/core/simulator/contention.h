// Which transfer goes next, if transfers contend for engines and channels (dataflow semantics).
//
// A transfer needs three kinds of resources: an outgoing engine of its sender, an incoming engine of
// its receiver, and every channel of the route. It takes all of them at once when it starts and returns
// all of them when it ends. No resource is held while waiting for another, so nothing can deadlock.
//
// A device has one engine of each sort, or one per link (Device::engine_per_link). The incoming engine
// of a link is never waited for: whatever else needs it waits for the link's outgoing one.
//
// Transfers of an outgoing engine leave in the order in which they were queued (a copy stream): only
// the head of its queue may start. Over all engines, heads are served in the order in which
// they were queued. A head starts if all it needs is free and no older head waits for any of it. So
// the oldest head gets each of its resources as soon as that is free, and nothing starves.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "berth/support/index.h"
#include "simulator/plan.h"

namespace berth::simulator {

class Contention {
 public:
  struct Head {
    std::uint32_t number;
    std::uint32_t sender;
    std::uint32_t receiver;

    bool operator==(const Head&) const = default;
  };
  /// The state that lasts from one instant to the next.
  struct State {
    std::vector<Head> heads;  ///< by number
    std::vector<std::uint8_t> receiver_busy, channel_busy;

    bool operator==(const State&) const = default;
  };

  void reset(const Plan& plan) {
    state_.heads.clear();
    state_.heads.reserve(plan.engine_count);
    state_.receiver_busy.assign(plan.device_count, false);
    state_.channel_busy.assign(at(plan.cluster().channel_count()), false);
    receiver_claimed_.assign(plan.device_count, 0);
    channel_claimed_.assign(state_.channel_busy.size(), 0);
    round_ = 0;
  }

  [[nodiscard]] State& state() noexcept { return state_; }

  /// An engine of `sender` is idle and its head, the transfer `number`, wants to start.
  void wait(std::uint32_t number, std::uint32_t sender, std::uint32_t receiver) {
    auto place = state_.heads.end();
    while (place != state_.heads.begin() && (place - 1)->number > number) --place;
    state_.heads.insert(place, {number, sender, receiver});
    changed_ = true;
  }

  void release(const Plan& plan, std::uint32_t sender, std::uint32_t receiver) {
    occupy(plan, sender, receiver, false);
    changed_ = true;
  }

  /// Calls start(head) for every head that may start now, oldest first.
  template <typename Start>
  void start_heads(const Plan& plan, Start&& start) {
    if (!changed_) return;
    changed_ = false;
    ++round_;
    auto kept = state_.heads.begin();
    for (const Head& head : state_.heads) {
      if (may_start(plan, head)) {
        occupy(plan, head.sender, head.receiver, true);
        start(head);
      } else {
        *kept++ = head;
      }
    }
    state_.heads.erase(kept, state_.heads.end());
  }

 private:
  static const std::vector<ChannelId>& channels(const Plan& plan, std::uint32_t sender,
                                                std::uint32_t receiver) {
    return plan.cluster()
        .route(static_cast<DeviceId>(sender), static_cast<DeviceId>(receiver))
        .channels;
  }

  void occupy(const Plan& plan, std::uint32_t sender, std::uint32_t receiver, bool busy) {
    if (!plan.has_engine_per_link(receiver)) state_.receiver_busy[receiver] = busy;
    if (plan.uniform_routes) return;
    for (const ChannelId channel : channels(plan, sender, receiver)) {
      state_.channel_busy[at(channel)] = busy;
    }
  }

  /// If it may not start, all that `head` needs is claimed for the rest of this round.
  bool may_start(const Plan& plan, const Head& head) {
    // Without channels two heads can only compete for a receiver. Whatever keeps an older head from
    // it keeps a younger one from it too.
    if (plan.uniform_routes) return !state_.receiver_busy[head.receiver];
    bool free = !state_.receiver_busy[head.receiver] && receiver_claimed_[head.receiver] != round_;
    const auto& route = channels(plan, head.sender, head.receiver);
    for (const ChannelId channel : route) {
      const auto c = at(channel);
      free = free && !state_.channel_busy[c] && channel_claimed_[c] != round_;
    }
    if (free) return true;
    if (!plan.has_engine_per_link(head.receiver)) receiver_claimed_[head.receiver] = round_;
    for (const ChannelId channel : route) {
      channel_claimed_[at(channel)] = round_;
    }
    return false;
  }

  State state_;
  std::vector<std::uint32_t> receiver_claimed_, channel_claimed_;  ///< the round of the claim
  std::uint32_t round_ = 0;
  bool changed_ = false;
};

}  // namespace berth::simulator
