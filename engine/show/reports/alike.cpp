#include "reports/alike.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "berth/support/index.h"

namespace berth::reports {
namespace {

/// A link's bandwidth, latency, whether it is parallel, and what its receiver pays.
using LinkFigures = std::tuple<double, double, bool, std::optional<double>>;

/// All that tells an idle device from others.
struct Signature {
  std::int32_t device_class = 0;
  std::int64_t memory_bytes = 0;
  std::ptrdiff_t used_before = 0;  ///< devices that hold ops, in the order of simultaneous events
  std::vector<LinkFigures> links;
  std::vector<std::vector<ChannelId>> channels;

  auto operator<=>(const Signature&) const = default;
};

class Signatures {
 public:
  Signatures(const Problem& problem, const Placement& placement)
      : problem_(problem), holds_(at(problem.cluster().device_count()), false) {
    for (const DeviceId device : placement) holds_[at(device)] = true;
    const Cluster& cluster = problem.cluster();
    for (DeviceId device = 0; device < cluster.device_count(); ++device) {
      if (holds_[at(device)]) used_.push_back(device);
    }
    taken_.assign(at(cluster.channel_count()), false);
    for (const DeviceId src : used_) {
      for (const DeviceId dst : used_) {
        if (src == dst) continue;
        for (const ChannelId channel : cluster.route(src, dst).channels) {
          taken_[at(channel)] = true;
        }
      }
    }
  }

  [[nodiscard]] bool is_idle(DeviceId device) const { return !holds_[at(device)]; }
  /// Whether there are too many pairs of devices to look at, or devices that keep weights for
  /// another and so stand for it.
  [[nodiscard]] bool are_too_much() const {
    constexpr std::size_t kMostLinks = 1'000'000;
    const std::size_t idle = holds_.size() - used_.size();
    return idle * used_.size() > kMostLinks || problem_.cluster().has_keepers();
  }

  [[nodiscard]] Signature of(DeviceId device) const {
    Signature signature;
    signature.device_class = problem_.device_class(device);
    signature.memory_bytes = problem_.memory_bytes(device);
    signature.used_before = std::count_if(
        used_.begin(), used_.end(), [&](DeviceId used) { return comes_before(used, device); });
    std::map<ChannelId, ChannelId> own;  // channels that no transfer takes now, by first use
    for (const DeviceId used : used_) {
      for (const Route* route :
           {&problem_.cluster().route(device, used), &problem_.cluster().route(used, device)}) {
        signature.links.emplace_back(route->bandwidth_bytes_per_s, route->latency_us,
                                     route->parallel, route->receiver_us);
        auto& channels = signature.channels.emplace_back(route->channels);
        for (ChannelId& channel : channels) {
          if (taken_[at(channel)]) continue;
          const auto number = static_cast<ChannelId>(-1 - static_cast<ChannelId>(own.size()));
          channel = own.emplace(channel, number).first->second;
        }
      }
    }
    return signature;
  }

 private:
  /// Semantics `placeto` goes by names.
  [[nodiscard]] bool comes_before(DeviceId a, DeviceId b) const {
    if (problem_.options().semantics == Semantics::dataflow) return a < b;
    return problem_.cluster().device(a).name < problem_.cluster().device(b).name;
  }

  const Problem& problem_;
  std::vector<bool> holds_;     // by device
  std::vector<DeviceId> used_;  // those that hold ops
  std::vector<bool> taken_;     // by channel, whether it is between two of them
};

}  // namespace

std::vector<DeviceId> first_alike(const Problem& problem, const Placement& placement) {
  const Signatures signatures(problem, placement);
  std::map<Signature, DeviceId> first_of;
  std::vector<DeviceId> first;
  for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
    const bool single = signatures.are_too_much() || !signatures.is_idle(device);
    first.push_back(single ? device
                           : first_of.try_emplace(signatures.of(device), device).first->second);
  }
  return first;
}

Evaluation exchanged(Evaluation evaluation, DeviceId a, DeviceId b) {
  std::swap(evaluation.peak_bytes[at(a)], evaluation.peak_bytes[at(b)]);
  std::swap(evaluation.busy_us[at(a)], evaluation.busy_us[at(b)]);
  if (evaluation.worst_device == a) {
    evaluation.worst_device = b;
  } else if (evaluation.worst_device == b) {
    evaluation.worst_device = a;
  }
  return evaluation;
}

}  // namespace berth::reports
