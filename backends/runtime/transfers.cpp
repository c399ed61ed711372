#include "runtime/transfers.h"

#include <algorithm>

#include "berth/support/index.h"

namespace berth::runtime {
TransferQueue::TransferQueue(const Cluster& cluster)
    : cluster_(cluster),
      queues_(at(cluster.device_count())),
      sending_(queues_.size()),
      receiving_(queues_.size()),
      channel_busy_(at(cluster.channel_count())),
      receiver_claimed_(queues_.size()),
      channel_claimed_(channel_busy_.size()) {}

void TransferQueue::reset() {
  const std::lock_guard lock(mutex_);
  for (auto& queue : queues_) queue.clear();
  std::fill(sending_.begin(), sending_.end(), false);
  std::fill(receiving_.begin(), receiving_.end(), false);
  std::fill(channel_busy_.begin(), channel_busy_.end(), false);
  next_ = 0;
  active_ = 0;
  stopped_ = false;
}

void TransferQueue::enqueue(std::span<const Entry> entries, std::vector<Entry>& started) {
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries) queues_[at(entry.src)].push_back({entry, next_++});
  start_heads(started);
}

void TransferQueue::finish(const Entry& entry, std::vector<Entry>& started) {
  const std::lock_guard lock(mutex_);
  occupy(entry, false);
  --active_;
  start_heads(started);
}

void TransferQueue::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
}

bool TransferQueue::idle() const {
  const std::lock_guard lock(mutex_);
  return active_ == 0;
}

void TransferQueue::start_heads(std::vector<Entry>& started) {
  if (stopped_) return;
  std::fill(receiver_claimed_.begin(), receiver_claimed_.end(), false);
  std::fill(channel_claimed_.begin(), channel_claimed_.end(), false);
  heads_.clear();
  for (std::size_t d = 0; d < queues_.size(); ++d) {
    if (!queues_[d].empty() && !sending_[d]) heads_.push_back(d);
  }
  std::sort(heads_.begin(), heads_.end(), [this](std::size_t a, std::size_t b) {
    return queues_[a].front().number < queues_[b].front().number;
  });
  for (const std::size_t d : heads_) {
    const Entry entry = queues_[d].front().entry;
    if (!may_start(entry)) continue;
    occupy(entry, true);
    ++active_;
    queues_[d].pop_front();
    started.push_back(entry);
  }
}

bool TransferQueue::may_start(const Entry& entry) {
  const auto& channels = cluster_.route(entry.src, entry.dst).channels;
  bool free = !receiving_[at(entry.dst)] && !receiver_claimed_[at(entry.dst)];
  for (const ChannelId channel : channels) {
    free = free && !channel_busy_[at(channel)] && !channel_claimed_[at(channel)];
  }
  if (free) return true;
  receiver_claimed_[at(entry.dst)] = true;
  for (const ChannelId channel : channels) channel_claimed_[at(channel)] = true;
  return false;
}

void TransferQueue::occupy(const Entry& entry, bool busy) {
  sending_[at(entry.src)] = busy;
  receiving_[at(entry.dst)] = busy;
  for (const ChannelId channel : cluster_.route(entry.src, entry.dst).channels) {
    channel_busy_[at(channel)] = busy;
  }
}

}  // namespace berth::runtime
