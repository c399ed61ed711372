#include "stages/exchanges.h"

#include <algorithm>
#include <utility>

#include "berth/sdk/random.h"

namespace berth::policies::stages {
namespace {

/// A link between two devices has the same each time.
std::uint64_t number_of(DeviceId src, DeviceId dst) {
  return Random((static_cast<std::uint64_t>(src) << 32) | static_cast<std::uint32_t>(dst)).next();
}

/// The links from and to two devices.
template <typename Look>
void for_each_link_of(DeviceId a, DeviceId b, DeviceId count, const Look& look) {
  for (DeviceId other = 0; other < count; ++other) {
    for (const DeviceId one : {a, b}) {
      if (one == other || (one == b && other == a))
        continue;  // a's turn has both ways between them
      look(one, other);
      look(other, one);
    }
  }
}

}  // namespace

Exchanges::Exchanges(const Problem& problem) : problem_(problem) {
  const Cluster& cluster = problem.cluster();
  for (DeviceId src = 0; src < cluster.device_count(); ++src) {
    for (DeviceId dst = 0; dst < cluster.device_count(); ++dst) {
      if (src == dst) continue;
      for (const ChannelId channel : cluster.route(src, dst).channels) {
        sums_[channel] += number_of(src, dst);
      }
    }
  }
}

bool Exchanges::same_route(DeviceId src, DeviceId dst, DeviceId other_src,
                           DeviceId other_dst) const {
  const Route& one = problem_.cluster().route(src, dst);
  const Route& other = problem_.cluster().route(other_src, other_dst);
  return one.bandwidth_bytes_per_s == other.bandwidth_bytes_per_s &&
         one.latency_us == other.latency_us && one.parallel == other.parallel &&
         one.receiver_us == other.receiver_us && one.channels.size() == other.channels.size();
}

bool Exchanges::change_nothing(DeviceId a, DeviceId b) const {
  const Cluster& cluster = problem_.cluster();
  if (problem_.device_class(a) != problem_.device_class(b)) return false;
  if (problem_.memory_bytes(a) != problem_.memory_bytes(b)) return false;
  const auto exchanged = [&](DeviceId device) {
    return device == a ? b : device == b ? a : device;
  };
  bool same = true;
  std::unordered_map<ChannelId, std::uint64_t> changed;  // what is added to the sums
  for_each_link_of(a, b, cluster.device_count(), [&](DeviceId src, DeviceId dst) {
    same = same && same_route(src, dst, exchanged(src), exchanged(dst));
    if (!same) return;
    for (const ChannelId channel : cluster.route(src, dst).channels) {
      changed[channel] += number_of(exchanged(src), exchanged(dst)) - number_of(src, dst);
    }
  });
  if (!same) return false;
  // The channels are the same but for their numbers.
  std::vector<std::uint64_t> before, after;
  for (const auto& [channel, added] : changed) {
    before.push_back(sums_.at(channel));
    after.push_back(sums_.at(channel) + added);
  }
  std::sort(before.begin(), before.end());
  std::sort(after.begin(), after.end());
  return before == after;
}

}  // namespace berth::policies::stages
